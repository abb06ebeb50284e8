import { chmod, lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Sets the group of a volume recursively, and grants it read access, and write access unless the volume is read-only.
 * Source: kubelet `VolumeOwnership.ChangePermissions`.
 */
export async function setVolumeOwnership(path: string, gid: number | undefined, isReadOnly: boolean): Promise<void> {
  if (gid === undefined) return;
  const stats = await lstat(path);
  if (stats.isDirectory())
    for (const name of await readdir(path)) await setVolumeOwnership(join(path, name), gid, isReadOnly);
  await lchown(path, stats.uid, gid);
  if (stats.isSymbolicLink()) return;
  const mask = (isReadOnly ? 0o440 : 0o660) | (stats.isDirectory() ? 0o2110 : 0);
  await chmod(path, (stats.mode & 0o7777) | mask);
}
