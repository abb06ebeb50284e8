import type { Container, EphemeralContainer, Pod } from '../../kube/objects/types.ts';
import { allContainersOf } from '../../kube/pods/pod-containers.ts';
import { cleanPath, type HostDirectory, requirePathLength } from '../../node/index.ts';

/** The directories that a runtime needs in a volume. @throws Error for a mount path that leads out of the container's root */
export type NestedMountPoints = (volumeName: string) => readonly string[];

/**
 * The directories that a runtime needs to mount other volumes inside a read-only one, as paths below the volume. Source:
 * kubelet `MakeNestedMountpoints`, `getNestedMountpoints`.
 *
 * Divergence: if several volumes are mounted at one path, the directories are created in the last one, which hides the
 * others.
 */
export function nestedMountPoints({ spec }: Pod): NestedMountPoints {
  const nested = new Map<string, string[]>();
  const failures = new Map<string, Error>();
  for (const { volumeMounts = [] } of allContainersOf<Container | EphemeralContainer>(spec)) {
    const volumeAt = new Map<string, string>();
    try {
      for (const { name, mountPath } of volumeMounts) volumeAt.set(requirePathLength(cleanPath(mountPath)), name);
    } catch (error) {
      for (const { name } of volumeMounts) failures.set(name, error as Error);
      continue;
    }
    for (const { path, outer } of pathsInOthers([...volumeAt.keys()])) {
      const name = volumeAt.get(outer)!;
      const paths = nested.get(name) ?? [];
      paths.push(path.slice(outer.length + 1));
      nested.set(name, paths);
    }
    for (const [path, name] of volumeAt)
      if (path.startsWith('../')) failures.set(name, new Error(`invalid container mount point ${path}`));
  }
  return (volumeName) => {
    const failure = failures.get(volumeName);
    if (failure !== undefined) throw failure;
    return nested.get(volumeName) ?? [];
  };
}

/** Creates these directories in a volume. */
export async function makeNestedMountPoints(paths: readonly string[], volume: HostDirectory): Promise<void> {
  for (const path of paths) await volume.within(path.split('/'), async () => {}, 0o755);
}

/** The paths that are below other paths, each with the innermost of those. */
function pathsInOthers(paths: readonly string[]): { readonly path: string; readonly outer: string }[] {
  const found: { readonly path: string; readonly outer: string }[] = [];
  // Paths that the current one may be below. In this order, the paths below a path follow it immediately.
  const above: string[] = [];
  for (const path of paths.toSorted(byNames)) {
    while (above.length > 0 && !path.startsWith(`${above.at(-1)!}/`)) above.pop();
    const outer = above.at(-1);
    if (outer !== undefined) found.push({ path, outer });
    above.push(path);
  }
  return found;
}

/** Compares paths name by name: a slash, which ends a name, comes before every character. */
function byNames(a: string, b: string): number {
  const [aNames, bNames] = [a.replaceAll('/', '\0'), b.replaceAll('/', '\0')];
  return aNames < bNames ? -1 : aNames > bNames ? 1 : 0;
}
