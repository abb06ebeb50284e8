import type { AgentGauges, AgentMetrics } from '../observe/agent-metrics.ts';
import type { KubeletMetric, RecordKubeletMetric } from '../observe/kubelet-metrics.ts';
import { guarded } from '../shared/guarded.ts';
import type { Logger } from '../shared/logger.ts';
import { logThrown } from '../shared/ports.ts';
import type { EventRecorder } from './events/event-recorder.ts';

/** Logs errors that the caller's recorder throws. */
export function guardedEventRecorder(eventRecorder: EventRecorder, logger: Logger): EventRecorder {
  return guarded<EventRecorder>(eventRecorder, ['event'], logThrown(logger, 'eventRecorder'));
}

/** Logs errors that the caller's metrics throw. */
function guardedMetrics(metrics: Partial<AgentMetrics> | undefined, logger: Logger): AgentMetrics {
  return guarded<AgentMetrics>(
    metrics ?? {},
    ['recordKubeletMetric', 'registerAgentGauges'],
    logThrown(logger, 'metrics'),
  );
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
