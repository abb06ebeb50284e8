import { constants, type Dirent } from 'node:fs';
import { type FileHandle, mkdir, open, opendir } from 'node:fs/promises';
import { requireName } from './names.ts';

/** Whether the kernel resolves names relative to an open directory: `/proc/self/fd/N/name`. */
const isLinux = process.platform === 'linux';

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK;

/** The name of an entry, as `entries` lists it: what a container calls a file need not be UTF-8. */
export type EntryName = string | Buffer;

/**
 * An open directory. What pods and containers have named is reached through one of these, so that nobody who writes
 * there at the same time can lead the agent to another place:
 *
 * - A name is one path component, and a name of a pod is never `..`, empty, or with a slash: see `requireName`.
 * - It is resolved relative to the open directory, which stays the same one when its path is renamed or replaced. Node.js
 *   has no `openat`; Linux resolves `/proc/self/fd/N/name` in the same way.
 * - No method follows a link of that name, waits for the other end of a FIFO, or opens a device.
 * - Paths have a constant length, so directories nested deeper than PATH_MAX are reached, too.
 *
 * On other systems than Linux, a name is appended to the path of the directory: a link in place of the directory itself
 * would be followed. There, containers are processes of the agent's own user, and reach the same files without it.
 *
 * Source: kubelet `pkg/volume/util/subpath`.
 */
export class HostDirectory {
  readonly #handle: FileHandle;
  readonly #path: string;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = isLinux ? `/proc/self/fd/${handle.fd}` : path;
  }

  /** Opens a folder of the agent, whose path may have links, and then each of `names` in the one before. */
  static async open(path: string, ...names: readonly string[]): Promise<HostDirectory> {
    let directory = new HostDirectory(await open(path, directoryFlags), path);
    for (const name of names) directory = await directory.#leaveFor(directory.child(name));
    return directory;
  }

  /** Like `open`, and creates those of `names` that are missing. */
  static async make(path: string, names: readonly string[], mode: number): Promise<HostDirectory> {
    let directory = await HostDirectory.open(path);
    for (const name of names) directory = await directory.#leaveFor(directory.#makeChild(name, mode));
    return directory;
  }

  async child(name: EntryName): Promise<HostDirectory> {
    const path = this.#pathOf(name);
    // A link is not a directory.
    return new HostDirectory(await open(path, directoryFlags | constants.O_NOFOLLOW), String(path));
  }

  /** Like the kernel's, the order is undefined, and entries that are added in the meantime may be missing. */
  async *entries(): AsyncGenerator<Dirent<Buffer>> {
    // The types know names of Node.js' default encoding only.
    const directory = await opendir(`${this.#path}/`, { encoding: 'buffer' as BufferEncoding });
    yield* directory as unknown as AsyncIterable<Dirent<Buffer>>;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #makeChild(name: string, mode: number): Promise<HostDirectory> {
    try {
      return await this.child(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await mkdir(this.#pathOf(name), { mode });
      return this.child(name);
    }
  }

  /** Closes this directory when the other one is open, or cannot be opened. */
  async #leaveFor(other: Promise<HostDirectory>): Promise<HostDirectory> {
    try {
      return await other;
    } finally {
      await this.close();
    }
  }

  #pathOf(name: EntryName): string | Buffer {
    if (typeof name === 'string') return `${this.#path}/${requireName(name)}`;
    return Buffer.concat([Buffer.from(`${this.#path}/`), name]);
  }
}
