import { type BigIntStats, constants, type Dirent } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { makeDirectories } from '../../shared/make-directories.ts';
import { codeOf, undefinedIfMissing } from './error-code.ts';
import type { HostFiles } from './host-files.ts';
import { isLinux, openReference, openRegularFile, openWithoutWaiting, pathOnly } from './host-file.ts';
import { requireName } from './names.ts';

/** On Linux, this opens a directory without permission to list it, and without involving its file system. */
const directoryFlags = constants.O_DIRECTORY | (isLinux ? pathOnly : constants.O_NONBLOCK);
const writeFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;

/** The name of an entry, as `entries` lists it: what a container calls a file need not be UTF-8. */
export type EntryName = string | Buffer;

/**
 * An open directory. Paths that pods and containers name are opened through it, so that nobody who changes them at the same
 * time can lead the agent elsewhere:
 *
 * - A name is one path component, and a name of a pod is never `..`, empty, or with a slash: see `requireName`.
 * - It is resolved relative to the open directory, which stays the same one when its path is renamed or replaced. Node.js
 *   has no `openat`; Linux resolves `/proc/self/fd/N/name` in the same way.
 * - No method follows a link of that name, opens a device, or waits for the other end of a FIFO or the end of a lease.
 * - Paths have a constant length, so even directories nested deeper than PATH_MAX are reached.
 *
 * On other systems than Linux, a name is appended to the path of the directory: a link in place of the directory itself
 * would be followed. There, containers are processes of the agent's own user, and can reach the same files without the
 * agent.
 *
 * Source: kubelet `pkg/volume/util/subpath`.
 */
export class HostDirectory {
  readonly files: HostFiles;
  readonly #handle: FileHandle;
  readonly #path: string;

  private constructor(files: HostFiles, handle: FileHandle, path: string) {
    this.files = files;
    this.#handle = handle;
    this.#path = isLinux ? `/proc/self/fd/${handle.fd}` : path;
  }

  /** Opens a folder of the agent, whose path may have links, and then each of `names` in the one before. */
  static async open(files: HostFiles, path: string, ...names: readonly string[]): Promise<HostDirectory> {
    return new HostDirectory(files, await files.open(path, directoryFlags), path).#leaveFor(names, undefined);
  }

  /** Like `open`, and creates what is missing; a new directory has this mode, whatever the umask. */
  static async make(files: HostFiles, path: string, names: readonly string[], mode: number): Promise<HostDirectory> {
    await makeDirectories(path, mode, files);
    return new HostDirectory(files, await files.open(path, directoryFlags), path).#leaveFor(names, mode);
  }

  /** Like `use`; resolves with undefined, without calling `work`, if the directory is missing. ENOENT in `work` is an error. */
  static async useIfPresent<Result>(
    files: HostFiles,
    path: string,
    names: readonly string[],
    work: (directory: HostDirectory) => Promise<Result>,
  ): Promise<Result | undefined> {
    const directory = await HostDirectory.open(files, path, ...names).catch(undefinedIfMissing);
    return directory?.closedAfter(() => work(directory));
  }

