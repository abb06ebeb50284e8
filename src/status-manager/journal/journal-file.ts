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
 * One journal file that is open for writing. Every method that writes throws the error of the file
 * system; the lines of the file are then the same as before.
 */
export class JournalFile {
  readonly #fd: number;
  #endOffset: number;
  /** Syncs that have begun; the descriptor stays open until they have ended. */
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

  /** An empty file that is to replace `file`. One that a crash has left behind is removed. */
  static createTemporary(file: string): JournalFile {
    JournalFile.removeTemporary(file);
    return JournalFile.open(temporaryOf(file), 0, constants.O_EXCL);
  }

  static removeTemporary(file: string): void {
    rmSync(temporaryOf(file), { force: true });
  }

  /** Puts this temporary file in the place of `file`. */
  renameTemporary(file: string): void {
    renameSync(temporaryOf(file), file);
  }

  /** Bytes up to the end of the last line. */
  get bytes(): number {
    return this.#endOffset;
  }

  /** The file has no name any more: it was deleted or replaced. */
  get isRemoved(): boolean {
    return fstatSync(this.#fd).nlink === 0;
  }

  /** Other names lead to the same file, or other users may read it. */
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

  /** Overwrites a line marked past with a live line of the same length. Needs no space on the disk. */
  overwrite({ offset }: Slot, line: Buffer): void {
    // The mark is written last, so a line that was written in part is still marked past.
    this.#writeAt(offset + liveMark.length, line.subarray(liveMark.length));
    this.#writeAt(offset, liveMark);
  }

  /** Needs no space on the disk. */
  markPast({ offset }: Slot): void {
    this.#writeAt(offset, pastMark);
  }

  sync(): void {
    fsyncSync(this.#fd);
  }

  /** Resolves when all lines that were written before the call are on the disk. */
  syncLater(): Promise<void> {
    const sync = promisify(fdatasync)(this.#fd);
    this.#syncs = Promise.allSettled([this.#syncs, sync]);
    return sync;
  }

  /**
   * Waits for the syncs. Nothing may be written after this call: the descriptor may belong to another
   * file by then. Asynchronous, because closing a large file that was replaced takes 50 ms.
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
      // The next line overwrites what is left after the end.
    }
  }
}

function temporaryOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.tmp`);
}

/** Without this, a crash of the machine can bring back the file that was there before a rename. */
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

/** Gives the file a second name, or copies it where the file system has no hard links. */
export function keepAs(file: string, name: string): void {
  rmSync(name, { force: true });
  try {
    linkSync(file, name);
  } catch {
    copyFileSync(file, name);
  }
}
