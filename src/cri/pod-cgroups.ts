import { existsSync } from 'node:fs';
import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The folders of pods in a cgroup hierarchy: guaranteed ones are in the root itself. */
const qosFolders = ['', 'burstable', 'besteffort'];

/**
 * Removes the cgroups of pods that need no data any more: the runtime creates the cgroup of a pod with its sandbox, but
 * does not remove it. A cgroup with processes stays. Source: kubelet `cleanupOrphanedPodCgroups`.
 *
 * @param cgroupRoot the cgroup of all pods
 * @param mountPoint where cgroups are mounted
 */
export async function removePodCgroups(
  cgroupRoot: string,
  shouldPodContentBeRemoved: (podUID: string) => boolean,
  mountPoint = '/sys/fs/cgroup',
): Promise<void> {
  for (const hierarchy of await hierarchies(mountPoint))
    for (const qos of qosFolders) {
      const folder = join(hierarchy, cgroupRoot, qos);
      for (const name of await foldersIn(folder)) {
        const podUID = /^pod(.+)$/.exec(name)?.[1];
        if (podUID !== undefined && shouldPodContentBeRemoved(podUID)) await removeCgroup(join(folder, name));
      }
    }
}

/** One of cgroup 2, one for each controller of cgroup 1. */
async function hierarchies(mountPoint: string): Promise<string[]> {
  if (existsSync(join(mountPoint, 'cgroup.controllers'))) return [mountPoint];
  return (await foldersIn(mountPoint)).map((name) => join(mountPoint, name));
}

async function removeCgroup(path: string): Promise<void> {
  for (const name of await foldersIn(path)) await removeCgroup(join(path, name));
  // The kernel refuses it while there are processes; the files in it are the kernel's.
  await rmdir(path).catch(() => {});
}

async function foldersIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
