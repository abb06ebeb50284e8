import { type AgentServer, healthChecks, type ServeAgentOptions, serveEndpoints } from '../../node/index.ts';
import { limitReads } from '../../shared/limit-reads.ts';
import { requirePort, resolveClock } from '../../shared/ports.ts';
import type { VirtualNodes } from '../virtual-nodes.ts';
import { AllPods } from './all-pods.ts';
import { nodesProblems, readinessChecks } from './node-rows.ts';

/**
 * Serves the endpoints of the virtual nodes of a process for probes, Prometheus and people, as `serveAgent` does for an agent:
 *
 * - `/healthz`, `/livez`: 500 if the sync loop of a node has been stuck for 5 minutes, so that the process is restarted.
 * - `/readyz`: 500 until the provider has listed its pods and the Nodes are registered, while lists fail or a Lease is late,
 *   and with `replicas` while this process may not own nodes.
 * - `/metrics`: the metrics of `register`. The number of their series does not depend on the number of nodes and pods.
 * - `/statusz/`: the nodes with their owners, their pods, and which calls of the provider fail.
 *
 * The server is read-only and has no authentication. Call `close()` after `nodes.stop()`.
 *
 * @throws StatusManagerError INVALID_OPTION; INVALID_STATE when the address cannot be listened on
 *
 * @example
 * ```ts
 * import { serveVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
 *
 * const server = await serveVirtualNodes(nodes, { host: '0.0.0.0', port: 8080, register });
 * await nodes.stop({ drain: true });
 * await server.close();
 * ```
 */
export async function serveVirtualNodes(nodes: VirtualNodes, options: ServeAgentOptions = {}): Promise<AgentServer> {
  requirePort('nodes', nodes, ['inspect', 'forEachNode']);
  const clock = resolveClock(options.clock);
  const inspect = limitReads(clock, () => nodes.inspect());
  return serveEndpoints(
    {
      healthChecks: (nowMs) => healthChecks(nodes.kubelet.inspect(), nowMs),
      readinessChecks: (nowMs) => readinessChecks(inspect(), nowMs),
      page: {
        nodeName: nodes.inspect().replicas?.identity,
        manager: new AllPods(nodes, inspect, () => clock.now()),
        problems: (nowMs) => nodesProblems(inspect(), nowMs),
      },
    },
    options,
  );
}
