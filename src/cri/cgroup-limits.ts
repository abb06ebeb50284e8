import { quotaPeriod } from './linux-resources.ts';
import type { ResourceConfig } from './resource-config.ts';

/** One limit of a cgroup: its file, and the property of a systemd unit for it. */
export interface CgroupLimit {
  readonly controller: 'cpu' | 'memory' | 'pids';
  readonly file: string;
  readonly format: (value: number) => string;
  /** Compares two contents; no limit is -1. */
  readonly parse: (text: string) => number;
  /** The value of a content, in the unit of `ResourceConfig`. Default: as parsed. */
  readonly toConfig?: (parsed: number) => number;
  /** Its type is uint64. */
  readonly property: string;
  readonly propertyValue: (value: number) => string;
}

export type CgroupLimits = Readonly<Record<'memory' | 'cpuQuota' | 'cpuShares' | 'pidsLimit', CgroupLimit>>;

const limitOf = (text: string): number => (/^(max|-1)\b/.test(text) ? -1 : Number.parseInt(text));

/** systemd's `USEC_INFINITY`, the largest uint64. */
const infinity = '18446744073709551615';

/** Source: opencontainers/cgroups `addCPUQuota`. */
function cpuQuotaPerSec(quota: number): string {
  return quota > 0 ? String((roundUpQuota(quota) * 1_000_000) / quotaPeriod) : infinity;
}

/** systemd has no smaller unit than 1 % of a CPU. Source: opencontainers/cgroups `addCPUQuota`. */
export function roundUpQuota(quota: number): number {
  const percent = quotaPeriod / 100;
  return quota > 0 ? Math.ceil(quota / percent) * percent : quota;
}

const pidsLimit: CgroupLimit = {
  ...{ controller: 'pids', file: 'pids.max', format: String, parse: limitOf },
  ...{ property: 'TasksMax', propertyValue: String },
};

const cgroup1: CgroupLimits = {
  pidsLimit,
  memory: {
    ...{ controller: 'memory', file: 'memory.limit_in_bytes', format: String, parse: limitOf },
    ...{ property: 'MemoryLimit', propertyValue: String },
  },
  cpuQuota: {
    ...{ controller: 'cpu', file: 'cpu.cfs_quota_us', format: String, parse: limitOf },
    ...{ property: 'CPUQuotaPerSecUSec', propertyValue: cpuQuotaPerSec },
  },
  cpuShares: {
    ...{ controller: 'cpu', file: 'cpu.shares', format: String, parse: Number },
    ...{ property: 'CPUShares', propertyValue: String },
  },
};

const cgroup2: CgroupLimits = {
  pidsLimit,
  memory: {
    ...{ controller: 'memory', file: 'memory.max', format: String, parse: limitOf },
    ...{ property: 'MemoryMax', propertyValue: String },
  },
  cpuQuota: {
    ...{ controller: 'cpu', file: 'cpu.max', format: (quota) => `${quota} ${quotaPeriod}`, parse: limitOf },
    ...{ property: 'CPUQuotaPerSecUSec', propertyValue: cpuQuotaPerSec },
  },
  cpuShares: {
    ...{ controller: 'cpu', file: 'cpu.weight', format: cpuWeight, parse: Number, toConfig: sharesOfWeight },
    ...{ property: 'CPUWeight', propertyValue: cpuWeight },
  },
};

export function cgroupLimits(isUnified: boolean): CgroupLimits {
  return isUnified ? cgroup2 : cgroup1;
}

/** The limits that a configuration has, in a fixed order. */
export function limitsIn(config: Partial<ResourceConfig>, isUnified: boolean): (readonly [CgroupLimit, number])[] {
  const limits = cgroupLimits(isUnified);
  return (['pidsLimit', 'memory', 'cpuQuota', 'cpuShares'] as const).flatMap((name) => {
    const value = config[name];
    return value === undefined ? [] : [[limits[name], value] as const];
  });
}

/** Source: kubelet `getCPUWeight`. */
export function cpuWeight(shares: number): string {
  return String(1 + Math.trunc(((shares - 2) * 9999) / 262_142));
}

/** Source: kubelet `cpuWeightToCPUShares`. */
export function sharesOfWeight(weight: number): number {
  return Math.trunc(((weight - 1) * 262_142) / 9999) + 2;
}

/** The value of a content, in the unit of `ResourceConfig`. */
export function valueOf({ parse, toConfig }: CgroupLimit, text: string): number {
  const parsed = parse(text);
  return toConfig?.(parsed) ?? parsed;
}
