import { Counter, Histogram } from 'prom-client';
import type { AgentGauges, AgentMetrics } from './agent-metrics.ts';
import { type KubeletMetric, type KubeletMetricRow, kubeletMetrics } from './kubelet-metrics.ts';
import {
  counter,
  greatest,
  GreatestGauge,
  metricIn,
  type MetricsRegistry,
  type Sample,
  SourcedGauge,
  type SourcedMetrics,
  sum,
  sourcedMetricsIn,
} from './sourced-metrics.ts';

const agentGauges: SourcedMetrics<AgentGauges> = {
  kubelet_node_agent_relist_age_seconds: greatest(
    'Seconds since the pods of the container runtime were last listed.',
    ({ relistAgeSeconds }) => relistAgeSeconds,
  ),
  kubelet_node_agent_lease_age_seconds: greatest(
    'Seconds since the Lease of the Node was last renewed.',
    ({ leaseAgeSeconds }) => leaseAgeSeconds,
  ),
  kubelet_node_agent_lease_duration_seconds: greatest(
    'Duration of the Lease of the Node, which is renewed after a quarter of it.',
    ({ leaseDurationSeconds }) => leaseDurationSeconds,
  ),
  kubelet_node_agent_node_registered: sum('1 when the Node is registered.', ({ isNodeRegistered }) => isNodeRegistered),
  kubelet_node_agent_failing_pods: sum('Pods whose last sync failed.', ({ failingPods }) => failingPods),
  kubelet_node_agent_refused_manifests: sum(
    'Manifests of static pods that are invalid.',
    ({ refusedManifests }) => refusedManifests,
  ),
  kubelet_running_pods: sum('Pods with a running sandbox.', ({ runningPods }) => runningPods),
  kubelet_running_containers: sum(
    'Containers in the runtime, by state.',
    ({ containers }) =>
      containers && Object.entries(containers).map(([state, value]) => ({ labels: { container_state: state }, value })),
    ['container_state'],
  ),
  kubelet_node_agent_virtual_nodes: sum('Virtual nodes that run in this process.', ({ provider }) => provider?.nodes),
  kubelet_node_agent_provider_calls_in_progress: sum(
    'Calls of the provider that have not ended.',
    ({ provider }) => provider?.callsInProgress,
  ),
  kubelet_node_agent_provider_queued_calls: sum(
    'Calls of the provider that wait because too many others are in progress.',
    ({ provider }) => provider?.queuedCalls,
  ),
  kubelet_node_agent_provider_longest_queued_seconds: greatest(
    'How long the oldest queued call of the provider has waited.',
    ({ provider }) => provider?.longestQueuedSeconds,
  ),
  kubelet_node_agent_provider_list_failing_seconds: greatest(
    'Seconds since lists of the pods of the provider fail; absent while they succeed.',
    ({ provider }) => provider?.listFailingSeconds,
  ),
  kubelet_node_agent_provider_unlisted_seconds: greatest(
    'Seconds since the provider accepted the oldest of the pods that it does not list; absent if it lists all.',
    ({ provider }) => provider?.unlistedSeconds,
  ),
  kubelet_node_agent_provider_invalid_list: sum(
    '1 while the last list of the provider has an invalid pod.',
    ({ provider }) => provider?.hasInvalidPods,
  ),
  kubelet_node_agent_replica_member: sum(
    '1 while this replica may own virtual nodes, because its Lease is renewed in time.',
    ({ replica }) => replica?.isMember,
  ),
  kubelet_node_agent_replica_owned_nodes: sum(
    'Virtual nodes that this replica owns.',
    ({ replica }) => replica?.ownedNodes,
  ),
  kubelet_node_agent_replica_taken_nodes_total: counter(
    'How often this replica has taken a virtual node.',
    ({ replica }) => replica?.takenNodes,
  ),
  kubelet_node_agent_replica_renewal_age_seconds: greatest(
    'Seconds since this replica had renewed its Lease and listed those of all replicas.',
    ({ replica }) => replica?.renewalAgeSeconds,
  ),
};

/** The metrics of an agent in a registry. */
export function agentMetricsIn(register: MetricsRegistry): AgentMetrics {
  const addAgentGauges = sourcedMetricsIn(register, agentGauges);
  const clearGauges: (() => void)[] = [];
  const kubelet = Object.fromEntries(
    Object.entries(kubeletMetrics).map(([name, row]) => [name, recorderIn(register, name, row, clearGauges)]),
  ) as Record<KubeletMetric, KubeletRecorder>;
  return {
    recordKubeletMetric: (name, value, ...labels) => kubelet[name](value, labels),
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
    const total = metricIn(register, Counter, configuration);
    return (value, labels) => total.inc(labelsOf(labels), value);
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
