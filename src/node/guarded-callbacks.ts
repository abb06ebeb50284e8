import type { AgentGauges, AgentMetrics } from '../observe/agent-metrics.ts';
import type { KubeletMetric, RecordKubeletMetric } from '../observe/kubelet-metrics.ts';
import { guarded } from '../shared/guarded.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';
import type { EventRecorder } from './events/event-recorder.ts';

/** Logs errors that the caller's recorder throws. */
export function guardedEventRecorder(eventRecorder: EventRecorder, logger: Logger): EventRecorder {
  return guarded<EventRecorder>(eventRecorder, ['event'], thrownLogger('eventRecorder', logger));
}

/** Logs errors that the caller's metrics throw. */
export function guardedMetrics(metrics: Partial<AgentMetrics> | undefined, logger: Logger): AgentMetrics {
  const methods = ['incEvictions', 'incRejectedReviews', 'recordKubeletMetric', 'registerAgentGauges'] as const;
  return guarded<AgentMetrics>(metrics ?? {}, methods, thrownLogger('metrics', logger));
}

export function guardedRecordMetric(metrics: Partial<AgentMetrics> | undefined, logger: Logger): RecordKubeletMetric {
  const guardedPort = guardedMetrics(metrics, logger);
  return (name: KubeletMetric, value: number, ...labels: readonly string[]) =>
    guardedPort.recordKubeletMetric(name, value, ...labels);
}

/** Registers the gauges of the caller's metrics. @returns unregisters them */
export function registerGauges(
  metrics: Partial<AgentMetrics> | undefined,
  logger: Logger,
  read: () => AgentGauges,
): (() => void) | undefined {
  return guardedMetrics(metrics, logger).registerAgentGauges(read);
}

function thrownLogger(port: string, logger: Logger) {
  return (thrown: unknown, method: string): void =>
    logger.error({ reason: reasonOf(thrown), method: `${port}.${method}` }, 'User callback threw');
}
