import type { Pod, ResourceRequirements } from '../../kube/objects/types.ts';

export const podResizeStatuses = ['', 'Proposed', 'InProgress', 'Deferred', 'Infeasible'] as const;

/** Progress of a pod resize; `''` if none is known. */
export type PodResizeStatus = (typeof podResizeStatuses)[number];

export function isPodResizeStatus(value: unknown): value is PodResizeStatus {
  return (podResizeStatuses as readonly unknown[]).includes(value);
}

/**
 * Stores the resources allocated to each pod and its containers, and the resize status. A change is
 * readable immediately, before the returned promise settles. Returned objects are frozen.
 * Source: kubelet `state.State`, in its interface before v1.33.
 */
export interface AllocationState {
  /** The container's allocated resources; undefined if none are allocated. */
  getContainerResourceAllocation(podUID: string, containerName: string): ResourceRequirements | undefined;

  /** The pod-level allocated resources; undefined if none are allocated. */
  getPodLevelResourceAllocation(podUID: string): ResourceRequirements | undefined;

  /** `''` when no resize was recorded for the pod. */
  getPodResizeStatus(podUID: string): PodResizeStatus;

  /**
   * Replaces the pod's allocation with the resources in `pod.spec`: regular and init containers, and
   * pod-level resources. Resolves when the change is as durable as this state makes it. Rejects with a
   * StatusManagerError: `INVALID_ARGUMENT` for an invalid pod (nothing has changed then), or
   * `CHECKPOINT_WRITE_FAILED` if the change is in memory only.
   */
  setPodAllocation(pod: Pod): Promise<void>;

  /** `''` deletes the status. Resolves and rejects like `setPodAllocation`. */
  setPodResizeStatus(podUID: string, resizeStatus: PodResizeStatus): Promise<void>;

  /** Removes the pod. The removal is persisted only with the next change. */
  delete(podUID: string): void;

  /** `delete` for all pods but these. Source: kubelet `RemoveOrphanedPods`. */
  removeOrphanedPods(remainingPodUIDs: ReadonlySet<string>): void;
}

/**
 * Stores nothing: for agents that never resize pods. Source: kubelet `state.NewNoopStateCheckpoint`.
 *
 * @example
 * ```ts
 * import { noopState, StatusManager } from 'kubelet-status-manager';
 *
 * const podCouldHaveRunningContainers = () => false;
 * const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers, allocationState: noopState });
 * ```
 */
export const noopState: AllocationState = Object.freeze({
  getContainerResourceAllocation: () => undefined,
  getPodLevelResourceAllocation: () => undefined,
  getPodResizeStatus: () => '',
  setPodAllocation: () => Promise.resolve(),
  setPodResizeStatus: () => Promise.resolve(),
  delete: () => {},
  removeOrphanedPods: () => {},
} satisfies AllocationState);
