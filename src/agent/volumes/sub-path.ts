import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, open, realpath, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { bindMountOpenFile, isMountPoint, unmountAll } from './mounts.ts';

/** Linux `O_PATH`, for which Node.js has no constant: opens a reference only, and never blocks. */
const openPath = 0x20_00_00;
const openSegment = openPath | constants.O_NOFOLLOW;

/**
 * Mounts a path below a volume at `target`, and creates missing directories. Each path component is opened relative to
 * its open parent, and the open file is mounted, so a container cannot redirect the mount to a host file with a
 * symbolic link. Source: kubelet `SafeMakeDir`, `PrepareSafeSubpath`.
 */
export async function bindSubPath(volume: string, subPath: string, target: string): Promise<void> {
  const handle = await openInside(await realpath(volume), subPath, (await stat(volume)).mode & 0o7777);
  try {
    const opened = await handle.stat();
    if (opened.isSymbolicLink()) throw new Error('the path is a link');
    if (await isMountPoint(target)) {
      const mounted = await lstat(target);
      if (mounted.dev === opened.dev && mounted.ino === opened.ino) return;
      await unmountAll(target);
    }
    if (opened.isDirectory()) await mkdir(target, { recursive: true, mode: 0o750 });
    else {
      await mkdir(dirname(target), { recursive: true, mode: 0o750 });
      await writeFile(target, '', { mode: 0o640, flag: 'a' });
    }
    await bindMountOpenFile(handle.fd, target);
  } finally {
    await handle.close();
  }
}

/**
 * The path itself, for containers without mounts; creates missing directories. Rejects a path that leads out of the
 * volume now; unlike a mount, it can be redirected later.
 */
export async function makeSubPath(volume: string, subPath: string): Promise<string> {
  const path = join(volume, subPath);
  await resolvedSegments(await realpath(volume), subPath);
  // Unlike mkdir, stat accepts files.
  await stat(path).catch(() => mkdir(path, { recursive: true }));
  return path;
}

async function openInside(root: string, subPath: string, mode: number): Promise<FileHandle> {
  let handle = await open(root, openPath | constants.O_DIRECTORY);
  try {
    for (const segment of await resolvedSegments(root, subPath)) {
      const parent = handle;
      const path = `/proc/self/fd/${parent.fd}/${segment}`;
      handle = await open(path, openSegment).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        await mkdir(path, { mode });
        const created = await open(path, openSegment | constants.O_DIRECTORY);
        // The mode of the volume, regardless of the umask; mkdir ignores the setgid bit of an fsGroup.
        await chmod(`/proc/self/fd/${created.fd}`, mode);
        return created;
      });
      await parent.close();
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The path components below the volume, with symbolic links in the existing part resolved. */
async function resolvedSegments(root: string, subPath: string): Promise<readonly string[]> {
  const missing: string[] = [];
  let existing = join(root, subPath);
  for (;;) {
    const real = await realpath(existing).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (real !== undefined) {
      if (real !== root && !real.startsWith(`${root}/`)) throw new Error('the path is outside of the volume');
      return [...relative(root, real).split('/').filter(Boolean), ...missing];
    }
    missing.unshift(basename(existing));
    existing = dirname(existing);
  }
}
