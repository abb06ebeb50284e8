import type { RuntimeContainerStatus, RuntimePodStatus } from '../runtime/runtime-pod-status.ts';

/**
 * The exited containers of a pod, newest first, without the first `containersToKeep`. With
 * `filterContainerID`, only runs of that container; none if its ID is unknown.
 * Source: kubelet `getContainersToDeleteInPod`.
 */
export function containersToDeleteInPod(
  { containers }: RuntimePodStatus,
  filterContainerID: string | undefined,
  containersToKeep: number,
): RuntimeContainerStatus[] {
  const filter = containers.find(({ id }) => id === filterContainerID);
  if (filterContainerID !== undefined && filter === undefined) return [];
  return containers
    .filter(({ state, name }) => state === 'exited' && (filter === undefined || name === filter.name))
    .toSorted((a, b) => b.createdAtMs - a.createdAtMs)
    .slice(containersToKeep);
}
