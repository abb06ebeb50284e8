import type { PodManager } from '../../kube/pod-manager.ts';
import { APIOutage } from './api-outage.ts';
import { BackOff } from './back-off.ts';
import { DroppedMembers } from './dropped-members.ts';
import { FullBatch } from './full-batch.ts';
import { PodEvents, type PodEventsOptions } from './pod-events.ts';
import { PodRequests, type PodRequestsOptions } from './pod-requests.ts';
import { PodSyncer, type PodSyncerOptions } from './pod-syncer.ts';
import { ResendDetector } from './resend-detector.ts';
import { SyncLoop, type SyncLoopOptions } from './sync-loop.ts';
import { SyncResultHandler } from './sync-result-handler.ts';
import { TerminatingPods } from './terminating-pods.ts';
import { WhenStale } from './when-stale.ts';

/** What the caller provides; the rest of the options of each part is created here. */
export type CreateSyncLoopOptions = PodRequestsOptions &
  Omit<PodSyncerOptions, 'requests' | 'resendDetector' | 'droppedMembers'> &
  PodEventsOptions &
  Pick<SyncLoopOptions, 'limiter' | 'syncPeriodMs' | 'concurrency'> & {
    readonly podManager: PodManager;
    readonly random: () => number;
  };

/** A loop with all that it needs to send statuses through a client. Starts nothing. */
export function createSyncLoop(options: CreateSyncLoopOptions): SyncLoop {
  const { cache, logger, random } = options;
  const podEvents = new PodEvents(options);
  const apiOutage = new APIOutage({ ...options, countUnsent: () => cache.unsentUIDs().length });
  const shared = {
    ...options,
    requests: new PodRequests({ ...options, onSuccess: () => apiOutage.requestSucceeded() }),
    resendDetector: new ResendDetector(logger),
    droppedMembers: new DroppedMembers(logger),
    backOff: new BackOff(random),
    podEvents,
    terminatingPods: new TerminatingPods({ ...options, podEvents }),
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
