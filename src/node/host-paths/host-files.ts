import { execFile } from 'node:child_process';
import {
  type BigIntStats,
  constants,
  type Dirent,
  type FSWatcher,
  readFileSync,
  realpathSync,
  type StatsFs,
  watch,
} from 'node:fs';
import {
  chmod,
  type FileHandle,
  lchown,
  link,
  lstat,
  mkdir,
  open,
  opendir,
  readFile,
  readlink,
  realpath,
  rename,
  rmdir,
  stat,
  statfs,
  symlink,
  unlink,
} from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { type Entropy, systemEntropy } from '../../shared/entropy.ts';

type Path = string | Buffer;

/**
 * The port through which a node reaches the files and mounts of its machine: the functions of `node:fs`, which know nothing
 * of pods. `HostDirectory`, above it, makes it safe to use names of pods, so a simulation also runs that code.
 */
export interface HostFiles {
  open(path: Path, flags: number, mode?: number): Promise<FileHandle>;
  /** Follows links. */
  stat(path: Path): Promise<BigIntStats>;
  lstat(path: Path): Promise<BigIntStats>;
  /** The names are bytes: what a container calls a file need not be UTF-8. */
  opendir(path: string): Promise<AsyncIterable<Dirent<Buffer>>>;
  readFile(path: string): Promise<string>;
  readFileSync(path: string): string;
  readlink(path: Path): Promise<string>;
  realpath(path: string): Promise<string>;
  realpathSync(path: string): string;
  mkdir(path: Path, options: { readonly mode: number }): Promise<unknown>;
  symlink(target: string, path: Path): Promise<void>;
  link(existingPath: Path, newPath: Path): Promise<void>;
  rename(oldPath: Path, newPath: Path): Promise<void>;
  unlink(path: Path): Promise<void>;
  rmdir(path: Path): Promise<void>;
  lchown(path: Path, uid: number, gid: number): Promise<void>;
  chmod(path: Path, mode: number): Promise<void>;
  /** @throws Error if the path cannot be watched */
  watch(path: string, onChange: (event: string, name: string | null) => void): Pick<FSWatcher, 'on' | 'close'>;
  statfs(path: string): Promise<StatsFs>;
  /** Compresses. */
  gzip(): Duplex;
  /** Runs `mount` and `umount`. */
  run(program: string, args: readonly string[]): Promise<unknown>;
  /** For names that must not be guessable. */
  readonly entropy: Entropy;
}

/** The same files, but nothing is created or mounted once the signal is aborted: for work that may outlive its deadline. */
export function makingUntil(files: HostFiles, signal: AbortSignal | undefined): HostFiles {
  const until = async <T>(make: () => Promise<T>): Promise<T> => {
    signal?.throwIfAborted();
    return make();
  };
  return {
    ...files,
    open: (path, flags, mode) => {
      const open = (): ReturnType<HostFiles['open']> => files.open(path, flags, mode);
      return (flags & constants.O_CREAT) === 0 ? open() : until(open);
    },
    mkdir: (path, options) => until(() => files.mkdir(path, options)),
    symlink: (target, path) => until(() => files.symlink(target, path)),
    link: (existingPath, newPath) => until(() => files.link(existingPath, newPath)),
    run: (program, args) => until(() => files.run(program, args)),
  };
}

export const systemFiles: HostFiles = {
  ...{ open, readlink, realpath, mkdir, symlink, link, rename, unlink, rmdir, lchown, chmod, watch, realpathSync },
  stat: (path) => stat(path, { bigint: true }),
  lstat: (path) => lstat(path, { bigint: true }),
  // The types know names of Node.js' default encoding only.
  opendir: async (path) =>
    (await opendir(path, { encoding: 'buffer' as BufferEncoding })) as unknown as AsyncIterable<Dirent<Buffer>>,
  readFile: (path) => readFile(path, 'utf8'),
  readFileSync: (path) => readFileSync(path, 'utf8'),
  statfs: (path) => statfs(path),
  gzip: () => createGzip(),
  run: promisify(execFile),
  entropy: systemEntropy,
};
