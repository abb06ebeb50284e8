import type { FailureLog } from '../../shared/failure-log.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { OwnedPodScope } from '../owned-pod-scope.ts';
import type { StartFailure } from '../status/convert-container-statuses.ts';
import type { PodStatusFn, PodUpdate } from './update-pod-options.ts';

/** Source: kubelet `PodWorkerState`. */
export type PodWorkerState = PodLifecycle['state'];

/**
 * The state of a pod's lifecycle; it never returns to an earlier one.
 *
 * - `syncing`: its containers are started and restarted.
 * - `terminating`: nothing is started, and running containers are stopped.
 * - `terminated`: no container is running, or will ever run. If `isFinished`, the pod's resources have
 *   been cleaned up, and its worker has ended.
 */
export type PodLifecycle =
  | { readonly state: 'syncing' }
  | {
      readonly state: 'terminating';
      readonly sinceMs: number;
      /** Never extended. 0 if it has not been determined yet; then the pod's own period applies. */
      gracePeriodSeconds: number;
      /** Called when the pod is terminated. */
      readonly onCompleted: (() => void)[];
      podStatusFn: PodStatusFn | undefined;
    }
  | {
      readonly state: 'terminated';
      readonly sinceMs: number;
      isFinished: boolean;
    };

/**
 * Everything that the agent remembers of a pod as long as the pod has a worker. `PodSyncStatuses` holds it, and drops all
 * of it at once. Source: kubelet `podSyncStatus`.
 */
export class PodSyncStatus {
  readonly uid: string;
  readonly fullName: string;
  /** Closed when the pod is terminated, and nothing may begin for it. */
  readonly scope: OwnedPodScope;
  lifecycle: PodLifecycle;
  /** The newest update that the worker has not started to process. */
  pendingUpdate: PodUpdate | undefined;
  /** The updates that the worker has started to process, merged into one. */
  activeUpdate: Omit<PodUpdate, 'updateType'> | undefined;
  /** True once the pod has been synced: a static pod may have to wait before that. */
  hasStarted = false;
  /** True when the pod has a deletionTimestamp, or is no longer known to the agent. */
  isDeleted = false;
  isEvicted = false;
  /** The terminal phase that the pod had when it became known. Its source may show an older one for a while. */
  readonly endedPhase: string | undefined;
  /** True when a pod with this UID was created again while the pod was being terminated. */
  isRestartRequested = false;
  /** True when the pod was only found in the runtime. */
  isObservedRuntime = false;
  /** True while an update is pending or in progress. */
  isWorking = false;
  /** True while the worker's loop is running. */
  isLoopRunning = false;
  /** The last observation of the runtime that had begun when the last sync ended: the next one needs a newer status. */
  lastObservation = 0;
  /** Aborts the sync in progress. */
  abortController: AbortController | undefined;
  /** When the sync in progress began, on the monotonic clock. */
  syncStartedMs: number | undefined;
  /** Consecutive sync failures: the last error, and the time of the first; undefined if the last sync succeeded. */
  failures: FailureLog | undefined;
  /** When the pod must be synced again, on the monotonic clock; undefined if only an update syncs it. Source: kubelet `WorkQueue`. */
  nextSyncMs: number | undefined;
  /** Why containers could not be started, by name. Source: kubelet `ReasonCache`. */
  readonly startFailures = new Map<string, StartFailure>();
  /** The containers whose preStop hook ended early because the grace period became shorter. */
  readonly cutHooks = new Set<string>();
  /** Consecutive failures to read the resources of the pod's cgroup; undefined if there was none. */
  resourceFailures: FailureLog | undefined;

  constructor(
    { uid, fullName, scope, endedPhase }: Pick<PodSyncStatus, 'uid' | 'fullName' | 'scope' | 'endedPhase'>,
    lifecycle: PodLifecycle,
  ) {
    this.uid = uid;
    this.fullName = fullName;
    this.scope = scope;
    this.endedPhase = endedPhase;
    this.lifecycle = lifecycle;
  }
}

export function terminatingSince(sinceMs: number): Extract<PodLifecycle, { state: 'terminating' }> {
  return {
    state: 'terminating',
    sinceMs,
    gracePeriodSeconds: 0,
    onCompleted: [],
    podStatusFn: undefined,
  };
}

/** True when nothing is left to do for the pod. Source: kubelet `IsFinished`. */
export function isFinished({ lifecycle }: PodSyncStatus): boolean {
  return lifecycle.state === 'terminated' && lifecycle.isFinished;
}

/** Source: kubelet `mergeLastUpdate`. */
export function mergeLastUpdate(status: PodSyncStatus, { pod, mirrorPod, runningPod }: PodUpdate): void {
  const { activeUpdate } = status;
  status.activeUpdate = {
    pod: activeUpdate?.pod === undefined || runningPod === undefined ? pod : activeUpdate.pod,
    mirrorPod: mirrorPod ?? activeUpdate?.mirrorPod,
    runningPod,
  };
}

/** The minimum grace period: a container is always asked to stop before it is killed. */
const minimumGracePeriodSeconds = 1;

/**
 * The grace period of a pod in seconds, at least 1: the shortest of the period in effect (0: none), the one that the pod was
 * deleted with, and `override`. Without any of them, the one in its spec. Source: kubelet `calculateEffectiveGracePeriod`.
 */
export function calculateEffectiveGracePeriod(current: number, { metadata, spec }: Pod, override?: number): number {
  let gracePeriodSeconds = current;
  let isOverridden = false;
  for (const candidate of [metadata?.deletionGracePeriodSeconds, override]) {
    if (candidate == null || (gracePeriodSeconds !== 0 && candidate >= gracePeriodSeconds)) continue;
    gracePeriodSeconds = candidate;
    isOverridden = true;
  }
  if (!isOverridden && gracePeriodSeconds === 0) gracePeriodSeconds = spec?.terminationGracePeriodSeconds ?? 0;
  return Math.max(gracePeriodSeconds, minimumGracePeriodSeconds);
}
