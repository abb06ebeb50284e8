import type { AgentGauges } from '../observe/agent-metrics.ts';
import { epochMsOf } from '../shared/time.ts';
import type { RefusedManifest } from './config/pod-source.ts';
import type { NodeReporterInspection } from './registration/node-reporter-options.ts';
import type { PodWorkerInspection } from './pod-workers/pod-worker-inspection.ts';
import type { NodeAgentState } from './node-options.ts';

/** What gauges are read from. A virtual node has neither containers nor manifests. */
interface GaugesSource {
  readonly state: NodeAgentState;
  readonly node: NodeReporterInspection | undefined;
  readonly podWorkers: readonly PodWorkerInspection[];
  readonly refusedManifests?: readonly RefusedManifest[];
  readonly runtime: {
    readonly relistedAt: string | undefined;
    readonly runningPods: number;
    readonly containers?: AgentGauges['containers'];
  };
}

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
