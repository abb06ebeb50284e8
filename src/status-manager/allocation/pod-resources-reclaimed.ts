import { requireObject } from '../../shared/errors.ts';
import type { ContainerStatusInput, Pod, PodStatusInput } from '../../kube/types.ts';

/** What a node still holds for a pod. Every method must be synchronous. */
export interface NodeResources {
  /** The pod's containers, dead ones too, that the runtime has not removed; returns undefined, or throws, when the runtime does not respond. */
  runtimeContainers(pod: Pod): readonly { readonly name: string }[] | undefined;
  /** True while volumes of the pod are mounted or being taken down. */
  podVolumesExist(pod: Pod): boolean;
  /** True when volumes of terminated pods are left mounted on purpose. Default: false. */
  readonly keepTerminatedPodVolumes?: boolean | undefined;
  /** True while the pod's cgroup exists. Absent on a node without cgroups per QoS class. */
  podCgroupExists?(pod: Pod): boolean;
}

/** Whether a node has reclaimed everything. */
export type ReclaimedResult =
  | { readonly reclaimed: true }
  | {
      readonly reclaimed: false;
      /** What has not been reclaimed yet, for a log or a person. */
      readonly reason: string;
    };

/**
 * Whether a terminated pod has released everything that it held on its node, so that its API object may
 * be deleted: no regular container runs in `status`, the runtime has removed them, its
 * volumes and its cgroup are gone. Asks in this order and stops at the first "not yet".
 * Never throws for `runtimeContainers`; errors of the other methods are not caught.
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

/** A container of which nothing is known counts as running. */
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
