import { Counter, Gauge, Histogram } from 'prom-client';
import { version } from '../kube/http/user-agent.ts';
import type { Metrics, PendingResizeCount, StatusGauges } from '../status-manager/metrics.ts';

import type { AgentMetrics } from './agent-metrics.ts';
import { agentMetricsIn } from './prometheus-agent-metrics.ts';
import {
  counter,
  greatest,
  invalidRegister,
  metricIn,
  type MetricsRegistry,
  SourcedGauge,
  type SourcedMetrics,
  sum,
  sourcedMetricsIn,
} from './sourced-metrics.ts';

/**
 * Combinations of exit code and reason that have a time series. Divergence: the kubelet has no limit, but a provider of pods may
 * set any reason.
 */
const maxTerminations = 500;

/** Options of `createPrometheusMetrics`. */
interface PrometheusMetricsOptions {
  /** Where the metrics are registered. Metrics of an earlier call in the same registry are reused. */
  readonly register: MetricsRegistry;
}

const statusGauges: SourcedMetrics<StatusGauges> = {
  kubelet_status_manager_cached_statuses: sum('Pod statuses in the cache.', ({ cachedStatuses }) => cachedStatuses),
  kubelet_status_manager_unsent_statuses: sum(
    'Cached pod statuses whose current version has not been written to the API server.',
    ({ unsentStatuses }) => unsentStatuses,
  ),
  kubelet_status_manager_oldest_unsent_age_seconds: greatest(
    'Seconds since the oldest unsent change of a pod status was made; 0 when nothing is unsent.',
    ({ oldestUnsentAgeSeconds }) => oldestUnsentAgeSeconds,
  ),
  kubelet_status_manager_waiting_pods: sum(
    'Pods whose status or deletion waits, by what it waits for.',
    ({ waitingPods }) => waitingPods.map(({ reason, count }) => ({ labels: { reason }, value: count })),
    ['reason'],
  ),
  kubelet_status_manager_terminating_pods: sum(
    'Pods whose end waits, by what it waits for.',
    ({ terminatingPods }) =>
      terminatingPods.map(({ waitingFor, count }) => ({ labels: { waiting_for: waitingFor }, value: count })),
    ['waiting_for'],
  ),
  kubelet_status_manager_oldest_terminating_age_seconds: greatest(
    'How long the oldest of the terminating pods has waited.',
    ({ terminatingPods }) =>
      terminatingPods.map(({ waitingFor, oldestAgeSeconds }) => ({
        labels: { waiting_for: waitingFor },
        value: oldestAgeSeconds,
      })),
    ['waiting_for'],
  ),
  kubelet_status_manager_rejected_pods: sum(
    'Pods whose newest status was rejected because a container that has ended would run again.',
    ({ rejectedPods }) => rejectedPods,
  ),
  kubelet_status_manager_hot_loop_pods: sum(
    'Pods whose status is changed back again and again after it was written.',
    ({ hotLoopPods }) => hotLoopPods,
  ),
  kubelet_status_manager_outage_age_seconds: greatest(
    'Seconds since no status can be written; absent unless that has lasted 30 s.',
    ({ outage }) => outage && [{ labels: { outcome: outage.outcome, code: outage.code }, value: outage.ageSeconds }],
    ['outcome', 'code'],
  ),
  kubelet_status_manager_journal_failing: sum(
    '1 while statuses cannot be recorded in the journal; absent without a journal.',
    ({ isJournalFailing }) => isJournalFailing,
  ),
  kubelet_status_manager_last_successful_request_age_seconds: greatest(
    'Seconds since the last successful request to the API server; absent before the first one.',
    ({ lastSuccessfulRequestAgeSeconds }) => lastSuccessfulRequestAgeSeconds,
  ),
  kubelet_status_manager_informer_synced: sum(
    '1 when the informer of the pod manager has listed all pods.',
    ({ informer }) => informer?.isSynced,
  ),
  kubelet_status_manager_informer_last_event_age_seconds: greatest(
    'Seconds since the last list, event or bookmark of the informer; absent before the first one.',
    ({ informer }) => informer?.lastEventAgeSeconds,
  ),
  kubelet_status_manager_informer_restarts_total: counter(
    'Lists and watches of the informer that failed and were started again.',
    ({ informer }) => informer?.restarts,
  ),
};

/**
 * `Metrics` implemented with prom-client, an optional peer dependency: the kubelet's names and buckets,
 * and our own metrics named `kubelet_status_manager_…`, and `kubelet_node_agent_…` for `createNodeAgent`;
 * docs/monitoring.md lists them.
 *
 * Create one for each manager. In a registry that several managers share, counters and histograms
 * count for all of them, gauges are the sum, and the oldest unsent age is the greatest.
 *
 * @throws StatusManagerError INVALID_OPTION (path `register`) when `register` is not a registry, or has
 * a metric of another kind with one of the names
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 * import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
 * import { Registry } from 'prom-client';
 *
 * const register = new Registry();
 * const metrics = createPrometheusMetrics({ register });
 * const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false, metrics });
 * console.log(await register.metrics());
 * ```
 */
