import { type AgentMachine, createContext, systemMachine } from './agent-context.ts';
import { createConnection } from './create-connection.ts';
import { createInputs } from './create-inputs.ts';
import { createLoop } from './create-loop.ts';
import { createNode } from './create-node.ts';
import { createPorts } from './create-ports.ts';
import { createWorkers } from './create-workers.ts';
import { NodeAgent } from './node-agent.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';
import { requireNodeAgentOptions } from './require-node-agent-options.ts';

/**
 * Creates a complete node agent: it registers the Node, runs the pods that are bound to it and the
 * pods of `sources` with `runtime`, and keeps their statuses on the API server up to date. Call
 * `start()` of the agent, and finally `stop()`. If an agent has ended or crashed, another one with the
 * same runtime adopts the containers that are still running.
 *
 * Sets no timer and sends nothing before `start()`. Source: kubelet `NewMainKubelet`.
 *
 * @throws StatusManagerError INVALID_OPTION; `path` names the option. INVALID_ARGUMENT for an invalid
 *   kubeconfig.
 *
 * @example
 * ```ts
 * import { createNodeAgent } from 'kubelet-status-manager/agent';
 * import { inClusterConfig } from 'kubelet-status-manager/http';
 *
 * const agent = createNodeAgent({ nodeName: 'node-a', client: inClusterConfig(), runtime });
 * agent.start();
 * await agent.whenReady();
 * process.once('SIGTERM', () => void agent.stop({ drain: true }));
 * ```
 */
export function createNodeAgent(options: NodeAgentOptions): NodeAgent {
  return createNodeAgentOn(systemMachine, options);
}

/** `createNodeAgent` on any machine. */
export function createNodeAgentOn(machine: AgentMachine, options: NodeAgentOptions): NodeAgent {
  requireNodeAgentOptions(options);
  const context = createContext(options, machine);
  const connection = createConnection(options, context);
  const ports = createPorts(options, context, connection);
  const inputs = createInputs(options, context, connection, ports);
  const workers = createWorkers(options, context, connection, ports, inputs);
  const node = createNode(options, context, connection, ports, inputs, workers);
  const parts = { context, connection, ports, inputs, workers, node };
  return new NodeAgent(parts, createLoop(options, parts));
}
