import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { isLinux } from './host-file.ts';

const run = promisify(execFile);

/** Mounts a tmpfs, with `noswap` if the kernel supports it. */
export async function mountTmpfs(path: string, sizeBytes: bigint): Promise<void> {
  const mount = (options: string): Promise<unknown> => run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
  await mount(`size=${sizeBytes},noswap`).catch(() => mount(`size=${sizeBytes}`));
}

/** Mounts huge pages of a size that the machine has. */
export async function mountHugePages(path: string, pageSizeBytes: number): Promise<void> {
  await run('mount', ['-t', 'hugetlbfs', '-o', `pagesize=${pageSizeBytes}`, 'nodev', path]);
}

/** Mounts a file or folder that this process has open at another path. */
export async function bindMountOpenFile(fd: number, path: string): Promise<void> {
  await run('mount', ['--no-canonicalize', '--bind', `/proc/${process.pid}/fd/${fd}`, path]);
}

/** Unmounts what is mounted at a path or below. */
export async function unmountAll(path: string): Promise<void> {
  for (const { path: mount } of (await mountsBelow(path)).toReversed())
    await run('umount', ['--no-canonicalize', mount]).catch(() =>
      run('umount', ['--no-canonicalize', '--lazy', mount]),
    );
}

/** Whether something is mounted at a path or below. */
export async function hasMounts(path: string): Promise<boolean> {
  return (await mountsBelow(path)).length > 0;
}

export interface Mount {
  readonly path: string;
  /** Of the file system: `tmpfs`. */
  readonly type: string;
}

/** What is mounted at a path and below; nothing of it is touched, because its server or its process may not respond. */
export async function mountsBelow(path: string): Promise<Mount[]> {
  return (await mounts()).filter((mount) => mount.path === path || mount.path.startsWith(`${path}/`));
}

/** Whether the path without links, a directory or a file, is a mount point. */
export async function isMountPoint(path: string): Promise<boolean> {
  return (await mounts()).some((mount) => mount.path === path);
}

/** Of this process, in the order in which they were mounted. None on other systems than Linux. */
async function mounts(): Promise<Mount[]> {
  if (!isLinux) return [];
  const mountInfo = await readFile('/proc/self/mountinfo', 'utf8');
  return mountInfo.split('\n').map((line) => ({
    path: unescaped(line.split(' ', 5)[4] ?? ''),
    type: line.slice(line.indexOf(' - ') + ' - '.length).split(' ', 1)[0] ?? '',
  }));
}

/** Decodes the octal escapes of white space and backslashes in mountinfo. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
}
