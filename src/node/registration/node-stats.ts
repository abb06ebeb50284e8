import { readFile, statfs } from 'node:fs/promises';
import { freemem, totalmem, uptime } from 'node:os';
import type {
  ContainerStats,
  CPUStats,
  FsStats,
  ImageFsStats,
  InterfaceStats,
  IOStats,
  MemoryStats,
  NetworkStats,
  PSIData,
  PSIStats,
  SwapStats,
} from '../runtime/pod-stats.ts';
import { timeFromEpochMs } from '../../shared/time.ts';

/** Source: `stats/v1alpha1.NodeStats`. */
export interface NodeStats {
  readonly nodeName: string;
  readonly systemContainers: readonly ContainerStats[];
  /** When the machine was started. */
  readonly startTime: string;
  readonly cpu?: CPUStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly io?: IOStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly fs?: FsStats | undefined;
  readonly runtime?: ImageFsStats | undefined;
  readonly rlimit?: { readonly time: string; readonly maxpid?: number; readonly curproc?: number } | undefined;
  readonly swap?: SwapStats | undefined;
}

/**
 * Statistics of this machine. Source: kubelet `GetCgroupStats` of the root cgroup, `RootFsStats`, `RlimitStats`.
 *
 * Divergence: they are read from /proc, not from the root cgroup, because there is no cAdvisor. The only system container is
 * `kubelet`: this process.
 */
export async function nodeStats(nodeName: string, nowMs: number): Promise<Omit<NodeStats, 'runtime'>> {
  const time = timeFromEpochMs(nowMs);
  const memory = memoryInfo(await procFile('meminfo'));
  const usage = process.cpuUsage();
  const own: ContainerStats = {
    name: 'kubelet',
    startTime: timeFromEpochMs(nowMs - process.uptime() * 1000),
    cpu: { time, usageCoreNanoSeconds: (usage.user + usage.system) * 1000 },
    memory: { time, workingSetBytes: process.memoryUsage.rss(), rssBytes: process.memoryUsage.rss() },
  };
  return {
    nodeName,
    systemContainers: [own],
    startTime: timeFromEpochMs(nowMs - uptime() * 1000),
    cpu: { time, usageCoreNanoSeconds: cpuNanoseconds(await procFile('stat')), psi: await pressure('cpu') },
    memory: { time, ...memory.memory, psi: await pressure('memory') },
    io: { time, psi: await pressure('io') },
    ...(memory.swap && { swap: { time, ...memory.swap } }),
    network: networkStats(await procFile('net/dev'), await procFile('net/route'), time),
    fs: await rootFsStats(time),
    rlimit: await rlimitStats(time),
  };
}

/** Linux counts in hundredths of a second: user, nice, system, idle, iowait, irq, softirq, steal. */
function cpuNanoseconds(stat: string): number | undefined {
  const fields = /^cpu +([\d ]+)/.exec(stat)?.[1]?.split(' ').map(Number);
  if (fields === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = fields;
  return (user + nice + system + irq + softirq) * 1e7;
}

/** Source: cAdvisor, `memory.usage_in_bytes` without `inactive_file`. */
function memoryInfo(text: string): {
  readonly memory: Omit<MemoryStats, 'time'>;
  readonly swap?: Omit<SwapStats, 'time'> | undefined;
} {
  const values = new Map(
    [...text.matchAll(/^([\w()]+): +(\d+) kB$/gm)].map(([, name, kilobytes]) => [name, Number(kilobytes) * 1024]),
  );
  const get = (name: string): number => values.get(name) ?? 0;
  const total = get('MemTotal') || totalmem();
  const usageBytes = total - (values.get('MemFree') ?? freemem());
  const workingSetBytes = Math.max(0, usageBytes - get('Inactive(file)'));
  return {
    memory: {
      availableBytes: total - workingSetBytes,
      usageBytes,
      workingSetBytes,
      ...(values.has('AnonPages') && { rssBytes: get('AnonPages') }),
    },
    swap: values.has('SwapTotal')
      ? { swapAvailableBytes: get('SwapFree'), swapUsageBytes: get('SwapTotal') - get('SwapFree') }
      : undefined,
  };
}

function networkStats(dev: string, route: string, time: string): NetworkStats | undefined {
  const interfaces = dev
    .split('\n')
    .filter((line) => line.includes(':'))
    .map((line) => line.trim().split(':'))
    .filter(([name]) => name !== 'lo')
    .map(([name = '', counters = '']): InterfaceStats => {
      const [rxBytes, , rxErrors, , , , , , txBytes, , txErrors] = counters.trim().split(/ +/).map(Number);
      return { name, rxBytes, rxErrors, txBytes, txErrors };
    });
  const routes = route.split('\n').map((line) => line.split('\t'));
  const [defaultName] = routes.find(([, destination]) => destination === '00000000') ?? [];
  const own = interfaces.find(({ name }) => name === defaultName) ?? interfaces[0];
  return own && { time, ...own, interfaces };
}

async function rootFsStats(time: string): Promise<FsStats> {
  const { bsize, blocks, bavail, bfree, files, ffree } = await statfs('/');
  return {
    time,
    availableBytes: bavail * bsize,
    capacityBytes: blocks * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodesFree: ffree,
    inodes: files,
    inodesUsed: files - ffree,
  };
}

/** Source: kubelet `pidlimit.Stats`. */
async function rlimitStats(time: string): Promise<NodeStats['rlimit']> {
  const [pidMax, threadsMax] = [await procFile('sys/kernel/pid_max'), await procFile('sys/kernel/threads-max')];
  const maxpid = Math.min(Number.parseInt(pidMax, 10), Number.parseInt(threadsMax, 10));
  const tasks = /\/(\d+) /.exec(await procFile('loadavg'))?.[1];
  return Number.isNaN(maxpid) || tasks === undefined ? undefined : { time, maxpid, curproc: Number(tasks) };
}

/** Undefined if the kernel has none. Source: opencontainers/cgroups `statPSI` */
async function pressure(resource: 'cpu' | 'memory' | 'io'): Promise<PSIStats | undefined> {
  const text = await procFile(`pressure/${resource}`);
  const [some, full] = [psiData(text, 'some'), psiData(text, 'full')];
  return some && { full: full ?? { total: 0, avg10: 0, avg60: 0, avg300: 0 }, some };
}

/** `some avg10=0.12 avg60=0.34 avg300=0.56 total=789` */
function psiData(text: string, kind: 'some' | 'full'): PSIData | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${kind} `));
  if (line === undefined) return undefined;
  const values = new Map(line.split(' ').map((field) => field.split('=') as [string, string]));
  const read = (name: string): number => Number(values.get(name) ?? 0);
  return { total: read('total'), avg10: read('avg10'), avg60: read('avg60'), avg300: read('avg300') };
}

/** Empty on other systems than Linux. */
async function procFile(name: string): Promise<string> {
  return readFile(`/proc/${name}`, 'utf8').catch(() => '');
}
