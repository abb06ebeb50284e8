import type { CPUStats, MemoryStats, SwapStats } from '../node/index.ts';
import { MetricFamilies, type MetricFamily } from './metric-families.ts';
import { epochMsOf } from '../shared/time.ts';
import type { Summary } from './stats-summary.ts';

/** Source: kubelet `resource_metrics.go`. */
const families = {
  node_cpu_usage_seconds_total: { type: 'counter', help: 'Cumulative CPU time of the node in core-seconds' },
  node_memory_working_set_bytes: { type: 'gauge', help: 'Working set of the node in bytes' },
  node_swap_usage_bytes: { type: 'gauge', help: 'Swap usage of the node in bytes' },
  container_start_time_seconds: { type: 'gauge', help: 'Start time of the container in seconds since the epoch' },
  container_cpu_usage_seconds_total: { type: 'counter', help: 'Cumulative CPU time of the container in core-seconds' },
  container_memory_working_set_bytes: { type: 'gauge', help: 'Working set of the container in bytes' },
  container_swap_usage_bytes: { type: 'gauge', help: 'Swap usage of the container in bytes' },
  container_swap_limit_bytes: { type: 'gauge', help: 'Swap limit of the container in bytes' },
  pod_cpu_usage_seconds_total: { type: 'counter', help: 'Cumulative CPU time of the pod in core-seconds' },
  pod_memory_working_set_bytes: { type: 'gauge', help: 'Working set of the pod in bytes' },
  pod_swap_usage_bytes: { type: 'gauge', help: 'Swap usage of the pod in bytes' },
  resource_scrape_error: { type: 'gauge', help: '1 if the statistics could not be read, 0 otherwise' },
  scrape_error: { type: 'gauge', help: '1 if the statistics could not be read, 0 otherwise' },
} as const satisfies Record<string, MetricFamily>;

type Labels = Readonly<Record<string, string>>;
interface Usage {
  readonly cpu?: CPUStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
}

/** `/metrics/resource` in the text format of Prometheus. @param summary undefined if it could not be read */
export function resourceMetrics(summary: Summary | undefined): string {
  const metrics = new MetricFamilies(families);
  const add = (name: keyof typeof families, value: number | undefined, labels: Labels = {}, time?: string): void => {
    if (value !== undefined) metrics.add(name, value, labels, time === undefined ? undefined : epochMsOf(time));
  };
  const addUsage = (prefix: 'node' | 'container' | 'pod', { cpu, memory, swap }: Usage, labels: Labels): void => {
    const nanoseconds = cpu?.usageCoreNanoSeconds;
    add(`${prefix}_cpu_usage_seconds_total`, nanoseconds && nanoseconds / 1e9, labels, cpu?.time);
    add(`${prefix}_memory_working_set_bytes`, memory?.workingSetBytes, labels, memory?.time);
    add(`${prefix}_swap_usage_bytes`, swap?.swapUsageBytes, labels, swap?.time);
  };
  if (summary !== undefined) addUsage('node', summary.node, {});
  for (const { podRef, containers, ...pod } of summary?.pods ?? []) {
    const podLabels = { namespace: podRef.namespace, pod: podRef.name };
    for (const container of containers) {
      const labels = { container: container.name, ...podLabels };
      add('container_start_time_seconds', epochMsOf(container.startTime) / 1000, labels);
      addUsage('container', container, labels);
      const { swap } = container;
      if (swap?.swapAvailableBytes !== undefined)
        add('container_swap_limit_bytes', swap.swapAvailableBytes + (swap.swapUsageBytes ?? 0), labels, swap.time);
    }
    addUsage('pod', pod, podLabels);
  }
  add('resource_scrape_error', summary === undefined ? 1 : 0);
  add('scrape_error', summary === undefined ? 1 : 0);
  return metrics.format();
}
