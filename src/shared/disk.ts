import {
  close,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { makeDirectories } from './make-directories.ts';
import { readRegularFile } from './regular-file.ts';

/** A regular file that is open for writing. Methods throw, or reject with, the error of the file system. */
export interface DiskFile {
  readonly size: number;
  /** Hard links. */
  readonly links: number;
  readonly mode: number;
  /** Whether it still has this name. */
  isAt(path: string): boolean;
  truncate(bytes: number): void;
  /** Writes all of `bytes`, or throws after writing some of them. */
  write(offset: number, bytes: Buffer): void;
  sync(): void;
  /** Resolves when everything that was written before the call is on disk. */
  syncLater(): Promise<void>;
  /** Asynchronous, because closing a large removed file takes 50 ms. */
  close(): Promise<void>;
}

/** The file system, for files that must outlive a crash. `read`, `list` and `makeDirectories` reject, the others throw. */
export interface Disk {
  /** Opens a regular file, or creates it; never follows a symbolic link. @param isNew fails if it exists */
  open(path: string, mode: number, isNew: boolean): DiskFile;
  exists(path: string): boolean;
  /** Does nothing if it does not exist. */
  remove(path: string): void;
  rename(from: string, to: string): void;
  link(from: string, to: string): void;
  copy(from: string, to: string): void;
  /** Without this, a machine crash can undo a rename. */
  syncDirectory(path: string): void;
  read(path: string, maxBytes: number): Promise<Buffer>;
  /** The names in a directory, in any order. */
  list(path: string): Promise<string[]>;
  makeDirectories(path: string, mode: number): Promise<unknown>;
}

class SystemFile implements DiskFile {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  get size(): number {
    return fstatSync(this.#fd).size;
  }

  get links(): number {
    return fstatSync(this.#fd).nlink;
  }

  get mode(): number {
    return fstatSync(this.#fd).mode;
  }

  isAt(path: string): boolean {
    const found = lstatSync(path, { throwIfNoEntry: false });
    const { dev, ino } = fstatSync(this.#fd);
    return found?.ino === ino && found.dev === dev;
  }

  truncate(bytes: number): void {
    ftruncateSync(this.#fd, bytes);
  }

  write(offset: number, bytes: Buffer): void {
    for (let written = 0; written < bytes.length;) {
      written += writeSync(this.#fd, bytes, written, bytes.length - written, offset + written);
    }
  }

  sync(): void {
    fsyncSync(this.#fd);
  }

  syncLater(): Promise<void> {
    return promisify(fdatasync)(this.#fd);
  }

  close(): Promise<void> {
    return promisify(close)(this.#fd);
  }
}

const openFlags = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export const systemDisk: Disk = {
  open(path, mode, isNew) {
    const fd = openSync(path, openFlags | (isNew ? constants.O_EXCL : 0), mode);
    try {
      if (!fstatSync(fd).isFile()) throw new Error(`${path} is not a regular file`);
      return new SystemFile(fd);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  },
  exists: (path) => existsSync(path),
  remove: (path) => rmSync(path, { force: true }),
  rename: (from, to) => renameSync(from, to),
  link: (from, to) => linkSync(from, to),
  copy: (from, to) => copyFileSync(from, to),
  syncDirectory(path) {
    // Windows does not open directories.
    if (process.platform === 'win32') return;
    const fd = openSync(path, 'r');
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  },
  read: readRegularFile,
  list: (path) => readdir(path),
  makeDirectories,
};

/** Replaces a file atomically: also after a crash of the process or the machine, it has the old or the new content. */
export async function replaceFile(disk: Disk, path: string, text: string): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}`);
  disk.remove(temporary);
  try {
    const file = disk.open(temporary, 0o600, true);
    try {
      file.write(0, Buffer.from(text));
      await file.syncLater();
    } finally {
      await file.close();
    }
    disk.rename(temporary, path);
  } catch (error) {
    disk.remove(temporary);
    throw error;
  }
}
