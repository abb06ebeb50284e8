import type { Pod } from '../../index.ts';

/** Where pods come from. Source: kubelet `FileSource`, `HTTPSource`, `ApiserverSource`. */
export type PodSourceName = 'file' | 'http' | 'api';

/**
 * What is to be done with pods:
 * - `ADD`: they are new.
 * - `UPDATE`: spec, labels or annotations changed.
 * - `DELETE`: they are to be terminated gracefully: their deletionTimestamp or grace period changed.
 * - `REMOVE`: their source does not have them any more.
 * - `RECONCILE`: their status alone changed.
 *
 * Source: kubelet `PodOperation`.
 */
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE';

/** Source: kubelet `kubetypes.PodUpdate`. */
export interface PodConfigUpdate {
  readonly op: PodOperation;
  readonly source: PodSourceName;
  readonly pods: readonly Pod[];
}
