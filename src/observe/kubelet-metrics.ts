export interface KubeletMetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
  /** For a gauge: the maximum over all agents in a registry. Default: their sum. */
  readonly isMaximum?: boolean;
}

/** Source: Prometheus `DefBuckets`. */
const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const runtimeBuckets = Array.from({ length: 14 }, (_, i) => Number((0.005 * 2.5 ** i).toPrecision(6)));
/** Source: kubelet `imagePullDurationBuckets`. */
const imagePullBuckets = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];
/** Source: kubelet `podStartupDurationBuckets`. */
const podStartBuckets = [
  ...[0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
];

function counter<const Labels extends readonly string[]>(help: string, ...labels: Labels) {
  return { type: 'counter', help, labels } as const;
}

function gauge<const Labels extends readonly string[]>(help: string, ...labels: Labels) {
  return { type: 'gauge', help, labels } as const;
}

function maximum(help: string) {
  return { ...gauge(help), isMaximum: true } as const;
}

function histogram<const Labels extends readonly string[]>(
  buckets: readonly number[],
  help: string,
  ...labels: Labels
) {
  return { type: 'histogram', help, labels, buckets } as const;
}

/**
 * The kubelet's own metrics that an agent has, and in the same form those of virtual nodes and the kubelet API, by name
 * without `kubelet_`.
 * Source: kubelet `pkg/kubelet/metrics`.
 */
export const kubeletMetrics = {
  evictions: counter('Pods that were evicted.', 'eviction_signal'),
  runtime_operations_total: counter('Calls of the container runtime.', 'operation_type'),
  runtime_operations_errors_total: counter('Calls of the container runtime that failed.', 'operation_type'),
  runtime_operations_duration_seconds: histogram(
    runtimeBuckets,
    'Duration of calls of the container runtime.',
    'operation_type',
  ),
  pleg_relist_duration_seconds: histogram(
    defaultBuckets,
    'Duration of the lists of all pods of the container runtime.',
  ),
  pleg_relist_interval_seconds: histogram(
    defaultBuckets,
    'Time from the start of the last successful list of all pods of the container runtime to the next list.',
  ),
  pleg_pod_relist_duration_seconds: histogram(
    defaultBuckets,
    'Duration of the reads of one pod of the container runtime.',
  ),
  pleg_last_seen_seconds: maximum(
    'When the last successful list of all pods of the container runtime began, as a Unix time.',
  ),
  containers_per_pod_count: histogram([1, 2, 4, 8, 16], 'Containers of a pod, at each of its syncs.'),
  pod_worker_duration_seconds: histogram(defaultBuckets, 'Duration of the syncs of a pod.', 'operation_type'),
  pod_worker_start_duration_seconds: histogram(defaultBuckets, 'Time from when a pod is first seen to its first sync.'),
  pod_start_duration_seconds: histogram(
    podStartBuckets,
    'Time from when a pod is first seen to its first status, and to its phase Running.',
  ),
  started_pods_total: counter('Attempts to create the sandbox of a pod.'),
  started_pods_errors_total: counter('Failed attempts to create the sandbox of a pod.'),
  started_containers_total: counter('Attempts to start a container.', 'container_type'),
  started_containers_errors_total: counter('Failed attempts to start a container.', 'container_type', 'code'),
  image_pull_duration_seconds: histogram(
    imagePullBuckets,
    'Duration of successful pulls of images, including the wait for other pulls.',
    'image_size_in_bytes',
  ),
  image_garbage_collected_total: counter('Images that were removed because no container used them.', 'reason'),
  preemptions: counter('Pods that were killed to free resources for a critical pod.', 'preemption_signal'),
  admission_rejections_total: counter('Pods that were not admitted.', 'reason'),
  desired_pods: gauge('Pods that should run, without mirror pods.', 'static'),
  active_pods: gauge('Pods that use resources of the node.', 'static'),
  mirror_pods: gauge('Mirror pods.'),
  working_pods: gauge('Pods that have a worker.', 'lifecycle', 'config', 'static'),
  restarted_pods_total: counter(
    'Pods that were started again because they were deleted and created with the same UID.',
    'static',
  ),
  orphaned_runtime_pods_total: counter(
    'Pods that were killed because only the container runtime, or the provider, knew them.',
  ),
  node_agent_provider_calls_total: counter('Calls of the provider of virtual nodes.', 'operation', 'result'),
  // Those of `prober_probe_total`, in /metrics/probes of the kubelet, are of each container.
  node_agent_probes_total: counter('Probes that were run, as often as they were run.', 'probe_type', 'result'),
  node_agent_lost_pods_total: counter('Pods that the provider had and no longer listed.'),
  cgroup_version: maximum('The version of the cgroups of the machine: 1 or 2.'),
  node_agent_rejected_reviews_total: counter(
    'Requests to the kubelet API that were refused because too many reviews were pending.',
    'resource',
  ),
} satisfies Readonly<Record<string, KubeletMetricRow>>;

export type KubeletMetric = keyof typeof kubeletMetrics;

/** The values of the labels of a row, in their order. */
type LabelValues<Labels extends readonly string[]> = { [Index in keyof Labels]: string };

/** One value of a metric. */
type Measurement = {
  [Name in KubeletMetric]: [name: Name, value: number, ...labels: LabelValues<(typeof kubeletMetrics)[Name]['labels']>];
}[KubeletMetric];

/** Adds `value` to a counter, observes it in a histogram, or sets a gauge to it. A label that is missing does not compile. */
export type RecordKubeletMetric = (...measurement: Measurement) => void;

const mebi = 2 ** 20;
const gibi = 2 ** 30;
/** Sizes of images in bytes, each with the label of larger ones. Source: kubelet `imageSizeBuckets`. */
const imageSizeBuckets = [
  [100 * gibi, 'GT100GB'],
  [60 * gibi, '60GB-100GB'],
  [40 * gibi, '40GB-60GB'],
  [30 * gibi, '30GB-40GB'],
  [20 * gibi, '20GB-30GB'],
  [10 * gibi, '10GB-20GB'],
  [5 * gibi, '5GB-10GB'],
  [gibi, '1GB-5GB'],
  [500 * mebi, '500MB-1GB'],
  [100 * mebi, '100MB-500MB'],
  [10 * mebi, '10MB-100MB'],
  [0, '0-10MB'],
] as const;

/** The label of `image_pull_duration_seconds`. Source: kubelet `GetImageSizeBucket`. */
export function imageSizeBucket(sizeBytes = 0): string {
  return imageSizeBuckets.find(([lowerBoundBytes]) => sizeBytes > lowerBoundBytes)?.[1] ?? 'N/A';
}
