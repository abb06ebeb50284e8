import type { PodClient } from '../../kube/client/pod-client.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { Metrics } from '../metrics.ts';
import type { PodDeletionSafety } from '../pod-deletion-safety.ts';
import type { Tracing } from '../tracing.ts';
import type { ClientLimiter } from './client-limiter.ts';
import type { PatchStrategy } from './decide.ts';
import type { Outcomes } from './outcomes.ts';
import type { PodManager } from '../../kube/pod-manager.ts';
import { APIOutage } from './api-outage.ts';
import { BackOff } from './back-off.ts';
import { DroppedMembers } from './dropped-members.ts';
import { FullBatch } from './full-batch.ts';
import { StatusEvents, type StatusEventRecorder } from './status-events.ts';
import { PodRequests } from './pod-requests.ts';
import { type DropReason, PodSyncer, type PodStartupLatency, type ReadBeforePatch } from './pod-syncer.ts';
import { ResendDetector } from './resend-detector.ts';
import { SyncLoop } from './sync-loop.ts';
import { SyncResultHandler } from './sync-result-handler.ts';
import { TerminatingPods } from './terminating-pods.ts';
import { WhenStale } from './when-stale.ts';

/** Dependencies that the manager provides; `createSyncLoop` creates the rest. */
export interface CreateSyncLoopOptions {
  readonly client: PodClient;
  readonly cache: PodStatusCache;
  readonly podManager: PodManager;
  readonly podDeletionSafety: PodDeletionSafety;
  readonly podStartupLatency: PodStartupLatency | undefined;
  readonly eventRecorder: StatusEventRecorder | undefined;
  readonly outcomes: Outcomes;
  readonly tracing: Tracing;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly limiter: ClientLimiter;
  readonly syncPeriodMs: number;
  readonly concurrency: number;
  readonly requestTimeoutMs: number;
  readonly readBeforePatch: ReadBeforePatch;
  readonly patchStrategy: PatchStrategy;
  /** Statuses that an earlier run left in the journal: pod UID → when it was accepted. */
  readonly recovered: ReadonlyMap<string, string>;
  /**
   * The pod's newest version has reached the API server. `isComplete` is false if its terminal phase
   * was held back, or if a DELETE is still due.
   */
  readonly onSent: (uid: string, isComplete: boolean) => void;
  /** Forgets everything about a pod that is gone. kubelet: `deletePodStatus`. */
  readonly deletePodStatus: (uid: string, reason: DropReason) => void;
}

/** Creates the loop and its parts. Starts nothing. */
export function createSyncLoop(options: CreateSyncLoopOptions): SyncLoop {
  const { cache, logger, random } = options;
  const statusEvents = new StatusEvents(options);
  const apiOutage = new APIOutage({ ...options, countUnsent: () => cache.unsentUIDs().length });
  const shared = {
    ...options,
    requests: new PodRequests({ ...options, onSuccess: () => apiOutage.requestSucceeded() }),
    resendDetector: new ResendDetector(logger),
    droppedMembers: new DroppedMembers(logger),
    backOff: new BackOff(random),
    statusEvents,
    terminatingPods: new TerminatingPods({ ...options, statusEvents }),
    apiOutage,
  };
  const podSyncer = new PodSyncer(shared);
  const keepsRawStatus = options.patchStrategy === 'json-patch';
  return new SyncLoop({
    ...shared,
    syncer:
      options.readBeforePatch === 'always'
        ? podSyncer
        : new WhenStale({ ...options, syncer: podSyncer, keepsRawStatus }),
    fullBatch: new FullBatch(shared),
    resultHandler: new SyncResultHandler(shared),
  });
}
