import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Whether the machine has one hierarchy of cgroups, of version 2. Source: opencontainers/cgroups `IsCgroup2UnifiedMode`. */
export function isCgroup2UnifiedMode(mountPoint = '/sys/fs/cgroup'): boolean {
  return existsSync(join(mountPoint, 'cgroup.controllers'));
}
