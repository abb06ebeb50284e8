export interface KubeletMetricRow {
  readonly type: 'counter' | 'histogram';
  readonly help: string;
  readonly label?: string;
  /** Upper bounds in seconds, of a histogram. */
  readonly buckets?: readonly number[];
}

/** Source: Prometheus `DefBuckets`. */
const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const runtimeBuckets = Array.from({ length: 14 }, (_, i) => Number((0.005 * 2.5 ** i).toPrecision(6)));

/**
 * The kubelet's own metrics that an agent has, by name without `kubelet_`. Source: kubelet `pkg/kubelet/metrics`.
 */
export const kubeletMetrics = {
  runtime_operations_total: { type: 'counter', help: 'Calls of the container runtime.', label: 'operation_type' },
  runtime_operations_errors_total: {
    type: 'counter',
    help: 'Calls of the container runtime that failed.',
    label: 'operation_type',
  },
  runtime_operations_duration_seconds: {
    type: 'histogram',
    help: 'Duration of calls of the container runtime.',
    label: 'operation_type',
    buckets: runtimeBuckets,
  },
  pleg_relist_duration_seconds: {
    type: 'histogram',
    help: 'Duration of the lists of all pods of the container runtime.',
    buckets: defaultBuckets,
  },
  pod_worker_duration_seconds: {
    type: 'histogram',
    help: 'Duration of the syncs of a pod.',
    label: 'operation_type',
    buckets: defaultBuckets,
  },
  preemptions: {
    type: 'counter',
    help: 'Pods that were killed to free resources for a critical pod.',
    label: 'preemption_signal',
  },
  admission_rejections_total: { type: 'counter', help: 'Pods that were not admitted.', label: 'reason' },
} as const satisfies Readonly<Record<string, KubeletMetricRow>>;

export type KubeletMetric = keyof typeof kubeletMetrics;

/** Adds `value` to a counter, or observes it in a histogram. `label` is the value of the metric's label. */
export type RecordKubeletMetric = (name: KubeletMetric, value: number, label?: string) => void;
