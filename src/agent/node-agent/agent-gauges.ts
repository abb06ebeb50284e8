import type { AgentGauges } from '../../observe/agent-metrics.ts';
import { epochMsOf } from '../../shared/time.ts';
import type { NodeAgentInspection } from './node-agent-inspection.ts';

/** The values that a metrics scrape reads from an agent. */
export function agentGauges(inspection: NodeAgentInspection, startedAtMs: number, nowMs: number): AgentGauges {
  const { state, runtime, node, podWorkers, refusedManifests } = inspection;
  const relistedAtMs = runtime.relistedAt === undefined ? startedAtMs : epochMsOf(runtime.relistedAt);
  const renewedAt = node?.leaseRenewedAt;
  return {
    relistAgeSeconds: state === 'running' ? (nowMs - relistedAtMs) / 1000 : undefined,
    leaseAgeSeconds: renewedAt === undefined ? undefined : (nowMs - epochMsOf(renewedAt)) / 1000,
    leaseDurationSeconds: node?.leaseDurationSeconds,
    isNodeRegistered: node?.registered,
    failingPods: podWorkers.filter(({ failingSince }) => failingSince !== undefined).length,
    refusedManifests: refusedManifests.length,
  };
}
