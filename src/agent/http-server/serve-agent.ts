import { healthChecks, serveEndpoints, type AgentServer, type ServeAgentOptions } from '../../node/index.ts';
import { requirePort } from '../../shared/ports.ts';
import { agentProblems } from '../node-agent/agent-problems.ts';
import type { NodeAgent } from '../node-agent/node-agent.ts';
import { readinessChecks } from './readiness-checks.ts';

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
  return serveEndpoints(
    {
      healthChecks: (nowMs) => healthChecks(agent.inspect(), nowMs),
      readinessChecks: (nowMs) => readinessChecks(agent.inspect(), nowMs),
      page: {
        nodeName: agent.nodeName,
        manager: agent.statusManager,
        problems: (nowMs) => agentProblems(agent.inspect(), nowMs),
      },
    },
    options,
  );
}
