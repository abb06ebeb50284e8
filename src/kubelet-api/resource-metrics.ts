import type { CPUStats, MemoryStats, SwapStats } from '../node/index.ts';
import { epochMsOf } from '../shared/time.ts';
import type { Summary } from './stats-summary.ts';

interface Family {
  readonly type: 'counter' | 'gauge';
  readonly help: string;
}

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
} as const satisfies Record<string, Family>;

type FamilyName = keyof typeof families;
type Labels = Readonly<Record<string, string>>;
interface Usage {
  readonly cpu?: CPUStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
}

/** `/metrics/resource` in the text format of Prometheus. @param summary undefined if it could not be read */
export function resourceMetrics(summary: Summary | undefined): string {
  const lines = new Map<FamilyName, string[]>();
  const add = (name: FamilyName, value: number | undefined, labels: Labels = {}, time?: string): void => {
    if (value === undefined) return;
    const timestamp = time === undefined ? '' : ` ${epochMsOf(time)}`;
    const line = `${name}${formatLabels(labels)} ${value}${timestamp}`;
    lines.set(name, [...(lines.get(name) ?? []), line]);
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
  return Object.entries(families)
    .flatMap(([name, { type, help }]) => {
      const samples = lines.get(name as FamilyName) ?? [];
      return samples.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples];
    })
    .join('\n')
    .concat('\n');
}

/** Names of pods, namespaces and containers need no escapes. */
function formatLabels(labels: Labels): string {
  const texts = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return texts.length === 0 ? '' : `{${texts.join(',')}}`;
}
