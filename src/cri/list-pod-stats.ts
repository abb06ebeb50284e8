import groupBy from 'lodash/groupBy.js';
import type {
  ContainerStats,
  CPUStats,
  FsStats,
  ImageFsStats,
  InterfaceStats,
  IOStats,
  MemoryStats,
  NetworkStats,
  PodStats,
  PSIStats,
} from '../node/index.ts';
import { timeFromEpochMs } from '../shared/time.ts';
import { CRIError, hasCode } from './cri-error.ts';
import type { CRIConnection } from './cri-connection.ts';
import type { CRIMessage } from './cri-messages.ts';
import { podUIDLabel } from './labels.ts';
import type { RuntimePodFiles } from './runtime-pod-files.ts';

type StatsFiles = Pick<RuntimePodFiles, 'fileSystemInfo' | 'logUsage'>;

export interface ListPodStatsOptions {
  readonly client: Pick<CRIConnection, 'call'>;
  readonly podLogsDirectory: string;
  readonly files: StatsFiles;
  readonly signal: AbortSignal | undefined;
}

type Sandbox = CRIMessage<'PodSandbox'>;
type SandboxStats = CRIMessage<'LinuxPodSandboxStats'>;

/**
 * Statistics of the pods whose sandbox is ready. Source: kubelet `criStatsProvider.listPodStats`.
 *
 * Divergence: without `ListPodSandboxStats`, the CPU and memory of a pod are the sums of its containers, because there is
 * no cAdvisor; volumes are not measured.
 */
export async function listPodStats({
  client,
  podLogsDirectory,
  files,
  signal,
}: ListPodStatsOptions): Promise<PodStats[]> {
  const [{ items }, { containers }, { stats }] = await Promise.all([
    client.call('ListPodSandbox', { filter: { state: { state: 'SANDBOX_READY' } } }, { signal }),
    client.call('ListContainers', {}, { signal }),
    client.call('ListContainerStats', {}, { signal }),
  ]);
  const sandboxStats = await statsBySandbox(client, items, signal);
  const fileSystems = new FileSystems(files, podLogsDirectory);
  const listed = new Map(containers.map((container) => [container.id, container]));
  const bySandbox = groupBy(stats, ({ attributes }) => listed.get(attributes?.id ?? '')?.pod_sandbox_id);
  return Promise.all(
    items
      .filter(({ labels }) => labels[podUIDLabel])
      .map(async (sandbox) => {
        const running = (bySandbox[sandbox.id] ?? []).filter(
          ({ attributes }) => listed.get(attributes?.id ?? '')?.state === 'CONTAINER_RUNNING',
        );
        const logs = podLogsName(sandbox);
        const containers = await Promise.all(
          running.map((one) => containerStats(one, listed.get(one.attributes!.id)!, logs, fileSystems)),
        );
        return podStats(sandbox, containers, sandboxStats.get(sandbox.id));
      }),
  );
}

/** Source: kubelet `ImageFsStats`. */
export async function imageFsStats(info: CRIMessage<'ImageFsInfoResponse'>, files: StatsFiles): Promise<ImageFsStats> {
  const [image] = info.image_filesystems;
  const [container = image] = info.container_filesystems;
  const fileSystems = new FileSystems(files);
  return {
    imageFs: image && (await fileSystems.stats(image)),
    containerFs: container && (await fileSystems.stats(container)),
  };
}

