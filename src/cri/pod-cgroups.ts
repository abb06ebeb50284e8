import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { quantityValue } from '../kube/quantity.ts';
import type { ResourceRequirementsInput, ValidPod } from '../kube/types.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';
import { milliCPUToShares, quotaPeriod, resourcesFromStatus } from './linux-resources.ts';
import { type ResourceConfig, resourceConfigForPod } from './resource-config.ts';
import { podCgroupParent } from './sandbox-config.ts';

const cgroupMountPoint = '/sys/fs/cgroup';

interface Limit {
  readonly controller: 'cpu' | 'memory' | 'pids';
  readonly file: string;
  readonly format: (value: number) => string;
  /** The order of two contents; without a limit Infinity. */
  readonly parse: (text: string) => number;
  /** The value of a content, in the unit of `ResourceConfig`. Default: as parsed. */
  readonly toConfig?: (parsed: number) => number;
}

type Limits = Readonly<Record<keyof ResourceConfig, Limit>>;

const limitOf = (text: string): number => (/^(max|-1)\b/.test(text) ? Number.POSITIVE_INFINITY : Number.parseInt(text));

const pidsLimit: Limit = { controller: 'pids', file: 'pids.max', format: String, parse: limitOf };

const cgroup1: Limits = {
  pidsLimit,
  memory: { controller: 'memory', file: 'memory.limit_in_bytes', format: String, parse: limitOf },
  cpuQuota: { controller: 'cpu', file: 'cpu.cfs_quota_us', format: String, parse: limitOf },
  cpuShares: { controller: 'cpu', file: 'cpu.shares', format: String, parse: Number },
};

const cgroup2: Limits = {
  pidsLimit,
  memory: { controller: 'memory', file: 'memory.max', format: String, parse: limitOf },
  cpuQuota: { controller: 'cpu', file: 'cpu.max', format: (quota) => `${quota} ${quotaPeriod}`, parse: limitOf },
  cpuShares: { controller: 'cpu', file: 'cpu.weight', format: cpuWeight, parse: Number, toConfig: sharesOfWeight },
};

/** Source: kubelet `getCPUWeight`. */
function cpuWeight(shares: number): string {
  return String(1 + Math.trunc(((shares - 2) * 9999) / 262_142));
}

/** Source: kubelet `cpuWeightToCPUShares`. */
function sharesOfWeight(weight: number): number {
  return Math.trunc(((weight - 1) * 262_142) / 9999) + 2;
}

/** The controllers that a pod's cgroup is created for; the runtime creates it for the others with the sandbox. */
const controllers = ['cpu', 'memory', 'pids'];

/**
 * Creates the cgroup of a pod, with its limits, unless it exists. Rejects if it cannot be created; a limit that cannot
 * be written is logged. Source: kubelet `PodContainerManager.EnsureExists`.
 *
 * Divergence: the cgroup of Burstable pods keeps the kernel's default share of cpu.
 *
 * @param cgroupRoot the cgroup of all pods
 * @param mountPoint where cgroups are mounted
 */
export async function ensurePodCgroup(
  pod: ValidPod,
  { cgroupRoot, cpus, logger, podPidsLimit, mountPoint = cgroupMountPoint }: NewPodCgroupOptions,
): Promise<void> {
  const cgroup = podCgroupParent(pod, cgroupRoot);
  const folders = await controllerFolders(mountPoint);
  if ([...folders.values()].every((folder) => existsSync(join(folder, cgroup)))) return;
  for (const folder of new Set(folders.values())) {
    if (isCgroup2(mountPoint)) await delegateControllers(mountPoint, dirname(cgroup));
    await mkdir(join(folder, cgroup), { recursive: true });
  }
  const { namespace, name, uid: podUID } = pod.metadata;
  try {
    // The kernel's default share for all pods is that of one system service. kubelet: `enforceNodeAllocatableCgroups`.
    if (cgroupRoot !== '/') await setLimits(cgroupRoot, { cpuShares: milliCPUToShares(cpus * 1000) }, mountPoint);
    const besteffort = join(cgroupRoot, 'besteffort');
    if (dirname(cgroup) === besteffort) await setLimits(besteffort, resourceConfigForPod(pod), mountPoint);
    await setLimits(cgroup, { ...resourceConfigForPod(pod), pidsLimit: podPidsLimit }, mountPoint);
  } catch (error) {
    logger.error({ pod: `${namespace}/${name}`, podUID, reason: reasonOf(error) }, 'Failed to limit the pod cgroup');
  }
}

/**
 * Raises the limits of a pod's cgroup before its containers are resized, and lowers them after. A limit that the pod no
 * longer has stays. Rejects if the memory limit would be lowered below the usage, or if the runtime, which is told first,
 * refuses a limit. Source: kubelet `doPodResizeAction`.
 *
 * Divergence: for the kubelet, a limit of a cgroup without one is always raised; cgroup v1 refuses it if a container has
 * more until it is resized.
 */
