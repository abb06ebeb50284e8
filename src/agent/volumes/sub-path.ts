import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  bindMountOpenFile,
  HostDirectory,
  type HostFiles,
  isMountPoint,
  resolveInside,
  undefinedIfMissing,
  unmountAll,
} from '../../node/index.ts';

/** Where a path is mounted: a name in a folder below the root directory of the agent. */
export interface SubPathTarget {
  readonly rootDirectory: string;
  readonly folder: readonly string[];
  readonly name: string;
  /** Once it is aborted, nothing is mounted. */
  readonly signal: AbortSignal;
}

/**
 * Mounts a path below a volume at the target, whose path it returns, and creates missing directories. Each path component
 * is opened relative to its open parent, and the open file is mounted, so a container cannot redirect the mount to a host
 * file with a symbolic link. Source: kubelet `SafeMakeDir`, `PrepareSafeSubpath`.
 */
export async function bindSubPath(
  files: HostFiles,
  volume: string,
  subPath: string,
  target: SubPathTarget,
): Promise<string> {
  const { root, names } = await resolveInside(files, volume, subPath);
  const file = await HostDirectory.use(files, root, [], (directory) => openOrMake(directory, names));
  try {
    return await mountOpenFile(files, file, target);
  } finally {
    await file.close();
  }
}

async function mountOpenFile(
  files: HostFiles,
  file: FileHandle,
  { rootDirectory, folder, name, signal }: SubPathTarget,
): Promise<string> {
  const opened = await file.stat({ bigint: true });
  if (opened.isSymbolicLink()) throw new Error('the path is a link');
  const path = join(rootDirectory, ...folder, name);
  signal.throwIfAborted();
  const parent = await HostDirectory.make(files, rootDirectory, folder, 0o750);
  return parent.closedAfter(async () => {
    if (await isMountPoint(files, path)) {
      const mounted = await parent.stats(name);
      if (mounted.dev === opened.dev && mounted.ino === opened.ino) return path;
      await unmountAll(files, path);
    }
    if (opened.isDirectory()) await (await parent.makeChild(name, 0o750)).close();
    else await parent.writeFile(name, '', 0o640);
    signal.throwIfAborted();
    await bindMountOpenFile(files, file.fd, path);
    return path;
  });
}

/**
 * The path itself, for containers without mounts; creates missing directories. Rejects a path that leads out of the
 * volume now; unlike a mount, it can be redirected later.
 */
export async function makeSubPath(files: HostFiles, volume: string, subPath: string): Promise<string> {
  const { root, names } = await resolveInside(files, volume, subPath);
  await (await HostDirectory.use(files, root, [], (directory) => openOrMake(directory, names))).close();
  return join(volume, subPath);
}

/**
 * A reference to the file or directory at a path. New directories have the mode of the volume, also the setgid bit of an
 * fsGroup.
 */
async function openOrMake(volume: HostDirectory, names: readonly string[]): Promise<FileHandle> {
  const last = names.at(-1);
  if (last === undefined) return volume.openOwnReference();
  const mode = Number((await volume.ownStats()).mode) & 0o7777;
  const open = async (parent: HostDirectory): Promise<FileHandle> => {
    const existing = await parent.openReference(last).catch(undefinedIfMissing);
    if (existing !== undefined) return existing;
    await (await parent.makeChild(last, mode)).close();
    return parent.openReference(last);
  };
  return volume.within(names.slice(0, -1), open, mode);
}
