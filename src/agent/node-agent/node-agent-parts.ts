import type { AgentContext } from './agent-context.ts';
import type { AgentConnection } from './create-connection.ts';
import type { AgentInputs } from './create-inputs.ts';
import type { AgentNode } from './create-node.ts';
import type { AgentPorts } from './create-ports.ts';
import type { AgentWorkers } from './create-workers.ts';

/** The parts of an agent below its loop, in the order in which they are created: each knows only those above it. */
export interface NodeAgentParts {
  readonly context: AgentContext;
  readonly connection: AgentConnection;
  readonly ports: AgentPorts;
  readonly inputs: AgentInputs;
  readonly workers: AgentWorkers;
  readonly node: AgentNode;
}
