import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { isCgroup2UnifiedMode } from '../node/index.ts';
import { makeDirectoriesSync } from '../shared/make-directories.ts';
import { type CgroupLimit, type CgroupLimits, cgroupLimits, limitsIn } from './cgroup-limits.ts';
import type { ResourceConfig } from './resource-config.ts';

/** A pod's cgroup is created for these controllers; the runtime creates it for the others, with the sandbox. */
const usedControllers = ['cpu', 'memory', 'pids', 'hugetlb'];

/** The operations of `CgroupFiles`. */
export type CgroupFileSystem = Pick<CgroupFiles, keyof CgroupFiles>;

/** The files of cgroups, version 1 and 2. A path names the same cgroup in each hierarchy. */
export class CgroupFiles {
  readonly #mountPoint: string;
  /** Whether there is one hierarchy, of version 2. */
  readonly isUnified: boolean;

  constructor(mountPoint = '/sys/fs/cgroup') {
    this.#mountPoint = mountPoint;
    this.isUnified = isCgroup2UnifiedMode(mountPoint);
  }

  get limits(): CgroupLimits {
    return cgroupLimits(this.isUnified);
  }

  /** Whether the cgroup exists for each controller. */
  async exists(path: string): Promise<boolean> {
    return [...(await this.#controllerFolders()).values()].every((folder) => existsSync(join(folder, path)));
  }

  /** Whether the cgroup exists in any hierarchy. */
  async existsAnywhere(path: string): Promise<boolean> {
    return (await this.#hierarchies()).some((folder) => existsSync(join(folder, path)));
  }

  /** Creates the cgroup and those above it, unless they exist. */
  async create(path: string): Promise<void> {
    if (this.isUnified) await this.#delegateControllers(dirname(path));
    // Synchronous, because the folders are in memory: a promise takes several times as long.
    const folders = new Set((await this.#controllerFolders()).values());
    for (const folder of folders) makeDirectoriesSync(join(folder, path));
  }

  async write(path: string, config: Partial<ResourceConfig>): Promise<void> {
    const limits = limitsIn(config, this.isUnified).map(
      ([limit, value]) => [this.#fileOf(path, limit), limit.format(value)] as const,
    );
    const files = [...limits, ...(await this.#hugePageLimits(path, config.hugePageLimits ?? {}))];
    const memory = this.#fileOf(path, this.limits.memory);
    // The kernel may have to reclaim memory before it sets that limit; the others are set synchronously, as in `create`.
    const write = async (file: string, value: string): Promise<void> =>
      file === memory ? writeFile(file, value) : writeFileSync(file, value);
    await Promise.all(files.map(([file, value]) => write(file, value)));
  }

  /** Synchronous, because the files are in memory. */
  read(path: string, limit: Pick<CgroupLimit, 'controller' | 'file'>): string {
    return readFileSync(this.#fileOf(path, limit), 'utf8');
  }

  memoryUsageBytes(path: string): number {
    const file = this.isUnified ? 'memory.current' : 'memory.usage_in_bytes';
    return Number(this.read(path, { controller: 'memory', file }));
  }

  /** The names of the cgroups in a cgroup, in any hierarchy. */
  async childrenOf(path: string): Promise<ReadonlySet<string>> {
    const names = (await this.#hierarchies()).map((folder) => foldersIn(join(folder, path)));
    return new Set((await Promise.all(names)).flat());
  }

  /** Kills all processes in the cgroup. Source: kubelet `tryKillingCgroupProcesses`. */
  async kill(path: string): Promise<void> {
    for (const folder of await this.#hierarchies()) await killProcesses(join(folder, path));
  }

  /** Removes the cgroup and those in it. Rejects if there are processes. */
  async remove(path: string): Promise<void> {
    for (const folder of await this.#hierarchies()) await removeCgroup(join(folder, path));
  }

  async #hugePageLimits(
    path: string,
    limits: NonNullable<ResourceConfig['hugePageLimits']>,
  ): Promise<(readonly [file: string, value: string])[]> {
    const hugetlb = (await this.#controllerFolders()).get('hugetlb');
    if (hugetlb === undefined) return [];
    const field = this.isUnified ? 'max' : 'limit_in_bytes';
    return Object.entries(limits).flatMap(([pageSize, bytes]) =>
      [`hugetlb.${pageSize}.${field}`, `hugetlb.${pageSize}.rsvd.${field}`]
        .map((name) => join(hugetlb, path, name))
        // Linux has the limit of reservations since 5.7.
        .filter((file, index) => index === 0 || existsSync(file))
        .map((file) => [file, String(bytes)] as const),
    );
  }

  #fileOf(path: string, { controller, file }: Pick<CgroupLimit, 'controller' | 'file'>): string {
    return join(this.#mountPoint, this.isUnified ? '' : controller, path, file);
  }

  /** Cgroup v2 has one hierarchy, v1 one for each controller. */
  async #hierarchies(): Promise<string[]> {
    if (this.isUnified) return [this.#mountPoint];
    return (await foldersIn(this.#mountPoint)).map((name) => join(this.#mountPoint, name));
  }

  /** Maps each controller that is used and that the kernel has to the folder of its cgroups. */
  async #controllerFolders(): Promise<ReadonlyMap<string, string>> {
    const root = this.#mountPoint;
    if (this.isUnified) return new Map((await usedControllersOf(root)).map((name) => [name, root]));
    // Some are links to the folder of several controllers.
    const mounted = usedControllers.filter((name) => existsSync(join(root, name)));
    return new Map(mounted.map((name) => [name, join(root, name)]));
  }

  /** Creates a cgroup of version 2, and gives it and those above it the controllers for their children. */
  async #delegateControllers(path: string): Promise<void> {
    let folder = this.#mountPoint;
    for (const name of ['', ...relative('/', path).split('/')]) {
      folder = join(folder, name);
      makeDirectoriesSync(folder);
      const added = (await usedControllersOf(folder)).map((controller) => `+${controller}`);
      await writeFile(join(folder, 'cgroup.subtree_control'), added.join(' '));
    }
  }
}

async function usedControllersOf(folder: string): Promise<readonly string[]> {
  const available = (await readFile(join(folder, 'cgroup.controllers'), 'utf8')).split(/\s+/);
  return usedControllers.filter((name) => available.includes(name));
}

async function killProcesses(path: string): Promise<void> {
  // No await between reading and killing: another process could get the ID of one that has ended.
  for (const pid of processesIn(path)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  for (const name of await foldersIn(path)) await killProcesses(join(path, name));
}

function processesIn(path: string): number[] {
  try {
    const ids = readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').map(Number);
    // A process of another namespace has the ID 0, which would be the agent's own process group.
    return ids.filter((id) => id > 0);
  } catch {
    return []; // the cgroup is gone
  }
}

async function removeCgroup(path: string): Promise<void> {
  for (const name of await foldersIn(path)) await removeCgroup(join(path, name));
  try {
    // The files in it are the kernel's.
    await rmdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function foldersIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
