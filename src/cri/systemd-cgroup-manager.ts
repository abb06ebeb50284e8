import type { CgroupFileSystem } from './cgroup-files.ts';
import { limitsIn, roundUpQuota } from './cgroup-limits.ts';
import type { CgroupManager, CgroupName } from './cgroup-manager.ts';
import type { ResourceConfig } from './resource-config.ts';
import type { RunCommand } from './run-command.ts';

const suffix = '.slice';

/** The slice of a cgroup; that of the root cgroup is `-.slice`. Source: kubelet `ToSystemd`. */
export function sliceName(name: CgroupName): string {
  return (name.map((part) => part.replaceAll('-', '_')).join('-') || '-') + suffix;
}

/** A property of a unit, as arguments of busctl: its name, its type, its value. */
type UnitProperty = readonly string[];

/** Source: opencontainers/cgroups `Apply` of the systemd managers. */
function newSliceProperties(name: CgroupName, isUnified: boolean): readonly UnitProperty[] {
  return [
    ['Description', 's', `libcontainer container ${sliceName(name)}`],
    ['Wants', 'as', '1', sliceName(name.slice(0, -1))],
    ['MemoryAccounting', 'b', 'true'],
    ['CPUAccounting', 'b', 'true'],
    [isUnified ? 'IOAccounting' : 'BlockIOAccounting', 'b', 'true'],
    ['TasksAccounting', 'b', 'true'],
    ['DefaultDependencies', 'b', 'false'],
  ];
}

/**
 * The properties of a slice for these limits; systemd has none for huge pages. The period of a quota is systemd's default.
 * Source: opencontainers/cgroups `genV1ResourcesProperties`, `genV2ResourcesProperties`.
 */
export function resourceProperties(config: Partial<ResourceConfig>, isUnified: boolean): readonly UnitProperty[] {
  return limitsIn(config, isUnified).map(([limit, value]) => [limit.property, 't', limit.propertyValue(value)]);
}

/**
 * The driver systemd: cgroups are slices of systemd, which reverts changes that others make. Source: opencontainers/cgroups
 * `systemd.UnifiedManager`, `systemd.LegacyManager`.
 */
export class SystemdCgroupManager implements CgroupManager {
  readonly #files: CgroupFileSystem;
  readonly #run: RunCommand;

  constructor(files: CgroupFileSystem, run: RunCommand) {
    this.#files = files;
    this.#run = run;
  }

  /** `kubepods-burstable.slice` is in `kubepods.slice`. Source: opencontainers/cgroups `ExpandSlice`. */
  path(name: CgroupName): string {
    return `/${name.map((_, i) => sliceName(name.slice(0, i + 1))).join('/')}`;
  }

  componentOf(folder: string): string {
    const slice = folder.endsWith(suffix) ? folder.slice(0, -suffix.length) : '';
    return slice.split('-').at(-1)!.replaceAll('_', '-');
  }

  async create(name: CgroupName): Promise<void> {
    const slice = sliceName(name);
    const properties = newSliceProperties(name, this.#files.isUnified);
    try {
      await this.#call('StartTransientUnit', 'ssa(sv)a(sa(sv))', slice, ['replace', ...listOf(properties), '0']);
    } catch (error) {
      await this.#call('GetUnit', 's', slice).catch(() => {
        throw error;
      });
    }
    // Waits until the slice has started.
    await this.#systemctl('start', slice);
    await this.#files.create(this.path(name));
  }

  async update(name: CgroupName, config: Partial<ResourceConfig>): Promise<void> {
    const { cpuQuota } = config;
    const properties = resourceProperties(config, this.#files.isUnified);
    if (properties.length > 0)
      await this.#call('SetUnitProperties', 'sba(sv)', sliceName(name), ['true', ...listOf(properties)]);
    // systemd may write them later.
    const written = cpuQuota === undefined ? config : { ...config, cpuQuota: roundUpQuota(cpuQuota) };
    await this.#files.write(this.path(name), written);
  }

  async destroy(name: CgroupName): Promise<void> {
    const slice = sliceName(name);
    await this.#systemctl('stop', slice);
    // A slice is only still loaded if it failed.
    await this.#systemctl('reset-failed', slice).catch(() => {});
    await this.#files.remove(this.path(name));
  }

  #call(method: string, signature: string, slice: string, args: readonly string[] = []): Promise<void> {
    const command = ['--', 'call', ...systemd, method, signature, slice, ...args];
    return this.#run('busctl', command).catch((cause: Error) => {
      throw new Error(`${method} of ${slice}: ${cause.message}`, { cause });
    });
  }

  #systemctl(verb: string, slice: string): Promise<void> {
    return this.#run('systemctl', [verb, '--', slice]).catch((cause: Error) => {
      throw new Error(`${verb} of ${slice}: ${cause.message}`, { cause });
    });
  }
}

/** The service, object and interface of systemd. */
const systemd = ['org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'];

function listOf(properties: readonly UnitProperty[]): readonly string[] {
  return [String(properties.length), ...properties.flat()];
}

/**
 * Rejects, with what to do, if systemd cannot be reached.
 *
 * @param problem what needs systemd
 */
export async function requireSystemd(run: RunCommand, problem: string): Promise<void> {
  try {
    await run('busctl', ['--', 'get-property', ...systemd, 'Version']);
    await run('systemctl', ['show', '--property=Version']);
  } catch (cause) {
    throw new Error(
      `${problem}, but systemd cannot be reached: ${(cause as Error).message}. Run the agent on the host with systemd, D-Bus, busctl and systemctl, or configure the cgroup driver cgroupfs in the container runtime`,
      { cause },
    );
  }
}
