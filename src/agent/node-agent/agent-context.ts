import type { AgentGauges, AgentMetrics } from '../../observe/agent-metrics.ts';
import type { KubeletMetric, RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import type { Clock } from '../../shared/clock.ts';
import { tryCall } from '../../shared/guarded.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { resolveClock, resolveLogger, resolveRandom } from '../../shared/ports.ts';
import type { NodeAgentOptions } from './node-agent-options.ts';
import { stateInMemory } from './require-node-agent-options.ts';

/** What all parts of an agent share. */
export interface AgentContext {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Errors that it throws are logged. */
  readonly metrics: Partial<AgentMetrics> | undefined;
  /** Never throws. */
  readonly recordMetric: RecordKubeletMetric;
  /** When the agent was created, on the monotonic clock. */
  readonly agentStartedMs: number;
  /** The options of the agent's state that are missing, so that the next agent does not have it. */
  readonly stateInMemory: readonly string[];
}

export function createContext({ nodeName, metrics, ...options }: NodeAgentOptions): AgentContext {
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const random = resolveRandom(options.random, logger);
  const recordMetric = guardedRecordMetric(metrics, logger);
  return {
    ...{ nodeName, clock, logger, random, metrics, recordMetric },
    agentStartedMs: clock.monotonicMs(),
    stateInMemory: stateInMemory(options),
  };
}

/** Logs errors that the caller's metrics throw. */
export function guardedRecordMetric(metrics: Partial<AgentMetrics> | undefined, logger: Logger): RecordKubeletMetric {
  return (name: KubeletMetric, value: number, ...labels: readonly string[]) =>
    tryCall(
      () => metrics?.recordKubeletMetric?.(name, value, ...labels),
      (thrown) =>
        logger.error({ reason: reasonOf(thrown), method: 'metrics.recordKubeletMetric' }, 'User callback threw'),
    );
}

/** Registers the gauges of the caller's metrics, and logs what they throw. @returns unregisters them */
export function registerGauges(
  metrics: Partial<AgentMetrics> | undefined,
  logger: Logger,
  read: () => AgentGauges,
): (() => void) | undefined {
  return tryCall(
    () => metrics?.registerAgentGauges?.(read),
    (thrown) =>
      logger.error({ reason: reasonOf(thrown), method: 'metrics.registerAgentGauges' }, 'User callback threw'),
  );
}