  /** Opens a directory like `open` for the time of `work`. */
  static async use<Result>(
    files: HostFiles,
    path: string,
    names: readonly string[],
    work: (directory: HostDirectory) => Promise<Result>,
  ): Promise<Result> {
    const directory = await HostDirectory.open(files, path, ...names);
    return directory.closedAfter(() => work(directory));
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  /** Closes the directory when the work has ended. */
  async closedAfter<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } finally {
      await this.close();
    }
  }

  /** Closes the directory if the work fails. */
  async closedOnError<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async child(name: EntryName): Promise<HostDirectory> {
    const path = this.#pathOf(name);
    // A link is not a directory.
    return new HostDirectory(
      this.files,
      await this.files.open(path, directoryFlags | constants.O_NOFOLLOW),
      String(path),
    );
  }

  /** The child. If it is missing, it is created with this mode, whatever the umask. */
  async makeChild(name: string, mode: number): Promise<HostDirectory> {
    try {
      await this.mkdir(name, mode);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      return this.child(name);
    }
    const child = await this.child(name);
    await child.closedOnError(() => this.files.chmod(child.#path, mode));
    return child;
  }

  /**
   * Opens each of `names` in the one before, and the last one for the time of `work`. With a mode, creates those that are
   * missing.
   */
  async within<Result>(
    names: readonly string[],
    work: (directory: HostDirectory) => Promise<Result>,
    mode?: number,
  ): Promise<Result> {
    const [first] = names;
    if (first === undefined) return work(this);
    const directory = await (await this.#step(first, mode)).#leaveFor(names.slice(1), mode);
    return directory.closedAfter(() => work(directory));
  }

  /** The directory that this one is in now: it may have been moved. */
  async parent(): Promise<HostDirectory> {
    const path = `${this.#path}/..`;
    return new HostDirectory(this.files, await this.files.open(path, directoryFlags), path);
  }

  /**
   * Like the kernel's, the order is undefined, and entries that are added in the meantime may be missing. There are none if
   * the directory itself has been removed.
   */
  async *entries(): AsyncGenerator<Dirent<Buffer>> {
    try {
      yield* await this.files.opendir(`${this.#path}/`);
    } catch (error) {
      undefinedIfMissing(error);
    }
  }

  /** Where the directory is now, if its path is not too long. */
  async ownPath(): Promise<string> {
    return isLinux ? this.files.readlink(this.#path) : this.#path;
  }

  /** Of the directory itself. */
  async ownStats(): Promise<BigIntStats> {
    return this.#handle.stat({ bigint: true });
  }

  async stats(name: EntryName): Promise<BigIntStats> {
    return this.files.lstat(this.#pathOf(name));
  }

  /** Opens a regular file for reading, and rejects for everything else. */
  async openFile(name: EntryName): Promise<FileHandle> {
    return openRegularFile(this.files, this.#pathOf(name));
  }

  /** Opens an entry of any type as a reference, which can be mounted: nothing is read, and no driver is involved. */
  async openReference(name: EntryName): Promise<FileHandle> {
    return openReference(this.files, this.#pathOf(name));
  }

  /** A reference to the directory itself. */
  async openOwnReference(): Promise<FileHandle> {
    return openReference(this.files, `${this.#path}/.`);
  }

  /** Opens a new file for writing. Rejects with EEXIST if there is an entry of that name. */
  async createFile(name: EntryName, mode: number): Promise<FileHandle> {
    return openWithoutWaiting(this.files, this.#pathOf(name), writeFlags | constants.O_EXCL, mode);
  }

  /**
   * Replaces the content of a file, which others may have open; a new one has this mode, whatever the umask. Rejects unless
   * it is a regular file that is not busy.
   */
  async writeFile(name: EntryName, content: string, mode: number): Promise<void> {
    const path = this.#pathOf(name);
    const existing = await this.files.lstat(path).catch(undefinedIfMissing);
    if (existing !== undefined && !existing.isFile() && !existing.isSymbolicLink())
      throw new Error('not a regular file');
    const file = await openWithoutWaiting(this.files, path, writeFlags | constants.O_TRUNC, mode);
    try {
      await file.writeFile(content);
      await file.chmod(mode);
    } finally {
      await file.close();
    }
  }

  async mkdir(name: EntryName, mode: number): Promise<void> {
    await this.files.mkdir(this.#pathOf(name), { mode });
  }

  async symlink(target: string, name: EntryName): Promise<void> {
    await this.files.symlink(target, this.#pathOf(name));
  }

  async readlink(name: EntryName): Promise<string> {
    return this.files.readlink(this.#pathOf(name));
  }

  /** Replaces an entry of the new name. */
  async rename(name: EntryName, to: HostDirectory, newName: EntryName): Promise<void> {
    await this.files.rename(this.#pathOf(name), to.#pathOf(newName));
  }

  /** Gives an entry a second name. Rejects with EEXIST if there is an entry of that name. */
  async link(name: EntryName, newName: EntryName): Promise<void> {
    await this.files.link(this.#pathOf(name), this.#pathOf(newName));
  }

  async unlink(name: EntryName): Promise<void> {
    await this.files.unlink(this.#pathOf(name));
  }

  async rmdir(name: EntryName): Promise<void> {
    await this.files.rmdir(this.#pathOf(name));
  }

  /** -1 keeps the user or the group. */
  async chown(name: EntryName, uid: number, gid: number): Promise<void> {
    await this.files.lchown(this.#pathOf(name), uid, gid);
  }

  async chmod(name: EntryName, mode: number): Promise<void> {
    const reference = await this.openReference(name);
    try {
      if (isLinux) await this.files.chmod(`/proc/self/fd/${reference.fd}`, mode);
      else await reference.chmod(mode);
    } finally {
      await reference.close();
    }
  }

  #pathOf(name: EntryName): string | Buffer {
    if (typeof name === 'string') return `${this.#path}/${requireName(name)}`;
    return Buffer.concat([Buffer.from(`${this.#path}/`), name]);
  }

  /** Opens each of `names` in the one before, and closes all but the last. */
  async #leaveFor(names: readonly string[], mode: number | undefined): Promise<HostDirectory> {
    const [first] = names;
    if (first === undefined) return this;
    let current = await this.closedAfter(() => this.#step(first, mode));
    for (const name of names.slice(1)) {
      const outer = current;
      current = await outer.closedAfter(() => outer.#step(name, mode));
    }
    return current;
  }

  #step(name: string, mode: number | undefined): Promise<HostDirectory> {
    return mode === undefined ? this.child(name) : this.makeChild(name, mode);
  }
}