async function statsBySandbox(
  client: Pick<CRIConnection, 'call'>,
  sandboxes: readonly Sandbox[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, SandboxStats>> {
  const all = await listSandboxStats(client, sandboxes, signal);
  return new Map(all.flatMap(({ attributes, linux }) => (attributes && linux ? [[attributes.id, linux]] : [])));
}

async function listSandboxStats(
  client: Pick<CRIConnection, 'call'>,
  sandboxes: readonly Sandbox[],
  signal: AbortSignal | undefined,
): Promise<readonly CRIMessage<'PodSandboxStats'>[]> {
  try {
    return (await client.call('ListPodSandboxStats', {}, { signal })).stats;
  } catch (error) {
    if (hasCode(error, 'Unimplemented')) return [];
    // containerd 1.6 lists none if one sandbox has been stopped.
    if (!hasCode(error, 'Unknown')) throw error;
  }
  const stats: CRIMessage<'PodSandboxStats'>[] = [];
  // One after the other, as in `CRIRuntime`.
  for (const { id } of sandboxes)
    try {
      const response = await client.call('PodSandboxStats', { pod_sandbox_id: id }, { signal });
      if (response.stats) stats.push(response.stats);
    } catch (error) {
      signal?.throwIfAborted();
      // The sandbox has just ended.
      if (!(error instanceof CRIError)) throw error;
    }
  return stats;
}

function podStats(sandbox: Sandbox, containers: readonly ContainerStats[], stats: SandboxStats | undefined): PodStats {
  const { metadata } = sandbox;
  return {
    podRef: {
      name: metadata?.name ?? '',
      namespace: metadata?.namespace ?? '',
      uid: metadata?.uid ?? '',
    },
    startTime: timeOf(sandbox.created_at),
    containers,
    cpu: stats?.cpu ? cpuStats(stats.cpu) : sumOf(containers.map(({ cpu }) => cpu)),
    memory: stats?.memory ? memoryStats(stats.memory) : sumOf(containers.map(({ memory }) => memory)),
    io: stats?.io ? ioStats(stats.io) : undefined,
    network: stats?.network ? networkStats(stats.network, stats.cpu?.timestamp ?? 0) : undefined,
    process_stats: stats?.process ? { process_count: stats.process.process_count?.value } : undefined,
    'ephemeral-storage': ephemeralStorage(containers),
  };
}

async function containerStats(
  { cpu, memory, io, writable_layer: layer, swap }: CRIMessage<'ContainerStats'>,
  { created_at: createdAt, metadata }: CRIMessage<'Container'>,
  podLogs: string,
  fileSystems: FileSystems,
): Promise<ContainerStats> {
  const name = metadata?.name ?? '';
  const rootfs = layer ? await fileSystems.stats(layer) : undefined;
  return {
    name,
    startTime: timeOf(createdAt),
    cpu: cpu ? cpuStats(cpu) : undefined,
    memory: memory ? memoryStats(memory) : undefined,
    io: io ? ioStats(io) : undefined,
    rootfs,
    logs: await fileSystems.logStats(podLogs, name, cpu?.timestamp ?? createdAt),
    swap: swap
      ? {
          time: timeOf(swap.timestamp),
          swapAvailableBytes: swap.swap_available_bytes?.value,
          swapUsageBytes: swap.swap_usage_bytes?.value,
        }
      : undefined,
  };
}

function cpuStats(cpu: CRIMessage<'CpuUsage'>): CPUStats {
  return {
    time: timeOf(cpu.timestamp),
    usageNanoCores: cpu.usage_nano_cores?.value,
    usageCoreNanoSeconds: cpu.usage_core_nano_seconds?.value,
    psi: psiStats(cpu.psi),
  };
}

function memoryStats(memory: CRIMessage<'MemoryUsage'>): MemoryStats {
  return {
    time: timeOf(memory.timestamp),
    // Without a limit, containerd reports 0, or what is left of 2^64.
    availableBytes: withLimit(memory.available_bytes?.value),
    usageBytes: memory.usage_bytes?.value,
    workingSetBytes: memory.working_set_bytes?.value,
    rssBytes: memory.rss_bytes?.value,
    pageFaults: memory.page_faults?.value,
    majorPageFaults: memory.major_page_faults?.value,
    psi: psiStats(memory.psi),
  };
}

/** Source: kubelet `makePSIStats`. */
function psiStats(psi: CRIMessage<'PsiStats'> | null | undefined): PSIStats | undefined {
  const read = (data: CRIMessage<'PsiData'> | null | undefined): PSIStats['full'] => ({
    total: data?.Total ?? 0,
    avg10: data?.Avg10 ?? 0,
    avg60: data?.Avg60 ?? 0,
    avg300: data?.Avg300 ?? 0,
  });
  return psi ? { full: read(psi.Full), some: read(psi.Some) } : undefined;
}

function ioStats({ timestamp, psi }: CRIMessage<'IoUsage'>): IOStats {
  return { time: timeOf(timestamp), psi: psiStats(psi) };
}

/** @param timeNs for runtimes that do not say when they read the counters */
function networkStats(
  { timestamp, default_interface: own, interfaces }: CRIMessage<'NetworkUsage'>,
  timeNs: number,
): NetworkStats {
  const statsOf = (one: CRIMessage<'NetworkInterfaceUsage'>): InterfaceStats => ({
    name: one.name,
    rxBytes: one.rx_bytes?.value,
    rxErrors: one.rx_errors?.value,
    txBytes: one.tx_bytes?.value,
    txErrors: one.tx_errors?.value,
  });
  const all = own ? [own, ...interfaces] : interfaces;
  return { time: timeOf(timestamp || timeNs), ...(own ? statsOf(own) : { name: '' }), interfaces: all.map(statsOf) };
}

/** Source: kubelet `calcEphemeralStorage`. */
function ephemeralStorage(containers: readonly ContainerStats[]): FsStats | undefined {
  const parts = containers.flatMap(({ rootfs, logs }) => [rootfs, logs]);
  const { usedBytes, inodesUsed, time } = sumOf(parts) ?? {};
  const fileSystem = parts.find((part) => part !== undefined);
  return fileSystem && { ...fileSystem, time: time!, usedBytes, inodesUsed };
}

/** The sum of each field, and the latest time. */
function sumOf<Stats extends { readonly time: string }>(list: readonly (Stats | undefined)[]): Stats | undefined {
  const present = list.filter((stats) => stats !== undefined);
  if (present.length === 0) return undefined;
  const sum: Record<string, string | number> = {
    time: present
      .map(({ time }) => time)
      .toSorted()
      .at(-1)!,
  };
  for (const stats of present)
    for (const [name, value] of Object.entries(stats))
      if (typeof value === 'number') sum[name] = ((sum[name] as number | undefined) ?? 0) + value;
  // Available bytes cannot be added up.
  delete sum['availableBytes'];
  return sum as unknown as Stats;
}

/** Reads each file system once. */
class FileSystems {
  readonly #files: StatsFiles;
  readonly #podLogsDirectory: string;
  readonly #byPath = new Map<string, Promise<Partial<FsStats>>>();

  constructor(files: StatsFiles, podLogsDirectory = '') {
    this.#files = files;
    this.#podLogsDirectory = podLogsDirectory;
  }

  async stats({
    timestamp,
    fs_id: id,
    used_bytes: used,
    inodes_used: inodes,
  }: CRIMessage<'FilesystemUsage'>): Promise<FsStats> {
    const fileSystem = id ? await this.#read(id.mountpoint) : {};
    return { time: timeOf(timestamp), ...fileSystem, usedBytes: used?.value, inodesUsed: inodes?.value };
  }

  async logStats(podLogs: string, containerName: string, timestamp: number): Promise<FsStats | undefined> {
    try {
      const fileSystem = await this.#read(this.#podLogsDirectory);
      return { time: timeOf(timestamp), ...fileSystem, ...(await this.#files.logUsage(podLogs, containerName)) };
    } catch {
      // The container has just been removed, or a log rotated.
      return undefined;
    }
  }

  #read(path: string): Promise<Partial<FsStats>> {
    let stats = this.#byPath.get(path);
    // The mount point need not be visible to this process.
    if (stats === undefined) this.#byPath.set(path, (stats = this.#files.fileSystemInfo(path).catch(() => ({}))));
    return stats;
  }
}

function podLogsName({ metadata }: Sandbox): string {
  return `${metadata?.namespace}_${metadata?.name}_${metadata?.uid}`;
}

function timeOf(epochNs: number): string {
  return timeFromEpochMs(Math.floor(epochNs / 1e6));
}

function withLimit(value: number | undefined): number | undefined {
  return value === 0 || value === undefined || value > Number.MAX_SAFE_INTEGER ? undefined : value;
}
