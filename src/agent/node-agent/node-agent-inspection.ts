import type { Failure } from '../../shared/failure-log.ts';
import type { ManagerInspection } from '../../status-manager/inspection.ts';
import type {
  EventRecorderInspection,
  NodeAgentState,
  NodeReporterInspection,
  PodWorkerInspection,
  RefusedManifest,
  SyncLoopInspection,
} from '../../node/index.ts';
import type { EvictionInspection } from '../eviction/eviction-manager.ts';
import type { RuntimeInspection } from '../pleg/generic-pleg.ts';

/** A snapshot of an agent; it does not change afterwards. */
export interface NodeAgentInspection {
  readonly state: NodeAgentState;
  /** The queues of the sync loop, and why it is not syncing pods. */
  readonly syncLoop: SyncLoopInspection;
  /** Whether the runtime responds. */
  readonly runtime: RuntimeInspection;
  /** Manifests of static pods that are invalid, so that their pods do not run. */
  readonly refusedManifests: readonly RefusedManifest[];
  /** One entry for each pod that has a worker. */
  readonly podWorkers: readonly PodWorkerInspection[];
  /** The cached statuses, and which of them are unsent. */
  readonly statusManager: ManagerInspection;
  /** Undefined if the agent does not register the Node. */
  readonly node: NodeReporterInspection | undefined;
  /** Undefined if nothing is measured. */
  readonly eviction: EvictionInspection | undefined;
  /** Why the folders of orphaned pods cannot be removed; undefined if they can. */
  readonly orphanedPodDirs: Failure | undefined;
  /** Undefined if the agent does not write events. */
  readonly events: EventRecorderInspection | undefined;
  /** The number of probe workers. */
  readonly probes: number;
}
