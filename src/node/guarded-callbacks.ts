import type { AgentGauges, AgentMetrics } from '../observe/agent-metrics.ts';
import type { KubeletMetric, RecordKubeletMetric } from '../observe/kubelet-metrics.ts';
import { tryCall } from '../shared/guarded.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';
import type { EventRecorder } from './events/event-recorder.ts';

/** Logs errors that the caller's recorder throws. */
export function guardedEventRecorder(eventRecorder: EventRecorder, logger: Logger): EventRecorder {
  return {
    event(event) {
      try {
        eventRecorder.event(event);
      } catch (thrown) {
        logger.error({ reason: reasonOf(thrown), method: 'eventRecorder.event' }, 'User callback threw');
      }
    },
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
