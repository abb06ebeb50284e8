import { requireObject } from '../../shared/errors.ts';
import type { ContainerStatusInput, Pod, PodStatusInput } from '../../kube/objects/types.ts';

/** The node's remaining resources of a pod. Every method must be synchronous. */
export interface NodeResources {
  /**
   * The pod's containers that the runtime has not removed, including dead ones; returns undefined or
   * throws if the runtime does not respond.
   */
  runtimeContainers(pod: Pod): readonly { readonly name: string }[] | undefined;
  /** True while volumes of the pod are mounted or being unmounted. */
  podVolumesExist(pod: Pod): boolean;
  /** True if volumes of terminated pods deliberately stay mounted. Default: false. */
  readonly keepTerminatedPodVolumes?: boolean | undefined;
  /** True while the pod's cgroup exists. Absent on a node without cgroups per QoS class. */
  podCgroupExists?(pod: Pod): boolean;
}

/** Result of `podResourcesAreReclaimed`. */
export type ReclaimedResult =
  | { readonly reclaimed: true }
  | {
      readonly reclaimed: false;
      /** The resources not reclaimed yet, human-readable. */
      readonly reason: string;
    };

/**
 * Whether the node has reclaimed all resources of a terminated pod, so that its API object may be
 * deleted: no regular container runs in `status`, the runtime has removed all containers, and volumes
 * and cgroup are gone. Checks in this order and stops at the first failure. Catches errors of
 * `runtimeContainers` only.
 * Source: kubelet `PodResourcesAreReclaimed` (v1.16).
 *
 * @example
 * ```ts
 * import { podResourcesAreReclaimed } from 'kubelet-status-manager';
 *
 * const result = podResourcesAreReclaimed(pod, manager.getPodStatus(podUID) ?? {}, {
 *   runtimeContainers: () => [],
 *   podVolumesExist: (pod) => mounted.has(pod.metadata?.uid),
 * });
 * if (!result.reclaimed) console.log(`Pod keeps its resources: ${result.reason}`);
 * ```
 */
export function podResourcesAreReclaimed(pod: Pod, status: PodStatusInput, resources: NodeResources): ReclaimedResult {
  requireObject('pod', pod);
  requireObject('status', status);
  requireObject('resources', resources);
  const running = (status.containerStatuses ?? []).filter(isRunning);
  if (running.length > 0) return notYet(`containers are still running: ${names(running)}`);

  const containers = runtimeContainers(pod, resources);
  if (containers === undefined) return notYet('the container runtime does not respond for the pod');
  if (containers.length > 0) return notYet(`containers have not been removed from the runtime: ${names(containers)}`);

  if (resources.keepTerminatedPodVolumes !== true && resources.podVolumesExist(pod)) {
    return notYet('volumes have not been taken down');
  }
  if (resources.podCgroupExists?.(pod) === true) return notYet('the cgroup has not been removed');
  return { reclaimed: true };
}

/** A container without a known state counts as running. */
function isRunning({ state }: ContainerStatusInput): boolean {
  return state?.terminated == null && state?.waiting == null;
}

function runtimeContainers(pod: Pod, resources: NodeResources): readonly { readonly name: string }[] | undefined {
  try {
    return resources.runtimeContainers(pod);
  } catch {
    return undefined;
  }
}

function notYet(reason: string): ReclaimedResult {
  return { reclaimed: false, reason };
}

function names(containers: readonly { readonly name?: string | null | undefined }[]): string {
  return containers.map(({ name }) => name ?? '').join(', ');
}
