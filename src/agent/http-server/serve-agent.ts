import {
  healthChecks,
  serveEndpoints,
  type AgentServer,
  type ServeAgentOptions,
  type HealthCheck,
  leaseProblem,
  nodeStatusProblem,
} from '../../node/index.ts';
import { limitReads } from '../../shared/limit-reads.ts';
import { requirePort, resolveClock } from '../../shared/ports.ts';
import { agentProblems, runtimeProblem } from '../node-agent/agent-problems.ts';
import type { NodeAgent } from '../node-agent/node-agent.ts';
import type { NodeAgentInspection } from '../node-agent/node-agent-inspection.ts';

/**
 * Serves the endpoints of an agent for probes, Prometheus and people:
 *
 * - `/healthz`, `/livez`: 500 if the sync loop has been stuck for 5 minutes, so that the agent is restarted.
 * - `/readyz`: 500 until the agent knows its pods and the Node is registered, and while the runtime fails or the
 *   Lease is late.
 * - `/metrics`: the metrics of `register`.
 * - `/statusz/`: the page of `createStatusPage`.
 *
 * `?verbose` lists the checks. The server is read-only and has no authentication: if `host` is not a
 * loopback address, everybody who can reach it sees the names of the pods. Resolves when the server
 * listens. Call `close()` after `stop()` of the agent, so that probes see it stop.
 *
 * @throws StatusManagerError INVALID_OPTION; INVALID_STATE when the address cannot be listened on
 *
 * @example
 * ```ts
 * import { serveAgent } from 'kubelet-status-manager/agent';
 *
 * const server = await serveAgent(agent, { port: 10_248 });
 * console.log(`Status page: ${server.url}/statusz/`);
 * await agent.stop({ drain: true });
 * await server.close();
 * ```
 */
export async function serveAgent(agent: NodeAgent, options: ServeAgentOptions = {}): Promise<AgentServer> {
  requirePort('agent', agent, ['inspect']);
  const inspect = limitReads(resolveClock(options.clock), () => agent.inspect());
  return serveEndpoints(
    {
      healthChecks: (nowMs) => healthChecks(inspect(), nowMs),
      readinessChecks: (nowMs) => readinessChecks(inspect(), nowMs),
      page: {
        nodeName: agent.nodeName,
        manager: agent.statusManager,
        problems: (nowMs) => agentProblems(inspect(), nowMs),
      },
    },
    options,
  );
}

/** Readiness: the agent knows its pods and containers, and its Node is registered and alive for the control plane. */
function readinessChecks(inspection: NodeAgentInspection, nowMs: number): readonly HealthCheck[] {
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
