import type { Container, Pod } from '../../kube/types.ts';
import type { HostDirectory } from '../host-paths/host-directory.ts';
import { cleanPath, requirePathLength } from '../host-paths/names.ts';

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
      if (!volumeMounts.some(({ name }) => name === volumeName)) return [];
      const mounts = volumeMounts.map(({ name, mountPath }) => ({
        name,
        path: requirePathLength(cleanPath(mountPath)),
      }));
      const paths = new Set(mounts.map(({ path }) => path));
      const own = new Set(mounts.filter(({ name }) => name === volumeName).map(({ path }) => path));
      for (const path of own) if (path.startsWith('../')) throw new Error(`invalid container mount point ${path}`);
      return [...paths].flatMap((path) => {
        const outer = innermostAbove(path, paths) ?? '';
        return own.has(outer) ? [path.slice(outer.length + 1)] : [];
      });
    },
  );
}

/** The innermost of these paths that a path is below. */
function innermostAbove(path: string, paths: ReadonlySet<string>): string | undefined {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const above = path.slice(0, end);
    if (paths.has(above)) return above;
  }
  return undefined;
}
