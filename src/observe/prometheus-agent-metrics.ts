import { Counter, Histogram } from 'prom-client';
import type { AgentGauges, AgentMetrics } from './agent-metrics.ts';
import { type KubeletMetric, type KubeletMetricRow, kubeletMetrics } from './kubelet-metrics.ts';
import {
  GreatestGauge,
  metricIn,
  type MetricsRegistry,
  oncePerTurn,
  type Sample,
  SourcedGauge,
  valueIfDefined,
} from './sourced-metrics.ts';

const ages = [
  [
    'kubelet_node_agent_relist_age_seconds',
    'Seconds since the pods of the container runtime were last listed.',
    ({ relistAgeSeconds }) => relistAgeSeconds,
  ],
  [
    'kubelet_node_agent_lease_age_seconds',
    'Seconds since the Lease of the Node was last renewed.',
    ({ leaseAgeSeconds }) => leaseAgeSeconds,
  ],
  [
    'kubelet_node_agent_lease_duration_seconds',
    'Duration of the Lease of the Node, which is renewed after a quarter of it.',
    ({ leaseDurationSeconds }) => leaseDurationSeconds,
  ],
] as const satisfies readonly AgentGauge[];

const counts = [
  ['kubelet_node_agent_node_registered', '1 when the Node is registered.', ({ isNodeRegistered }) => isNodeRegistered],
  ['kubelet_node_agent_failing_pods', 'Pods whose last sync failed.', ({ failingPods }) => failingPods],
  [
    'kubelet_node_agent_refused_manifests',
    'Manifests of static pods that are invalid.',
    ({ refusedManifests }) => refusedManifests,
  ],
  ['kubelet_running_pods', 'Pods with a running sandbox.', ({ runningPods }) => runningPods],
] as const satisfies readonly AgentGauge[];

type AgentGauge = readonly [name: string, help: string, read: (gauges: AgentGauges) => number | boolean | undefined];

/** The metrics of an agent in a registry. */
export function agentMetricsIn(register: MetricsRegistry): AgentMetrics {
  const gaugesOf = (Kind: typeof SourcedGauge, all: readonly AgentGauge[]) =>
    all.map(([name, help, read]) => [metricIn(register, Kind, { name, help }), read] as const);
  const metrics = [...gaugesOf(GreatestGauge, ages), ...gaugesOf(SourcedGauge, counts)];
  const evictions = metricIn(register, Counter<'eviction_signal'>, {
    name: 'kubelet_evictions',
    help: 'Pods that were evicted.',
    labelNames: ['eviction_signal'],
  });
  const clearGauges: (() => void)[] = [];
  const kubelet = Object.fromEntries(
    Object.entries(kubeletMetrics).map(([name, row]) => [name, recorderIn(register, name, row, clearGauges)]),
  ) as Record<KubeletMetric, KubeletRecorder>;
  const containers = metricIn(register, SourcedGauge, {
    name: 'kubelet_running_containers',
    help: 'Containers in the runtime, by state.',
    labelNames: ['container_state'],
  });
  const rejectedReviews = metricIn(register, Counter<'resource'>, {
    name: 'kubelet_node_agent_rejected_reviews_total',
    help: 'Requests to the kubelet API that were refused because too many reviews were pending.',
    labelNames: ['resource'],
  });
  return {
    recordKubeletMetric: (name, value, ...labels) => kubelet[name](value, labels),
    incRejectedReviews: (resource) => rejectedReviews.inc({ resource }),
    incEvictions: (signal) => evictions.inc({ eviction_signal: signal }),
    registerAgentGauges(readGauges) {
      const gauges = oncePerTurn(readGauges);
      const removals = metrics.map(([metric, read]) => metric.addSource(() => valueIfDefined(read(gauges()))));
      removals.push(
        containers.addSource(() =>
          Object.entries(gauges().containers).map(([state, value]) => ({ labels: { container_state: state }, value })),
        ),
      );
      return () => [...removals, ...clearGauges].forEach((remove) => remove());
    },
  };
}

type KubeletRecorder = (value: number, labels: readonly string[]) => void;

/** Registers a metric of the kubelet, and returns what records a value of it. A gauge adds to `clearGauges`. */
function recorderIn(
  register: MetricsRegistry,
  name: string,
  { type, help, labels: labelNames = [], buckets = [], isMaximum = false }: KubeletMetricRow,
  clearGauges: (() => void)[],
): KubeletRecorder {
  const configuration = { name: `kubelet_${name}`, help, labelNames: [...labelNames] };
  const labelsOf = (values: readonly string[]): Record<string, string> =>
    Object.fromEntries(labelNames.map((label, index) => [label, values[index] ?? '']));
  if (type === 'counter') {
    const counter = metricIn(register, Counter, configuration);
    return (value, labels) => counter.inc(labelsOf(labels), value);
  }
  if (type === 'histogram') {
    const histogram = metricIn(register, Histogram, { ...configuration, buckets: [...buckets] });
    return (value, labels) => histogram.observe(labelsOf(labels), value);
  }
  const samples = new Map<string, Sample<string>>();
  const gauge = metricIn(register, isMaximum ? GreatestGauge : SourcedGauge, configuration);
  gauge.addSource(() => [...samples.values()]);
  clearGauges.push(() => samples.clear());
  return (value, labels) => void samples.set(labels.join(), { labels: labelsOf(labels), value });
}
