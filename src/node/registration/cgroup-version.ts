import { join } from 'node:path';
import { type Disk, systemDisk } from '../../shared/disk.ts';

/** Whether the machine has one hierarchy of cgroups, of version 2. Source: opencontainers/cgroups `IsCgroup2UnifiedMode`. */
export function isCgroup2UnifiedMode(mountPoint = '/sys/fs/cgroup', disk: Pick<Disk, 'exists'> = systemDisk): boolean {
  return disk.exists(join(mountPoint, 'cgroup.controllers'));
}