export async function updatePodCgroup(
  pod: ValidPod,
  step: 'before' | 'after',
  { cgroupRoot, updateSandbox = async () => {}, mountPoint = cgroupMountPoint }: UpdatePodCgroupOptions,
): Promise<void> {
  const cgroup = podCgroupParent(pod, cgroupRoot);
  const limits = limitsOf(mountPoint);
  const config = resourceConfigForPod(pod);
  let applied = { ...config, ...(await readConfig(cgroup, mountPoint)) };
  const names = ['memory', 'cpuQuota', 'cpuShares'] as const;
  // Requests stay below limits at every moment.
  for (const name of step === 'before' ? names : names.toReversed()) {
    const value = config[name];
    if (value === undefined) continue;
    const { format, parse } = limits[name];
    const current = parse(await readFile(fileOf(limits[name], cgroup, mountPoint), 'utf8'));
    const desired = parse(format(value));
    if (step === 'before' && name === 'memory' && desired < current) await requireAboveUsage(value, cgroup, mountPoint);
    if (step === 'before' ? desired <= current : desired >= current) continue;
    const changed = { ...applied, [name]: value };
    await updateSandbox(changed).catch((cause: unknown) => {
      const what = `UpdatePodSandboxResources (resource=${limits[name].controller})`;
      throw new Error(`failed to notify runtime for ${what}; resize rejected: ${(cause as Error).message}`, { cause });
    });
    try {
      await setLimits(cgroup, { [name]: value }, mountPoint);
    } catch (error) {
      await updateSandbox(applied).catch(() => {});
      throw error;
    }
    applied = changed;
  }
}

/**
 * The request for cpu and the limits that the cgroup of a pod has; none if the cgroup is gone. cgroup v1 has a number close
 * to 2^63 for no memory limit. The files are in memory: reading them takes less time than waiting for another thread.
 * Source: kubelet `GetPodCgroupConfig`.
 */
export function podCgroupResources(
  pod: ValidPod,
  { cgroupRoot, mountPoint = cgroupMountPoint }: PodCgroupOptions,
): ResourceRequirementsInput {
  const cgroup = podCgroupParent(pod, cgroupRoot);
  const { memory, cpuQuota, cpuShares } = limitsOf(mountPoint);
  const read = (limit: Limit): string => readFileSync(fileOf(limit, cgroup, mountPoint), 'utf8');
  const cpu = ifPresent(() => {
    const [quota = '', period = read({ ...cpuQuota, file: 'cpu.cfs_period_us' })] = read(cpuQuota).split(' ');
    return { shares: valueOf(cpuShares, read(cpuShares)), quota: valueOf(cpuQuota, quota), period: Number(period) };
  });
  const resources = resourcesFromStatus({
    cpu_shares: cpu?.shares ?? 0,
    cpu_quota: finiteOrZero(cpu?.quota),
    cpu_period: cpu?.period ?? 0,
    memory_limit_in_bytes: finiteOrZero(ifPresent(() => valueOf(memory, read(memory)))),
  });
  // A weight of cgroup v2 stands for several shares.
  const request = pod.spec?.resources?.requests?.['cpu'];
  const isAllocated =
    request !== undefined &&
    cpu?.shares === sharesOfWeight(Number(cpuWeight(milliCPUToShares(quantityValue(request, 'm') ?? 0))));
  return isAllocated ? { ...resources, requests: { cpu: request } } : resources;
}

interface PodCgroupOptions {
  readonly cgroupRoot: string;
  readonly mountPoint?: string | undefined;
}

interface NewPodCgroupOptions extends PodCgroupOptions {
  /** Of this machine. */
  readonly cpus: number;
  readonly logger: Logger;
  /** How many processes a pod may have. Default: no limit. */
  readonly podPidsLimit?: number | undefined;
}

interface UpdatePodCgroupOptions extends PodCgroupOptions {
  /** Called with all limits before one of them is written, and again with the earlier ones if that fails. */
  readonly updateSandbox?: ((config: ResourceConfig) => Promise<void>) | undefined;
}

/** The limits of a pod's cgroup. Without one, the quota is -1, and memory is absent. */
async function readConfig(cgroup: string, mountPoint: string): Promise<Partial<ResourceConfig>> {
  const { memory, cpuQuota, cpuShares } = limitsOf(mountPoint);
  const read = async (limit: Limit): Promise<number> =>
    valueOf(limit, await readFile(fileOf(limit, cgroup, mountPoint), 'utf8'));
  const bytes = await read(memory);
  const quota = await read(cpuQuota);
  return {
    // cgroup v1 shows a number that is close to 2^63.
    memory: Number.isSafeInteger(bytes) ? bytes : undefined,
    cpuQuota: Number.isFinite(quota) ? quota : -1,
    cpuShares: await read(cpuShares),
  };
}

