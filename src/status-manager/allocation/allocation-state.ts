import type { Pod, ResourceRequirements } from '../../kube/types.ts';

export const podResizeStatuses = ['', 'Proposed', 'InProgress', 'Deferred', 'Infeasible'] as const;

/** How far a resize of a pod has come; `''` when none is known. */
export type PodResizeStatus = (typeof podResizeStatuses)[number];

export function isPodResizeStatus(value: unknown): value is PodResizeStatus {
  return (podResizeStatuses as readonly unknown[]).includes(value);
}

/**
 * Which resources were granted to the containers of each pod, and how far a resize is. What is set
 * is seen by the next read, before the returned promise settles; objects that are handed out are
 * frozen.
 * Source: kubelet `state.State`, in its interface before v1.33.
 */
export interface AllocationState {
  /** What was granted to the container; undefined when nothing was. */
  getContainerResourceAllocation(podUID: string, containerName: string): ResourceRequirements | undefined;

  /** What was granted to the pod itself; undefined when nothing was. */
  getPodLevelResourceAllocation(podUID: string): ResourceRequirements | undefined;

  /** `''` when no resize was recorded for the pod. */
  getPodResizeStatus(podUID: string): PodResizeStatus;

  /**
   * Grants what `pod.spec` asks for, in place of all that was granted to this pod before: its
   * regular and init containers, and the pod-level resources.
   * Resolves when the change is as durable as this state makes it. Rejects with a
   * StatusManagerError: `INVALID_ARGUMENT` for an invalid pod, and nothing has changed then;
   * `CHECKPOINT_WRITE_FAILED` when the change is in memory only.
   */
  setPodAllocation(pod: Pod): Promise<void>;

  /** `''` forgets the status. Resolves and rejects as `setPodAllocation`. */
  setPodResizeStatus(podUID: string, resizeStatus: PodResizeStatus): Promise<void>;

  /** Forgets the pod. The removal is written with the next change, not on its own. */
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
 * const podDeletionSafety = () => false;
 * const manager = new StatusManager({ client, podManager, podDeletionSafety, allocationState: noopState });
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
