import type { AgentGauges } from '../../observe/agent-metrics.ts';
import type { Failure } from '../../shared/failure-log.ts';
import { epochMsOf } from '../../shared/time.ts';
import type { ManagerInspection } from '../../status-manager/inspection.ts';
import type { RefusedManifest } from '../config/pod-source.ts';
import type { EventRecorderInspection } from '../events/api-event-recorder.ts';
import type { EvictionInspection } from '../eviction/eviction-manager.ts';
import type { NodeReporterInspection } from '../node/node-reporter-options.ts';
import type { RuntimeInspection } from '../pleg/generic-pleg.ts';
import type { PodWorkerInspection } from '../pod-workers/pod-workers-options.ts';
import type { SyncLoopInspection } from '../sync-loop/sync-loop.ts';

/** The state of an agent: `created`, `running`, `stopping` while `stop()` is in progress, `stopped`. */
export type NodeAgentState = 'created' | 'running' | 'stopping' | 'stopped';

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

/** What gauges are read from. A virtual node has neither containers nor manifests. */
type GaugesSource = Pick<NodeAgentInspection, 'node' | 'podWorkers' | 'state'> &
  Partial<Pick<NodeAgentInspection, 'refusedManifests'>> & {
    readonly runtime: Pick<RuntimeInspection, 'relistedAt' | 'runningPods'> &
      Partial<Pick<RuntimeInspection, 'containers'>>;
  };

/** The values that a metrics scrape reads from an agent that was started `ageMs` ago. */
export function agentGauges(
  { state, runtime, node, podWorkers, refusedManifests }: GaugesSource,
  ageMs: number,
  nowMs: number,
): AgentGauges {
  const relistAgeMs = runtime.relistedAt === undefined ? ageMs : nowMs - epochMsOf(runtime.relistedAt);
  const renewedAt = node?.leaseRenewedAt;
  return {
    relistAgeSeconds: state === 'running' ? relistAgeMs / 1000 : undefined,
    leaseAgeSeconds: renewedAt === undefined ? undefined : (nowMs - epochMsOf(renewedAt)) / 1000,
    leaseDurationSeconds: node?.leaseDurationSeconds,
    isNodeRegistered: node?.registered,
    failingPods: podWorkers.filter(({ failingSince }) => failingSince !== undefined).length,
    refusedManifests: refusedManifests?.length,
    runningPods: runtime.runningPods,
    containers: runtime.containers,
  };
}