function valueOf({ parse, toConfig }: Limit, text: string): number {
  const parsed = parse(text);
  return toConfig?.(parsed) ?? parsed;
}

function finiteOrZero(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) ? value : 0;
}

function ifPresent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    // ENODEV: the cgroup is removed while its file is open.
    if (['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Source: kubelet `validateMemoryResizeAction`. */
async function requireAboveUsage(limitBytes: number, cgroup: string, mountPoint: string): Promise<void> {
  const path = isCgroup2(mountPoint)
    ? join(mountPoint, cgroup, 'memory.current')
    : join(mountPoint, 'memory', cgroup, 'memory.usage_in_bytes');
  const usageBytes = Number(await readFile(path, 'utf8'));
  if (usageBytes >= limitBytes)
    throw new Error(
      `cannot decrease memory limits: attempting to set pod memory limit (${limitBytes}) below current usage (${usageBytes})`,
    );
}

async function setLimits(cgroup: string, config: Partial<ResourceConfig>, mountPoint: string): Promise<void> {
  for (const [name, limit] of Object.entries(limitsOf(mountPoint))) {
    const value = config[name as keyof ResourceConfig];
    if (value !== undefined) await writeFile(fileOf(limit, cgroup, mountPoint), limit.format(value));
  }
}

function isCgroup2(mountPoint: string): boolean {
  return existsSync(join(mountPoint, 'cgroup.controllers'));
}

function limitsOf(mountPoint: string): Limits {
  return isCgroup2(mountPoint) ? cgroup2 : cgroup1;
}

function fileOf({ controller, file }: Limit, cgroup: string, mountPoint: string): string {
  return join(mountPoint, isCgroup2(mountPoint) ? '' : controller, cgroup, file);
}

/** Where each controller that is mounted has its cgroups. */
async function controllerFolders(mountPoint: string): Promise<ReadonlyMap<string, string>> {
  if (isCgroup2(mountPoint)) return new Map(controllers.map((name) => [name, mountPoint]));
  const mounted = await foldersIn(mountPoint);
  return new Map(controllers.filter((name) => mounted.includes(name)).map((name) => [name, join(mountPoint, name)]));
}

/** Creates a cgroup of version 2, and gives it and those above it the controllers for their children. */
async function delegateControllers(mountPoint: string, cgroup: string): Promise<void> {
  let folder = mountPoint;
  for (const name of ['', ...relative('/', cgroup).split('/')]) {
    folder = join(folder, name);
    await mkdir(folder, { recursive: true });
    const available = (await readFile(join(folder, 'cgroup.controllers'), 'utf8')).split(/\s+/);
    const added = controllers.filter((controller) => available.includes(controller)).map((it) => `+${it}`);
    await writeFile(join(folder, 'cgroup.subtree_control'), added.join(' '));
  }
}

/** The folders of pods in a cgroup hierarchy: guaranteed ones are in the root itself. */
const qosFolders = ['', 'burstable', 'besteffort'];

/**
 * Removes the cgroups of pods that need no data any more: the runtime creates the cgroup of a pod with its sandbox, but
 * does not remove it. A cgroup with processes stays. Source: kubelet `cleanupOrphanedPodCgroups`.
 *
 * Divergence: once the pod is deleted or evicted. In the kubelet once it has ended, by chance before its last status is
 * generated.
 *
 * @param cgroupRoot the cgroup of all pods
 * @param mountPoint where cgroups are mounted
 */
export async function removePodCgroups(
  cgroupRoot: string,
  shouldPodContentBeRemoved: (podUID: string) => boolean,
  mountPoint = cgroupMountPoint,
): Promise<void> {
  for (const hierarchy of await hierarchies(mountPoint))
    for (const qos of qosFolders) {
      const folder = join(hierarchy, cgroupRoot, qos);
      for (const name of await foldersIn(folder)) {
        const podUID = /^pod(.+)$/.exec(name)?.[1];
        if (podUID !== undefined && shouldPodContentBeRemoved(podUID)) await removeCgroup(join(folder, name));
      }
    }
}

/** One of cgroup 2, one for each controller of cgroup 1. */
async function hierarchies(mountPoint: string): Promise<string[]> {
  if (isCgroup2(mountPoint)) return [mountPoint];
  return (await foldersIn(mountPoint)).map((name) => join(mountPoint, name));
}

async function removeCgroup(path: string): Promise<void> {
  for (const name of await foldersIn(path)) await removeCgroup(join(path, name));
  // The kernel refuses it while there are processes; the files in it are the kernel's.
  await rmdir(path).catch(() => {});
}

async function foldersIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
