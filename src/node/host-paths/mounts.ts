import type { HostFiles } from './host-files.ts';
import { isLinux } from './host-file.ts';

/** Mounts a tmpfs, with `noswap` if the kernel supports it. */
export async function mountTmpfs(files: HostFiles, path: string, sizeBytes: bigint): Promise<void> {
  const mount = (options: string): Promise<unknown> =>
    files.run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
  await mount(`size=${sizeBytes},noswap`).catch(() => mount(`size=${sizeBytes}`));
}

/** Mounts huge pages of a size that the machine has. */
export async function mountHugePages(files: HostFiles, path: string, pageSizeBytes: number): Promise<void> {
  await files.run('mount', ['-t', 'hugetlbfs', '-o', `pagesize=${pageSizeBytes}`, 'nodev', path]);
}

/** Mounts a file or folder that this process has open at another path. */
export async function bindMountOpenFile(files: HostFiles, fd: number, path: string): Promise<void> {
  await files.run('mount', ['--no-canonicalize', '--bind', `/proc/${process.pid}/fd/${fd}`, path]);
}

/** Unmounts what is mounted at a path or below. */
export async function unmountAll(files: HostFiles, path: string): Promise<void> {
  for (const { path: mount } of (await mountsBelow(files, path)).toReversed())
    await files
      .run('umount', ['--no-canonicalize', mount])
      .catch(() => files.run('umount', ['--no-canonicalize', '--lazy', mount]));
}

/** Whether something is mounted at a path or below. */
export async function hasMounts(files: HostFiles, path: string): Promise<boolean> {
  return (await mountsBelow(files, path)).length > 0;
}

export interface Mount {
  readonly path: string;
  /** Of the file system: `tmpfs`. */
  readonly type: string;
}

/** What is mounted at a path and below. Does not access the mounts, because their servers may not respond. */
export async function mountsBelow(files: HostFiles, path: string): Promise<Mount[]> {
  return (await mounts(files)).filter((mount) => mount.path === path || mount.path.startsWith(`${path}/`));
}

/** Whether the path without links, a directory or a file, is a mount point. */
export async function isMountPoint(files: HostFiles, path: string): Promise<boolean> {
  return (await mounts(files)).some((mount) => mount.path === path);
}

/** The mounts of this process, in the order in which they were made. Only Linux has any. */
async function mounts(files: HostFiles): Promise<Mount[]> {
  if (!isLinux) return [];
  const mountInfo = await files.readFile('/proc/self/mountinfo');
  return mountInfo.split('\n').map((line) => ({
    path: unescaped(line.split(' ', 5)[4] ?? ''),
    type: line.slice(line.indexOf(' - ') + ' - '.length).split(' ', 1)[0] ?? '',
  }));
}

/** Decodes the octal escapes of white space and backslashes in mountinfo. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
}
