import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { isCgroup2UnifiedMode } from '../node/index.ts';
import { readHugePageSizes } from './huge-pages.ts';
import type { MachineResources } from './linux-resources.ts';

export async function readMachineResources(): Promise<MachineResources> {
  const [hugePageSizes, thermalThrottlePaths, hasSELinux, features] = await Promise.all([
    readHugePageSizes(),
    listThermalThrottlePaths(),
    isSELinuxEnabled(),
    cgroupFeatures(),
  ]);
  return {
    memoryBytes: totalmem(),
    cpus: cpus().length,
    ...{ hugePageSizes, thermalThrottlePaths, hasSELinux, ...features },
  };
}

/** Source: go-selinux `GetEnabled`. */
export async function isSELinuxEnabled(
  enforceFile = '/sys/fs/selinux/enforce',
  ownLabelFile = '/proc/self/attr/current',
): Promise<boolean> {
  if (!existsSync(enforceFile)) return false;
  const label = await readFile(ownLabelFile, 'utf8').catch(() => '');
  return label.replace('\0', '').trim() !== 'kernel';
}

/** The path for each possible CPU, if it exists. Source: kubelet `defaultMaskedPaths`, `possibleCPUs`. */
export async function listThermalThrottlePaths(folder = '/sys/devices/system/cpu'): Promise<string[]> {
  const possible = await readFile(join(folder, 'possible'), 'utf8').catch(() => '');
  const cpusOf = (range: string): number[] => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  };
  return possible
    .trim()
    .split(',')
    .filter((range) => range !== '')
    .flatMap(cpusOf)
    .map((cpu) => join(folder, `cpu${cpu}`, 'thermal_throttle'))
    .filter((path) => existsSync(path));
}

/**
 * Source: kubelet `checkSwapControllerAvailability`, for cgroup v2 only.
 *
 * @param mountPoint where cgroups are mounted
 * @param ownCgroupFile names the cgroup of this process: the root cgroup lacks the files of others
 */
export async function cgroupFeatures(
  mountPoint = '/sys/fs/cgroup',
  ownCgroupFile = '/proc/self/cgroup',
): Promise<Pick<MachineResources, 'hasCgroup2' | 'hasSwapController'>> {
  const hasCgroup2 = isCgroup2UnifiedMode(mountPoint);
  const [, own] = /^0::(.*)$/m.exec(await readFile(ownCgroupFile, 'utf8').catch(() => '')) ?? [];
  const hasSwapController = hasCgroup2 && own !== undefined && existsSync(join(mountPoint, own, 'memory.swap.max'));
  return { hasCgroup2, hasSwapController };
}
