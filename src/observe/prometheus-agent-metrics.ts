import { Counter, Histogram } from 'prom-client';
import type { AgentGauges, AgentMetrics } from './agent-metrics.ts';
import { type KubeletMetric, type KubeletMetricRow, kubeletMetrics } from './kubelet-metrics.ts';
import {
  GreatestGauge,
  metricIn,
  type MetricsRegistry,
  type Sample,
  SourcedCounter,
  SourcedGauge,
  type SourcedMetric,
  sourcedMetricsIn,
} from './sourced-metrics.ts';

const agentGauges: readonly SourcedMetric<AgentGauges>[] = [
  {
    Kind: GreatestGauge,
    name: 'kubelet_node_agent_relist_age_seconds',
    help: 'Seconds since the pods of the container runtime were last listed.',
    read: ({ relistAgeSeconds }) => relistAgeSeconds,
  },
  {
    Kind: GreatestGauge,
    name: 'kubelet_node_agent_lease_age_seconds',
    help: 'Seconds since the Lease of the Node was last renewed.',
    read: ({ leaseAgeSeconds }) => leaseAgeSeconds,
  },
  {
    Kind: GreatestGauge,
    name: 'kubelet_node_agent_lease_duration_seconds',
    help: 'Duration of the Lease of the Node, which is renewed after a quarter of it.',
    read: ({ leaseDurationSeconds }) => leaseDurationSeconds,
  },
  {
    name: 'kubelet_node_agent_node_registered',
    help: '1 when the Node is registered.',
    read: ({ isNodeRegistered }) => isNodeRegistered,
  },
  {
    name: 'kubelet_node_agent_failing_pods',
    help: 'Pods whose last sync failed.',
    read: ({ failingPods }) => failingPods,
  },
  {
    name: 'kubelet_node_agent_refused_manifests',
    help: 'Manifests of static pods that are invalid.',
    read: ({ refusedManifests }) => refusedManifests,
  },
  { name: 'kubelet_running_pods', help: 'Pods with a running sandbox.', read: ({ runningPods }) => runningPods },
  {
    name: 'kubelet_running_containers',
    help: 'Containers in the runtime, by state.',
    labels: ['container_state'],
    read: ({ containers }) =>
      containers && Object.entries(containers).map(([state, value]) => ({ labels: { container_state: state }, value })),
  },
  {
    name: 'kubelet_node_agent_virtual_nodes',
    help: 'Virtual nodes that run in this process.',
    read: ({ provider }) => provider?.nodes,
  },
  {
    name: 'kubelet_node_agent_provider_calls_in_progress',
    help: 'Calls of the provider that have not ended.',
    read: ({ provider }) => provider?.callsInProgress,
  },
  {
    name: 'kubelet_node_agent_provider_queued_calls',
    help: 'Calls of the provider that wait because too many others are in progress.',
    read: ({ provider }) => provider?.queuedCalls,
  },
  {
    Kind: GreatestGauge,
    name: 'kubelet_node_agent_provider_longest_queued_seconds',
    help: 'How long the oldest queued call of the provider has waited.',
    read: ({ provider }) => provider?.longestQueuedSeconds,
  },
  {
    Kind: GreatestGauge,
    name: 'kubelet_node_agent_provider_list_failing_seconds',
    help: 'Seconds since lists of the pods of the provider fail; absent while they succeed.',
    read: ({ provider }) => provider?.listFailingSeconds,
  },
  {
    Kind: GreatestGauge,
    name: 'kubelet_node_agent_provider_unlisted_seconds',
    help: 'Seconds since the provider accepted the oldest of the pods that it does not list; absent if it lists all.',
    read: ({ provider }) => provider?.unlistedSeconds,
  },
  {
    name: 'kubelet_node_agent_provider_invalid_list',
    help: '1 while the last list of the provider has an invalid pod.',
    read: ({ provider }) => provider?.hasInvalidPods,
  },
  {
    name: 'kubelet_node_agent_replica_member',
    help: '1 while this replica may own virtual nodes, because its Lease is renewed in time.',
    read: ({ replica }) => replica?.isMember,
  },
  {
    name: 'kubelet_node_agent_replica_owned_nodes',
    help: 'Virtual nodes that this replica owns.',
    read: ({ replica }) => replica?.ownedNodes,
  },
  {
    Kind: SourcedCounter,
    name: 'kubelet_node_agent_replica_taken_nodes_total',
    help: 'How often this replica has taken a virtual node.',
    read: ({ replica }) => replica?.takenNodes,
  },
  {
    Kind: GreatestGauge,
    name: 'kubelet_node_agent_replica_renewal_age_seconds',
    help: 'Seconds since this replica had renewed its Lease and listed those of all replicas.',
    read: ({ replica }) => replica?.renewalAgeSeconds,
  },
];

/** The metrics of an agent in a registry. */
export function agentMetricsIn(register: MetricsRegistry): AgentMetrics {
  const addAgentGauges = sourcedMetricsIn(register, agentGauges);
  const evictions = metricIn(register, Counter<'eviction_signal'>, {
    name: 'kubelet_evictions',
    help: 'Pods that were evicted.',
    labelNames: ['eviction_signal'],
  });
  const clearGauges: (() => void)[] = [];
  const kubelet = Object.fromEntries(
    Object.entries(kubeletMetrics).map(([name, row]) => [name, recorderIn(register, name, row, clearGauges)]),
  ) as Record<KubeletMetric, KubeletRecorder>;
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
      const remove = addAgentGauges(readGauges);
      return () => [remove, ...clearGauges].forEach((call) => call());
    },
  };
}

type KubeletRecorder = (value: number, labels: readonly string[]) => void;

/** Registers a metric of the kubelet, and returns what records a value of it. A gauge adds to `clearGauges`. */
function recorderIn(
  register: MetricsRegistry,
  name: string,
  { type, help, labels: labelNames, buckets = [], isMaximum = false }: KubeletMetricRow,
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
