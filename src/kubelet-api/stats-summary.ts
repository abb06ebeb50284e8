import {
  type CallOptions,
  type ContainerStats,
  type CPUStats,
  type ImageFsStats,
  type NodeStats,
  nodeStats,
  type PodStats,
} from '../node/index.ts';
import { epochMsOf } from '../shared/time.ts';
import type { KubeletAPIContext } from './kubelet-api-context.ts';

/** Source: `stats/v1alpha1.Summary`. */
export interface Summary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

/** A sample is kept for this long, so that frequent requests do not make the average jump. Source: kubelet eviction manager */
const samplePeriodMs = 10_000;

interface Sample {
  readonly timeMs: number;
  readonly nanoseconds: number;
  readonly nanoCores?: number | undefined;
}

/** Source: kubelet `summaryProviderImpl`. */
export class SummaryProvider {
  readonly #context: KubeletAPIContext;
  /** Node, pod or container → its CPU time at an earlier request. */
  #samples = new Map<string, Sample>();

  constructor(context: KubeletAPIContext) {
    this.#context = context;
  }

  /** Rejects if the runtime does not respond. */
  async get(options: CallOptions): Promise<Summary> {
    const { runtime, agent, clock } = this.#context;
    const [pods = [], imageFs, node] = await Promise.all([
      runtime.listPodStats?.(options),
      runtime.imageFsStats?.(options),
      agent.nodeStats?.(clock.now()) ?? nodeStats(agent.nodeName, clock.now()),
    ]);
    return this.#withNanoCores(node, pods, imageFs);
  }

  #withNanoCores(
    node: Omit<NodeStats, 'runtime'>,
    pods: readonly PodStats[],
    runtime: ImageFsStats | undefined,
  ): Summary {
    const samples = new Map<string, Sample>();
    const nowMs = this.#context.clock.now();
    const fill = <Stats extends { readonly cpu?: CPUStats | undefined }>(key: string, stats: Stats): Stats => {
      const { cpu } = stats;
      if (cpu?.usageCoreNanoSeconds === undefined || cpu.usageNanoCores !== undefined) return stats;
      const sample = nextSample(this.#samples.get(key), {
        timeMs: measuredAtMs(cpu.time, nowMs),
        nanoseconds: cpu.usageCoreNanoSeconds,
      });
      samples.set(key, sample);
      return { ...stats, cpu: { ...cpu, usageNanoCores: sample.nanoCores } };
    };
    const fillContainers = (key: string, list: readonly ContainerStats[]): ContainerStats[] =>
      list.map((one) => fill(`${key}/${one.name}/${epochMsOf(one.startTime)}`, one));
    const summary = {
      node: {
        ...fill('', node),
        systemContainers: fillContainers('', node.systemContainers),
        ...(runtime && { runtime }),
      },
      pods: pods.map((pod) => ({
        ...fill(pod.podRef.uid, pod),
        containers: fillContainers(pod.podRef.uid, pod.containers),
      })),
    };
    // Forget pods and containers that are gone.
    this.#samples = samples;
    return summary;
  }
}

/** For `only_cpu_and_memory`. Source: kubelet `GetCPUAndMemoryStats` */
export function cpuAndMemoryOf({ node, pods }: Summary): Summary {
  const containersOf = (list: readonly ContainerStats[]): ContainerStats[] =>
    list.map(({ name, startTime, cpu, memory, swap }) => ({ name, startTime, cpu, memory, swap }));
  const { nodeName, startTime, cpu, memory, swap, systemContainers } = node;
  return {
    node: { nodeName, startTime, cpu, memory, swap, systemContainers: containersOf(systemContainers) },
    pods: pods.map((pod) => ({
      ...{ podRef: pod.podRef, startTime: pod.startTime, cpu: pod.cpu, memory: pod.memory, swap: pod.swap },
      containers: containersOf(pod.containers),
    })),
  };
}

/** A time within the last second is rounded to full seconds, so the clock is more precise. A cloud may report an older value. */
function measuredAtMs(time: string, nowMs: number): number {
  const timeMs = epochMsOf(time);
  return Math.abs(nowMs - timeMs) >= 1000 ? timeMs : nowMs;
}

/** Source: kubelet `getAndUpdateContainerUsageNanoCores`. */
function nextSample(before: Sample | undefined, now: Sample): Sample {
  if (before === undefined || now.nanoseconds < before.nanoseconds) return now;
  // The clock was set back.
  if (now.timeMs <= before.timeMs - samplePeriodMs) return now;
  if (now.timeMs - before.timeMs < samplePeriodMs) return before;
  return {
    ...now,
    nanoCores: Math.round((now.nanoseconds - before.nanoseconds) / ((now.timeMs - before.timeMs) / 1e3)),
  };
}
