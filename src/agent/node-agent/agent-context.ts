import type { AgentMetrics } from '../../observe/agent-metrics.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { resolveClock, resolveLogger, resolveRandom } from '../../shared/ports.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';

/** What all parts of an agent share. */
export interface AgentContext {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Errors that it throws are logged. */
  readonly metrics: Partial<AgentMetrics> | undefined;
  readonly agentStartedAtMs: number;
}

export function createContext({ nodeName, metrics, ...options }: NodeAgentOptions): AgentContext {
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const random = resolveRandom(options.random, logger);
  return { nodeName, clock, logger, random, metrics, agentStartedAtMs: clock.now() };
}
