import path from 'node:path';
import type { Disk, DiskFile } from '../../shared/disk.ts';
import { liveMark, pastHead, type Slot } from './journal-lines.ts';

const fileMode = 0o600;

/**
 * A journal file open for writing. If a write fails, the method throws the file system error and the
 * lines of the file are unchanged.
 */
export class JournalFile {
  readonly #file: DiskFile;
  #endOffset: number;
  /** Pending fsyncs; the file stays open until they end. */
  #syncs: Promise<unknown> = Promise.resolve();

  private constructor(file: DiskFile, endOffset: number) {
    this.#file = file;
    this.#endOffset = endOffset;
  }

  /** Opens a file and truncates it to `endOffset`, or creates it. Never follows a symbolic link. */
  static open(disk: Disk, path: string, endOffset: number, isNew = false): JournalFile {
    const file = disk.open(path, fileMode, isNew);
    try {
      if (file.size > endOffset) file.truncate(endOffset);
      return new JournalFile(file, endOffset);
    } catch (error) {
      void file.close().catch(() => {});
      throw error;
    }
  }

  /** Creates an empty replacement for `path`; removes one left behind by a crash. */
  static createTemporary(disk: Disk, path: string): JournalFile {
    disk.remove(temporaryOf(path));
    return JournalFile.open(disk, temporaryOf(path), 0, true);
  }

  /** Length up to the end of the last line. */
  get bytes(): number {
    return this.#endOffset;
  }

  /** Whether it has this name: it was neither renamed nor deleted, nor did another file replace it. */
  isAt(path: string): boolean {
    return this.#file.isAt(path);
  }

  /** The file has other hard links, or other users may read it. */
  get isShared(): boolean {
    return this.#file.links > 1 || (this.#file.mode & 0o077) !== 0;
  }

  append(lines: Buffer): Slot {
    const offset = this.#endOffset;
    try {
      this.#file.write(offset, lines);
    } catch (error) {
      // Else, the next line overwrites the remains of the failed write.
      this.#try(() => this.#file.truncate(offset));
      throw error;
    }
    this.#endOffset = offset + lines.length;
    return { offset, bytes: lines.length };
  }

  /** Overwrites a line marked past with a live line of the same length. Needs no disk space. */
  overwrite(slot: Slot, line: Buffer): void {
    const { offset } = slot;
    try {
      // The mark is written last, so that a partially written line is still marked past.
      this.#file.write(offset + liveMark.length, line.subarray(liveMark.length));
      this.#file.write(offset, liveMark);
    } catch (error) {
      this.#try(() => this.markPast(slot));
      throw error;
    }
  }

  /** Needs no disk space. */
  markPast({ offset }: Slot): void {
    this.#file.write(offset, pastHead);
  }

  sync(): void {
    this.#file.sync();
  }

  /** Resolves when all lines written before the call are on disk. */
  syncLater(): Promise<void> {
    const sync = this.#file.syncLater();
    this.#syncs = Promise.allSettled([this.#syncs, sync]);
    return sync;
  }

  /** Waits for pending fsyncs. Do not write after this call. */
  async close(): Promise<void> {
    await this.#syncs;
    await this.#file.close();
  }

  #try(repair: () => void): void {
    try {
      repair();
    } catch {
      // The error of the write says more.
    }
  }
}

/** The name of the replacement of a journal file while it is written. */
export function temporaryOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.tmp`);
}

/** Creates a hard link to the file, or a copy if the file system has no hard links. */
export function keepAs(disk: Disk, file: string, name: string): void {
  disk.remove(name);
  try {
    disk.link(file, name);
  } catch {
    disk.copy(file, name);
  }
}
