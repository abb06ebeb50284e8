import type { Clock, Logger } from '../../index.ts';
import type { AllocationManager } from '../allocation/allocation-manager.ts';
import type { PodEventRecorder } from './pod-event-recorder.ts';
import type { PodSyncStatus, PodWorkerState } from './pod-sync-status.ts';
import type { PodCache, PodSyncer } from './pod-syncer.ts';
import type { WorkQueue } from './work-queue.ts';

/** Options of `PodWorkers`. */
export interface PodWorkersOptions {
  readonly podSyncer: PodSyncer;
  readonly podCache: PodCache;
  /** Where the workers say when each pod is to be synced again: call `updatePod` for those that are due. */
  readonly workQueue: WorkQueue;
  /** Pods are synced with the resources that it has allocated. Default: with those of their spec. */
  readonly allocationManager?: Pick<AllocationManager, 'updatePodFromAllocation'> | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /** Default: events are dropped. */
  readonly eventRecorder?: PodEventRecorder | undefined;
  /** How long after a sync that succeeded a pod is synced again; up to half as much is added. Default: 60,000. */
  readonly resyncIntervalMs?: number | undefined;
  /** The same after a sync that failed. Default: 10,000. */
  readonly backOffPeriodMs?: number | undefined;
  /** In [0, 1). Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** What `syncKnownPods` says of a worker. Source: kubelet `PodWorkerSync`. */
export interface PodWorkerSync {
  readonly state: PodWorkerState;
  /** True when the pod is not among the desired ones. */
  readonly isOrphan: boolean;
  /** True when the worker has a pod object for it. */
  readonly hasConfig: boolean;
  readonly isStatic: boolean;
}

/** For diagnosis. */
export interface PodWorkerInspection extends Pick<
  PodSyncStatus,
  'uid' | 'fullName' | 'hasStarted' | 'isDeleted' | 'isEvicted' | 'isRestartRequested' | 'isWorking'
> {
  readonly state: PodWorkerState;
  /** When it came into the state, in milliseconds since the epoch; undefined while it is syncing. */
  readonly sinceMs: number | undefined;
  /** While it is terminating; 0: not determined yet. */
  readonly gracePeriodSeconds: number | undefined;
  readonly isFinished: boolean;
  readonly hasPendingUpdate: boolean;
  /** When the sync that is under way began, in milliseconds since the epoch; undefined: none is. */
  readonly syncStartedMs: number | undefined;
  /** Since when the syncs of the pod fail, in milliseconds since the epoch; undefined: the last one succeeded. */
  readonly failingSinceMs: number | undefined;
  /** Why the last one failed. */
  readonly failureReason: string | undefined;
}

export function inspectPodWorker(status: PodSyncStatus): PodWorkerInspection {
  const { lifecycle, uid, fullName, hasStarted, isDeleted, isEvicted, isRestartRequested, isWorking } = status;
  return {
    uid,
    fullName,
    state: lifecycle.state,
    sinceMs: lifecycle.state === 'syncing' ? undefined : lifecycle.sinceMs,
    gracePeriodSeconds: lifecycle.state === 'terminating' ? lifecycle.gracePeriodSeconds : undefined,
    isFinished: lifecycle.state === 'terminated' && lifecycle.isFinished,
    hasStarted,
    isDeleted,
    isEvicted,
    isRestartRequested,
    isWorking,
    hasPendingUpdate: status.pendingUpdate !== undefined,
    syncStartedMs: status.syncStartedMs,
    failingSinceMs: status.failure?.sinceMs,
    failureReason: status.failure?.reason,
  };
}
