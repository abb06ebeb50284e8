import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { isCgroup2UnifiedMode } from './cgroup-files.ts';
import { readHugePageSizes } from './huge-pages.ts';
import type { MachineResources } from './linux-resources.ts';

export async function readMachineResources(): Promise<MachineResources> {
  const hugePageSizes = await readHugePageSizes();
  return { memoryBytes: totalmem(), cpus: cpus().length, hugePageSizes, ...(await cgroupFeatures()) };
}

/**
 * Source: kubelet `checkSwapControllerAvailability`, for cgroup v2 only.
 *
 * @param mountPoint where cgroups are mounted
 * @param ownCgroupFile names the cgroup of this process: the root cgroup does not show what others have
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
