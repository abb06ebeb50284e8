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

/** A sample of a pod that the runtime has not listed for longer is forgotten. Source: kubelet `defaultCachePeriod` */
const unlistedPeriodMs = 600_000;
/** The maximum number of samples that the last list of the runtime has not renewed. */
const maxUnlisted = 10_000;

interface Sample {
  readonly timeMs: number;
  readonly nanoseconds: number;
  readonly nanoCores?: number | undefined;
}

/** Source: kubelet `summaryProviderImpl`. */
export class SummaryProvider {
  readonly #context: KubeletAPIContext;
  /** Node, pod or container → its CPU time at an earlier request, and when it was last listed. In the order of the latter. */
  readonly #samples = new Map<string, { readonly sample: Sample; readonly listedAtMs: number }>();

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
    const nowMs = this.#context.clock.now();
    const listedAtMs = this.#context.clock.monotonicMs();
    const listed = new Set<string>();
    const fill = <Stats extends { readonly cpu?: CPUStats | undefined }>(key: string, stats: Stats): Stats => {
      const { cpu } = stats;
      if (cpu?.usageCoreNanoSeconds === undefined || cpu.usageNanoCores !== undefined) return stats;
      const sample = nextSample(this.#samples.get(key)?.sample, {
        timeMs: measuredAtMs(cpu.time, nowMs),
        nanoseconds: cpu.usageCoreNanoSeconds,
      });
      this.#samples.delete(key);
      this.#samples.set(key, { sample, listedAtMs });
      listed.add(key);
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
    this.#forgetUnlisted(listedAtMs, listed.size);
    return summary;
  }

  /** One response of the runtime may lack a pod that exists. Source: kubelet `cleanupOutdatedCaches` */
  #forgetUnlisted(nowMs: number, listed: number): void {
    for (const [key, { listedAtMs }] of this.#samples) {
      if (this.#samples.size - listed <= maxUnlisted && nowMs - listedAtMs <= unlistedPeriodMs) return;
      this.#samples.delete(key);
    }
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
