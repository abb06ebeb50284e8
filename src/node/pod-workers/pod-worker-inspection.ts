import pick from 'lodash/pick.js';
import type { MonotonicTimes } from '../../shared/time.ts';
import type { PodSyncStatus, PodWorkerState } from './pod-sync-status.ts';

/** A worker in the result of `syncKnownPods`. Source: kubelet `PodWorkerSync`. */
export interface PodWorkerSync {
  readonly state: PodWorkerState;
  /** True when the pod is not desired. */
  readonly isOrphan: boolean;
  /** True when the worker has a pod object for it. */
  readonly hasConfig: boolean;
  readonly isStatic: boolean;
}

const shownFields = [
  'uid',
  'fullName',
  'hasStarted',
  'isDeleted',
  'isEvicted',
  'isRestartRequested',
  'isWorking',
] as const;

/** State of a worker, for debugging. Times are RFC 3339. */
export interface PodWorkerInspection extends Pick<PodSyncStatus, (typeof shownFields)[number]> {
  readonly state: PodWorkerState;
  /** When it entered the state; undefined while it is syncing. */
  readonly since: string | undefined;
  /** Set while it is terminating; 0 if it has not been determined yet. */
  readonly gracePeriodSeconds: number | undefined;
  readonly isFinished: boolean;
  readonly hasPendingUpdate: boolean;
  /** Start of the sync in progress; undefined if there is none. */
  readonly syncStartedAt: string | undefined;
  /** Since when syncs of the pod have been failing; undefined if the last one succeeded. */
  readonly failingSince: string | undefined;
  /** Why the last sync failed. */
  readonly failureReason: string | undefined;
}

export function inspectPodWorker(status: PodSyncStatus, times: MonotonicTimes): PodWorkerInspection {
  const { lifecycle } = status;
  return {
    ...pick(status, shownFields),
    state: lifecycle.state,
    since: lifecycle.state === 'syncing' ? undefined : times.format(lifecycle.sinceMs),
    gracePeriodSeconds: lifecycle.state === 'terminating' ? lifecycle.gracePeriodSeconds : undefined,
    isFinished: lifecycle.state === 'terminated' && lifecycle.isFinished,
    hasPendingUpdate: status.pendingUpdate !== undefined,
    syncStartedAt: status.syncStartedMs === undefined ? undefined : times.format(status.syncStartedMs),
    failingSince: status.failures?.failingSince,
    failureReason: status.failures?.reason,
  };
}
