import { runtimeProblem } from '../node-agent/agent-problems.ts';
import type { NodeAgentInspection } from '../node-agent/node-agent-inspection.ts';
import { type HealthCheck, leaseProblem, nodeStatusProblem } from '../../node/index.ts';

/** Readiness: the agent knows its pods and containers, and its Node is registered and alive for the control plane. */
export function readinessChecks(inspection: NodeAgentInspection, nowMs: number): readonly HealthCheck[] {
  const { state, syncLoop, node } = inspection;
  const { waitingForSources } = syncLoop;
  return [
    { name: 'running', failure: state === 'running' ? undefined : `the agent is ${state}` },
    {
      name: 'sources',
      failure: waitingForSources.length > 0 ? `no pods yet from: ${waitingForSources.join(', ')}` : undefined,
    },
    {
      name: 'node',
      failure:
        node?.registered === false ? (nodeStatusProblem(inspection, nowMs) ?? 'the Node is not registered') : undefined,
    },
    { name: 'runtime', failure: runtimeProblem(inspection, nowMs) },
    { name: 'lease', failure: leaseProblem(inspection, nowMs) },
  ];
}
