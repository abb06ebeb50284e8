import type { Pod } from '../../kube/types.ts';

/**
 * What happened to pods:
 * - `ADD`: they are new.
 * - `UPDATE`: spec, labels or annotations changed.
 * - `DELETE`: their deletionTimestamp or grace period changed, so they must be terminated gracefully.
 * - `REMOVE`: their source no longer has them.
 * - `RECONCILE`: only their status changed.
 *
 * Source: kubelet `PodOperation`.
 */
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE';

/** Source: kubelet `kubetypes.PodUpdate`. */
export interface PodConfigUpdate {
  readonly op: PodOperation;
  /** The name of the source. */
  readonly source: string;
  readonly pods: readonly Pod[];
}
