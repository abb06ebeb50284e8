import {
  close,
  closeSync,
  constants,
  copyFileSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { liveMark, pastMark, type Slot } from './journal-lines.ts';

const noFollow = constants.O_NOFOLLOW ?? 0;
const nonBlock = constants.O_NONBLOCK ?? 0;
const fileMode = 0o600;

/**
 * A journal file open for writing. If a write fails, the method throws the file system error and the
 * lines of the file are unchanged.
 */
export class JournalFile {
  readonly #fd: number;
  #endOffset: number;
  /** Pending fsyncs; the descriptor stays open until they end. */
  #syncs: Promise<unknown> = Promise.resolve();

  private constructor(fd: number, endOffset: number) {
    this.#fd = fd;
    this.#endOffset = endOffset;
  }

  /** Opens a file and truncates it to `endOffset`, or creates it. Never follows a symbolic link. */
  static open(file: string, endOffset: number, flags = 0): JournalFile {
    const fd = openSync(file, constants.O_RDWR | constants.O_CREAT | noFollow | nonBlock | flags, fileMode);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile()) throw new Error(`${file} is not a regular file`);
      if (stats.size > endOffset) ftruncateSync(fd, endOffset);
      return new JournalFile(fd, endOffset);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Creates an empty replacement for `file`; removes one left behind by a crash. */
  static createTemporary(file: string): JournalFile {
    JournalFile.removeTemporary(file);
    return JournalFile.open(temporaryOf(file), 0, constants.O_EXCL);
  }

  static removeTemporary(file: string): void {
    rmSync(temporaryOf(file), { force: true });
  }

  /** Renames this temporary file to `file`. */
  renameTemporary(file: string): void {
    renameSync(temporaryOf(file), file);
  }

  /** Length up to the end of the last line. */
  get bytes(): number {
    return this.#endOffset;
  }

  /** The file was deleted or replaced. */
  get isRemoved(): boolean {
    return fstatSync(this.#fd).nlink === 0;
  }

  /** The file has other hard links, or other users may read it. */
  get isShared(): boolean {
    const { nlink, mode } = fstatSync(this.#fd);
    return nlink > 1 || (mode & 0o077) !== 0;
  }

  append(lines: Buffer): Slot {
    const offset = this.#endOffset;
    try {
      this.#writeAt(offset, lines);
    } catch (error) {
      this.#truncate(offset);
      throw error;
    }
    this.#endOffset = offset + lines.length;
    return { offset, bytes: lines.length };
  }

  /** Overwrites a line marked past with a live line of the same length. Needs no disk space. */
  overwrite({ offset }: Slot, line: Buffer): void {
    // The mark is written last, so that a partially written line is still marked past.
    this.#writeAt(offset + liveMark.length, line.subarray(liveMark.length));
    this.#writeAt(offset, liveMark);
  }

  /** Needs no disk space. */
  markPast({ offset }: Slot): void {
    this.#writeAt(offset, pastMark);
  }

  sync(): void {
    fsyncSync(this.#fd);
  }

  /** Resolves when all lines written before the call are on disk. */
  syncLater(): Promise<void> {
    const sync = promisify(fdatasync)(this.#fd);
    this.#syncs = Promise.allSettled([this.#syncs, sync]);
    return sync;
  }

  /**
   * Waits for pending fsyncs. Do not write after this call: the descriptor may be reused for another
   * file. Asynchronous, because closing a large replaced file takes 50 ms.
   */
  async close(): Promise<void> {
    await this.#syncs;
    await promisify(close)(this.#fd);
  }

  #writeAt(offset: number, bytes: Buffer): void {
    for (let written = 0; written < bytes.length;) {
      written += writeSync(this.#fd, bytes, written, bytes.length - written, offset + written);
    }
  }

  #truncate(bytes: number): void {
    try {
      ftruncateSync(this.#fd, bytes);
    } catch {
      // The next line overwrites the remains of the failed write.
    }
  }
}

function temporaryOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.tmp`);
}

/** Without this, a machine crash can undo a rename. */
export function syncDirectory(dir: string): void {
  // Windows does not open directories.
  if (process.platform === 'win32') return;
  const fd = openSync(dir, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Creates a hard link to the file, or a copy if the file system has no hard links. */
export function keepAs(file: string, name: string): void {
  rmSync(name, { force: true });
  try {
    linkSync(file, name);
  } catch {
    copyFileSync(file, name);
  }
}