export function createPrometheusMetrics(options: PrometheusMetricsOptions): Metrics & AgentMetrics {
  const register = registerOf(options);

  const syncDuration = metricIn(register, Histogram, {
    name: 'kubelet_pod_status_sync_duration_seconds',
    help: 'Seconds from the oldest unsent change of a pod status until it is written to the API server.',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  });
  const terminatedContainers = metricIn(register, Counter<'container_type' | 'exit_code' | 'reason'>, {
    name: 'kubelet_terminated_containers_total',
    help: 'Containers that have terminated.',
    labelNames: ['container_type', 'exit_code', 'reason'],
  });
  const terminations = new Set<string>();
  const pendingResizes = metricIn(register, SourcedGauge<'reason' | 'priority_bucket'>, {
    name: 'kubelet_pod_pending_resizes',
    help: 'Pods whose resize is pending.',
    labelNames: ['reason', 'priority_bucket'],
  });
  const inProgressResizes = metricIn(register, SourcedGauge, {
    name: 'kubelet_pod_in_progress_resizes',
    help: 'Pods whose resize is in progress.',
  });
  const deferredResizeDuration = metricIn(register, Histogram<'resolution' | 'priority_bucket'>, {
    name: 'kubelet_pod_deferred_resize_duration_seconds',
    help: 'Seconds that a resize was deferred before it was resolved.',
    labelNames: ['resolution', 'priority_bucket'],
    buckets: [5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600],
  });
  const addStatusGauges = sourcedMetricsIn(register, statusGauges);
  metricIn(register, Gauge<'version'>, {
    name: 'kubelet_status_manager_build_info',
    help: 'Always 1; the label is the version of kubelet-status-manager.',
    labelNames: ['version'],
  }).set({ version }, 1);
  const requests = metricIn(register, Counter<'verb' | 'outcome' | 'code'>, {
    name: 'kubelet_status_manager_requests_total',
    help: 'Requests to the API server.',
    labelNames: ['verb', 'outcome', 'code'],
  });
  const requestDuration = metricIn(register, Histogram<'verb'>, {
    name: 'kubelet_status_manager_request_duration_seconds',
    help: 'How long requests to the API server took, their wait for a connection included.',
    labelNames: ['verb'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  });
  const unsentAtStop = metricIn(register, Counter, {
    name: 'kubelet_status_manager_unsent_at_stop_total',
    help: 'Pod statuses that could not be sent before the deadline of a drain.',
  });
  const refusedUpdates = metricIn(register, Counter<'reason'>, {
    name: 'kubelet_status_manager_refused_updates_total',
    help: 'Updates that the cache refused.',
    labelNames: ['reason'],
  });
  const outcomes = metricIn(register, Counter<'outcome'>, {
    name: 'kubelet_status_manager_outcomes_total',
    help: 'What happened to versions of pod statuses.',
    labelNames: ['outcome'],
  });

  let pending: readonly PendingResizeCount[] = [];
  let inProgress = 0;
  const removeResizeSources = [
    pendingResizes.addSource(() =>
      pending.map(({ reason, priorityBucket, count }) => ({
        labels: { reason, priority_bucket: priorityBucket },
        value: count,
      })),
    ),
    inProgressResizes.addSource(() => [{ labels: {}, value: inProgress }]),
  ];

  return {
    ...agentMetricsIn(register),
    observePodStatusSyncDuration: (seconds) => syncDuration.observe(seconds),
    incTerminatedContainers(containerType, exitCode, reason) {
      const termination = `${exitCode} ${reason}`;
      if (terminations.size < maxTerminations) terminations.add(termination);
      const labels = terminations.has(termination)
        ? { exit_code: exitCode, reason }
        : { exit_code: 'other', reason: 'Other' };
      terminatedContainers.inc({ container_type: containerType, ...labels });
    },
    setPendingResizes: (counts) => void (pending = [...counts]),
    setInProgressResizes: (count) => void (inProgress = count),
    observeDeferredResizeDuration: (resolution, priorityBucket, seconds) =>
      deferredResizeDuration.observe({ resolution, priority_bucket: priorityBucket }, seconds),
    incRequests: (verb, outcome, code) => requests.inc({ verb, outcome, code }),
    observeRequestDuration: (verb, seconds) => requestDuration.observe({ verb }, seconds),
    incUnsentAtStop: (count) => unsentAtStop.inc(count),
    incRefusedUpdates: (reason) => refusedUpdates.inc({ reason }),
    incOutcomes: (outcome) => outcomes.inc({ outcome }),
    registerStatusGauges(readGauges) {
      const remove = addStatusGauges(readGauges);
      return () => [remove, ...removeResizeSources].forEach((call) => call());
    },
  };
}

function registerOf(options: PrometheusMetricsOptions | undefined): MetricsRegistry {
  const register = options?.register;
  if (typeof register?.registerMetric === 'function' && typeof register.getSingleMetric === 'function') return register;
  throw invalidRegister('a prom-client Registry');
}
