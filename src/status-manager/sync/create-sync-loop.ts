import { APIOutage } from './api-outage.ts';
import { DroppedFields } from './dropped-fields.ts';
import { FailureGroups } from './failure-groups.ts';
import { FullBatch } from './full-batch.ts';
import { HotLoops } from './hot-loops.ts';
import { SyncRequests } from './sync-requests.ts';
import { PodSyncer } from './pod-syncer.ts';
import { StatusEvents } from './status-events.ts';
import { SyncLoop } from './sync-loop.ts';
import type { SyncPorts } from './sync-ports.ts';
import { SyncResultHandler } from './sync-result-handler.ts';
import { TerminatingPods } from './terminating-pods.ts';

/** Creates the loop and its parts. Starts nothing. */
export function createSyncLoop(ports: SyncPorts): SyncLoop {
  const { cache, logger, podManager, records } = ports;
  const statusEvents = new StatusEvents(ports.eventRecorder, podManager);
  const apiOutage = new APIOutage({ ...ports, countUnsent: () => cache.unsentUIDs().length });
  const failureGroups = new FailureGroups(ports);
  records.onDropped((record) => apiOutage.dropped(record));
  records.onDropped((record) => failureGroups.dropped(record));
  const onSuccess = (): void => {
    apiOutage.requestSucceeded();
    podManager.requestSucceeded?.();
  };
  const parts = {
    ...ports,
    requests: new SyncRequests({ ...ports, onSuccess }),
    hotLoops: new HotLoops(logger),
    apiOutage,
    terminatingPods: new TerminatingPods({ ...ports, statusEvents }),
  };
  const resultHandler = new SyncResultHandler({ ...parts, failureGroups, statusEvents });
  const syncer = new PodSyncer({ ...parts, droppedFields: new DroppedFields(logger), resultHandler });
  return new SyncLoop({ ...parts, resultHandler, syncer, fullBatch: new FullBatch(parts) });
}
