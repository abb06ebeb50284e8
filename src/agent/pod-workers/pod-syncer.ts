import type { Pod } from '../../index.ts';
import type { CallOptions, RuntimePod } from '../runtime/container-runtime.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';
import type { PodStatusFn, SyncPodType } from './pod-update.ts';

/** What became known of a pod by its sync. */
export interface SyncPodResult {
  /** True when the pod has reached a terminal phase on its own, so that it can be terminated. */
  readonly isTerminal: boolean;
}

/**
 * The work that pod workers schedule. A call that rejects is repeated later. `signal` is aborted when
 * the work is superseded: the pod is to end, or to end sooner. Source: kubelet `podSyncer`.
 */
export interface PodSyncer {
  /** Brings the containers closer to the spec. */
  syncPod(
    updateType: SyncPodType,
    pod: Pod,
    mirrorPod: Pod | undefined,
    runtimeStatus: RuntimePodStatus,
    options: CallOptions,
  ): Promise<SyncPodResult>;
  /** Resolves when no container of the pod runs. `gracePeriodSeconds` undefined: the pod's own. */
  syncTerminatingPod(
    pod: Pod,
    runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    options: CallOptions,
  ): Promise<void>;
  /** As `syncTerminatingPod`, for a pod of which only the runtime knows. */
  syncTerminatingRuntimePod(runningPod: RuntimePod, options: CallOptions): Promise<void>;
  /** Resolves when what the pod used is cleaned up. */
  syncTerminatedPod(pod: Pod, runtimeStatus: RuntimePodStatus, options: CallOptions): Promise<void>;
}

/** What the runtime shows of pods. Source: kubelet `kubecontainer.ROCache`. */
export interface PodCache {
  /** What was seen last of the pod; undefined: it is not known whether the runtime has anything of it. */
  get(podUID: string): RuntimePodStatus | undefined;
  /** What the runtime shows of the pod now, or after `minTimeMs` (since the epoch). */
  getNewerThan(pod: Pod, minTimeMs: number, options: CallOptions): Promise<RuntimePodStatus>;
}
