import type { CgroupFileSystem } from './cgroup-files.ts';
import type { ResourceConfig } from './resource-config.ts';

/** The path of a cgroup, component by component, as the driver cgroupfs names it. Source: kubelet `CgroupName`. */
export type CgroupName = readonly string[];

/** A cgroup driver: names, creates, limits and removes cgroups. Source: kubelet `CgroupManager`. */
export interface CgroupManager {
  /** The path of a cgroup below each mount point. */
  path(name: CgroupName): string;
  /** The last component of the name of a cgroup whose folder has this name. */
  componentOf(folder: string): string;
  /** Creates a cgroup that may exist. */
  create(name: CgroupName): Promise<void>;
  /** Sets the limits that the configuration has, and no others. */
  update(name: CgroupName, config: Partial<ResourceConfig>): Promise<void>;
  /** Removes a cgroup without processes that may be gone. */
  destroy(name: CgroupName): Promise<void>;
}

/** Source: kubelet `ParseCgroupfsToCgroupName`. */
export function parseCgroupName(path: string): CgroupName {
  return path.split('/').filter(Boolean);
}

/** The driver cgroupfs: cgroups are folders. Source: opencontainers/cgroups `fs`, `fs2`. */
export class CgroupfsManager implements CgroupManager {
  readonly #files: CgroupFileSystem;

  constructor(files: CgroupFileSystem) {
    this.#files = files;
  }

  path(name: CgroupName): string {
    return `/${name.join('/')}`;
  }

  componentOf(folder: string): string {
    return folder;
  }

  create(name: CgroupName): Promise<void> {
    return this.#files.create(this.path(name));
  }

  update(name: CgroupName, config: Partial<ResourceConfig>): Promise<void> {
    return this.#files.write(this.path(name), config);
  }

  destroy(name: CgroupName): Promise<void> {
    return this.#files.remove(this.path(name));
  }
}
