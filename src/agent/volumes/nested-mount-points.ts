import type { Container, Pod } from '../../kube/types.ts';
import type { HostDirectory } from '../host-paths/host-directory.ts';
import { cleanPath } from '../host-paths/names.ts';

/**
 * Creates the directories that a runtime needs to mount other volumes inside a read-only one. Throws for a relative mount
 * path that leads out of the container's root. Source: kubelet `MakeNestedMountpoints`.
 */
export async function makeNestedMountPoints(pod: Pod, volumeName: string, volume: HostDirectory): Promise<void> {
  for (const nested of nestedMountPoints(pod, volumeName))
    await volume.within(nested.split('/'), async () => {}, 0o755);
}

/** Paths below the volume. Source: kubelet `getNestedMountpoints`. */
function nestedMountPoints({ spec }: Pod, volumeName: string): string[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  return [...initContainers, ...containers, ...(ephemeralContainers as readonly Container[])].flatMap(
    ({ volumeMounts = [] }) => {
      const mounts = volumeMounts.map(({ name, mountPath }) => ({ name, path: cleanPath(mountPath) }));
      const paths = mounts.map(({ path }) => path).toSorted();
      return mounts.filter(({ name }) => name === volumeName).flatMap(({ path }) => outermostBelow(path, paths));
    },
  );
}

function outermostBelow(parent: string, paths: readonly string[]): string[] {
  if (parent.startsWith('../')) throw new Error(`invalid container mount point ${parent}`);
  const nested: string[] = [];
  for (const path of paths)
    if (path.startsWith(`${parent}/`) && !nested.some((outer) => path.startsWith(`${outer}/`))) nested.push(path);
  return nested.map((path) => path.slice(parent.length + 1));
}
