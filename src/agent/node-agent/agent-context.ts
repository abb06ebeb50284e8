import { type Disk, systemDisk } from '../../shared/disk.ts';
import { type Entropy, systemEntropy } from '../../shared/entropy.ts';
import type { AgentMetrics } from '../../observe/agent-metrics.ts';
import { resolveClock, resolveLogger, resolveRandom } from '../../shared/ports.ts';
import { guardedRecordMetric, type NodeContext } from '../../node/index.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';
import { stateInMemory } from './require-node-agent-options.ts';

/** The parts of the machine that an agent itself uses. */
export interface AgentMachine {
  readonly disk: Disk;
  readonly entropy: Entropy;
}

export const systemMachine: AgentMachine = { disk: systemDisk, entropy: systemEntropy };

/** What all parts of an agent share. */
export interface AgentContext extends NodeContext {
  readonly nodeName: string;
  readonly machine: AgentMachine;
  /** Errors that it throws are logged. */
  readonly metrics: Partial<AgentMetrics> | undefined;
  /** When the agent was created, on the monotonic clock. */
  readonly agentStartedMs: number;
  /** The options of `AgentState` that are missing, so that this state is lost with the process. */
  readonly stateInMemory: readonly string[];
}

export function createContext(
  { nodeName, metrics, ...options }: NodeAgentOptions,
  machine: AgentMachine,
): AgentContext {
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const random = resolveRandom(options.random, logger);
  const recordMetric = guardedRecordMetric(metrics, logger);
  return {
    ...{ nodeName, clock, logger, machine, random, metrics, recordMetric },
    agentStartedMs: clock.monotonicMs(),
    stateInMemory: stateInMemory(options),
  };
}
