import { Counter } from 'prom-client';
import type { AgentGauges, AgentMetrics } from './agent-metrics.ts';
import {
  GreatestGauge,
  metricIn,
  type MetricsRegistry,
  oncePerTurn,
  SourcedGauge,
  valueIfDefined,
} from './sourced-metrics.ts';

const ages = [
  [
    'relist_age_seconds',
    'Seconds since the pods of the container runtime were last listed.',
    ({ relistAgeSeconds }) => relistAgeSeconds,
  ],
  [
    'lease_age_seconds',
    'Seconds since the Lease of the Node was last renewed.',
    ({ leaseAgeSeconds }) => leaseAgeSeconds,
  ],
  [
    'lease_duration_seconds',
    'The Node becomes NotReady when its Lease is older.',
    ({ leaseDurationSeconds }) => leaseDurationSeconds,
  ],
] as const satisfies readonly AgentGauge[];

const counts = [
  ['node_registered', '1 when the Node is registered.', ({ isNodeRegistered }) => isNodeRegistered],
  ['failing_pods', 'Pods whose last sync failed.', ({ failingPods }) => failingPods],
  ['refused_manifests', 'Manifests of static pods that are invalid.', ({ refusedManifests }) => refusedManifests],
] as const satisfies readonly AgentGauge[];

type AgentGauge = readonly [name: string, help: string, read: (gauges: AgentGauges) => number | boolean | undefined];

/** The metrics of an agent in a registry. */
export function agentMetricsIn(register: MetricsRegistry): AgentMetrics {
  const gaugesOf = (Kind: typeof SourcedGauge, all: readonly AgentGauge[]) =>
    all.map(
      ([name, help, read]) => [metricIn(register, Kind, { name: `kubelet_node_agent_${name}`, help }), read] as const,
    );
  const metrics = [...gaugesOf(GreatestGauge, ages), ...gaugesOf(SourcedGauge, counts)];
  const evictions = metricIn(register, Counter<'eviction_signal'>, {
    name: 'kubelet_evictions',
    help: 'Pods that were evicted.',
    labelNames: ['eviction_signal'],
  });
  const rejectedReviews = metricIn(register, Counter<'resource'>, {
    name: 'kubelet_node_agent_rejected_reviews_total',
    help: 'Requests to the kubelet API that were refused because too many reviews were pending.',
    labelNames: ['resource'],
  });
  return {
    incRejectedReviews: (resource) => rejectedReviews.inc({ resource }),
    incEvictions: (signal) => evictions.inc({ eviction_signal: signal }),
    registerAgentGauges(readGauges) {
      const gauges = oncePerTurn(readGauges);
      const removals = metrics.map(([metric, read]) => metric.addSource(() => valueIfDefined(read(gauges()))));
      return () => removals.forEach((remove) => remove());
    },
  };
}
