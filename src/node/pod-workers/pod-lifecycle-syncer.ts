import type { ValidPod } from '../../kube/objects/types.ts';
import type { PodCallOptions } from '../pod-scope.ts';
import type { CallOptions, RuntimePod } from '../runtime/container-runtime.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';
import type { PodSyncStatus } from './pod-sync-status.ts';
import type { PodStatusFn, SyncPodType } from './update-pod-options.ts';

/** The result of a pod's sync. */
export interface SyncPodResult {
  /** True when the pod has reached a terminal phase on its own, and can be terminated. */
  readonly isTerminal: boolean;
  /** True when something was done in the runtime, so that its status is out of date. */
  readonly hasChanged: boolean;
  /** True when the next sync must follow at once. Default: false. */
  readonly mustSyncAgain?: boolean | undefined;
}

/** Options of each call for a pod that has a spec. */
export interface SyncPodOptions extends PodCallOptions {
  /** The part of the worker's record of the pod that the syncer maintains. */
  readonly syncStatus: Pick<PodSyncStatus, 'startFailures' | 'cutHooks' | 'resourceFailures'>;
}

/**
 * The work that pod workers schedule. A call that rejects is retried later. `signal` is aborted when
 * the work is superseded: the pod must be terminated, or its grace period became shorter. Source: kubelet `podSyncer`.
 */
export interface PodLifecycleSyncer {
  /** Reconciles the containers with the spec. */
  syncPod(
    updateType: SyncPodType,
    pod: ValidPod,
    mirrorPod: ValidPod | undefined,
    runtimeStatus: RuntimePodStatus,
    options: SyncPodOptions,
  ): Promise<SyncPodResult>;
  /** Resolves when no container of the pod is running. `gracePeriodSeconds` undefined means the pod's own. */
  syncTerminatingPod(
    pod: ValidPod,
    runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    options: SyncPodOptions,
  ): Promise<void>;
  /** Like `syncTerminatingPod`, for a pod that only the runtime knows. */
  syncTerminatingRuntimePod(runningPod: RuntimePod, options: PodCallOptions): Promise<void>;
  /** Resolves when the pod's resources have been cleaned up. Called when the scope of the pod has been closed. */
  syncTerminatedPod(pod: ValidPod, runtimeStatus: RuntimePodStatus, options: SyncPodOptions): Promise<void>;
}

/** The runtime statuses of pods, which are numbered by observation. Source: kubelet `kubecontainer.ROCache`. */
export interface PodCache {
  /** The last observed status; undefined if the pod has never been observed. */
  get(podUID: string): RuntimePodStatus | undefined;
  /** The number of the last observation that has begun; 0 if none has. */
  lastObservation(): number;
  /** A status of an observation that began after the one with this number. */
  getNewerThan(pod: ValidPod, observation: number, options: PodCacheOptions): Promise<RuntimePodStatus>;
}

/** Options of `PodCache.getNewerThan`. */
export interface PodCacheOptions extends CallOptions {
  /** Observes the pod instead of waiting for the next relist. Default: false. */
  readonly observeNow?: boolean | undefined;
}
