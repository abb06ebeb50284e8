import type { ManagerInspection } from '../../index.ts';
import type { EventRecorderInspection } from '../events/api-event-recorder.ts';
import type { NodeReporterInspection } from '../node/node-reporter-options.ts';
import type { PodWorkerInspection } from '../pod-workers/pod-workers-options.ts';
import type { SyncLoopInspection } from '../sync-loop/sync-loop.ts';

/** What an agent is doing: `created`, `running`, `stopping` since the call of `stop()`, `stopped`. */
export type NodeAgentState = 'created' | 'running' | 'stopping' | 'stopped';

/** A snapshot of an agent; it does not change afterwards. */
export interface NodeAgentInspection {
  readonly state: NodeAgentState;
  /** What pods wait for, and since when. */
  readonly syncLoop: SyncLoopInspection;
  /** One entry for each pod that has a worker. */
  readonly podWorkers: readonly PodWorkerInspection[];
  /** The statuses, and what the API server does not have of them. */
  readonly statusManager: ManagerInspection;
  /** Undefined when the agent does not register the Node. */
  readonly node: NodeReporterInspection | undefined;
  /** Undefined when the agent does not write events. */
  readonly events: EventRecorderInspection | undefined;
  /** How many probes are made periodically. */
  readonly probes: number;
}
