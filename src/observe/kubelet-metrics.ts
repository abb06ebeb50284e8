export interface KubeletMetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Default: none. */
  readonly labels?: readonly string[];
  /** Upper bounds, of a histogram. */
  readonly buckets?: readonly number[];
  /** Of a gauge: the maximum of all agents in a registry. Default: their sum. */
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

/**
 * The kubelet's own metrics that an agent has, by name without `kubelet_`. Source: kubelet `pkg/kubelet/metrics`.
 */
export const kubeletMetrics = {
  runtime_operations_total: { type: 'counter', help: 'Calls of the container runtime.', labels: ['operation_type'] },
  runtime_operations_errors_total: {
    type: 'counter',
    help: 'Calls of the container runtime that failed.',
    labels: ['operation_type'],
  },
  runtime_operations_duration_seconds: {
    type: 'histogram',
    help: 'Duration of calls of the container runtime.',
    labels: ['operation_type'],
    buckets: runtimeBuckets,
  },
  pleg_relist_duration_seconds: {
    type: 'histogram',
    help: 'Duration of the lists of all pods of the container runtime.',
    buckets: defaultBuckets,
  },
  pleg_relist_interval_seconds: {
    type: 'histogram',
    help: 'Time from the start of the last successful list of all pods of the container runtime to the next list.',
    buckets: defaultBuckets,
  },
  pleg_pod_relist_duration_seconds: {
    type: 'histogram',
    help: 'Duration of the reads of one pod of the container runtime.',
    buckets: defaultBuckets,
  },
  pleg_last_seen_seconds: {
    type: 'gauge',
    help: 'When the last successful list of all pods of the container runtime began, as a Unix time.',
    isMaximum: true,
  },
  containers_per_pod_count: {
    type: 'histogram',
    help: 'Containers of a pod, at each of its syncs.',
    buckets: [1, 2, 4, 8, 16],
  },
  pod_worker_duration_seconds: {
    type: 'histogram',
    help: 'Duration of the syncs of a pod.',
    labels: ['operation_type'],
    buckets: defaultBuckets,
  },
  pod_worker_start_duration_seconds: {
    type: 'histogram',
    help: 'Time from when a pod is first seen to its first sync.',
    buckets: defaultBuckets,
  },
  pod_start_duration_seconds: {
    type: 'histogram',
    help: 'Time from when a pod is first seen to its first status, and to its phase Running.',
    buckets: podStartBuckets,
  },
  started_pods_total: { type: 'counter', help: 'Sandboxes of pods that were to be created.' },
  started_pods_errors_total: { type: 'counter', help: 'Sandboxes of pods that could not be created.' },
  started_containers_total: {
    type: 'counter',
    help: 'Containers that were to be started.',
    labels: ['container_type'],
  },
  started_containers_errors_total: {
    type: 'counter',
    help: 'Containers that could not be started.',
    labels: ['container_type', 'code'],
  },
  image_pull_duration_seconds: {
    type: 'histogram',
    help: 'Duration of successful pulls of images, including the wait for other pulls.',
    labels: ['image_size_in_bytes'],
    buckets: imagePullBuckets,
  },
  image_garbage_collected_total: {
    type: 'counter',
    help: 'Images that were removed because no container used them.',
    labels: ['reason'],
  },
  preemptions: {
    type: 'counter',
    help: 'Pods that were killed to free resources for a critical pod.',
    labels: ['preemption_signal'],
  },
  admission_rejections_total: { type: 'counter', help: 'Pods that were not admitted.', labels: ['reason'] },
  desired_pods: { type: 'gauge', help: 'Pods that should run, without mirror pods.', labels: ['static'] },
  active_pods: { type: 'gauge', help: 'Pods that use resources of the node.', labels: ['static'] },
  mirror_pods: { type: 'gauge', help: 'Mirror pods.' },
  working_pods: { type: 'gauge', help: 'Pods that have a worker.', labels: ['lifecycle', 'config', 'static'] },
  restarted_pods_total: {
    type: 'counter',
    help: 'Pods that were started again because they were deleted and created with the same UID.',
    labels: ['static'],
  },
  orphaned_runtime_pods_total: {
    type: 'counter',
    help: 'Pods that were killed because only the container runtime knew them.',
  },
  cgroup_version: { type: 'gauge', help: 'The version of the cgroups of the machine: 1 or 2.', isMaximum: true },
} as const satisfies Readonly<Record<string, KubeletMetricRow>>;

export type KubeletMetric = keyof typeof kubeletMetrics;

/** The values of the labels of a row, in their order. */
type LabelValues<Row> = Row extends { readonly labels: infer Labels extends readonly string[] }
  ? { [Index in keyof Labels]: string }
  : [];

/** One value of a metric. */
type Measurement = {
  [Name in KubeletMetric]: [name: Name, value: number, ...labels: LabelValues<(typeof kubeletMetrics)[Name]>];
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
