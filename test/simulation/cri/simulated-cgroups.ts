import { type CgroupLimit, type CgroupLimits, cgroupLimits, limitsIn } from '../../../src/cri/cgroup-limits.ts';
import type { CgroupFileSystem } from '../../../src/cri/cgroup-files.ts';
import { sliceName } from '../../../src/cri/systemd-cgroup-manager.ts';
import type { RunCommand } from '../../../src/cri/run-command.ts';
import type { Random } from '../../chaos/random.ts';
import type { Machine } from '../agent/node-runtime.ts';
import type { SimulatedProcess } from '../simulated-process.ts';

/** Of the containers of a pod, each. */
const usageBytes = 10_000_000;
const badCgroups = { failed: 0.01, slow: 0.02 };

/** Content of files, by name. */
type Cgroup = Map<string, string>;

/** The cgroups of a machine, and its systemd, which outlive the agents. */
export class SimulatedCgroups {
  /** Undefined if the runtime decides where the cgroups of pods are. */
  readonly root: string | undefined;
  readonly isSystemd: boolean;
  /** containerd before 2.0 shows its driver only in its configuration. */
  readonly isOldRuntime: boolean;
  readonly #machine: Machine;
  readonly #random: Random;
  readonly #isUnified: boolean;
  /** By path. */
  readonly #cgroups = new Map<string, Cgroup>();
  #share = 0;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#random = machine.world.random.fork('cgroups');
    this.root = this.#random.chance(0.75) ? '/kubepods' : undefined;
    this.isSystemd = this.#random.chance(0.4) && this.root !== undefined;
    this.#isUnified = this.#random.chance(0.7);
    this.isOldRuntime = this.#random.chance(0.3);
  }

  disturb(share: number): void {
    this.#share = share;
  }

  heal(): void {
    this.#share = 0;
  }

  /** The UIDs of pods that have a cgroup. */
  podUIDs(): string[] {
    return [...this.#cgroups.keys()].flatMap((path) => podUIDOf(path) ?? []);
  }

  /** What the cgroup of a pod allows its containers, in bytes; undefined without a limit. */
  memoryLimitOf(podUID: string): number | undefined {
    const path = [...this.#cgroups.keys()].find((each) => podUIDOf(each) === podUID);
    const text = path === undefined ? undefined : this.#cgroups.get(path)?.get(this.#limits.memory.file);
    const limit = text === undefined ? -1 : this.#limits.memory.parse(text);
    return limit < 0 ? undefined : limit;
  }

  /** Whether a sandbox can be put there. */
  exists(path: string): boolean {
    return this.#cgroups.has(path);
  }

  filesFor(process: SimulatedProcess): CgroupFileSystem {
    const call = <T>(what: string, effect: () => T): Promise<T> => this.#call(process, what, effect);
    return {
      isUnified: this.#isUnified,
      limits: this.#limits,
      exists: (path) => call('exists', () => this.#cgroups.has(path)),
      existsAnywhere: (path) => call('exists', () => this.#cgroups.has(path)),
      create: (path) => call('create', () => this.#create(path)),
      write: (path, config) =>
        call('write', () => {
          const cgroup = this.#find(path);
          for (const [limit, value] of limitsIn(config, this.#isUnified)) cgroup.set(limit.file, limit.format(value));
        }),
      read: (path, limit) => this.#read(path, limit),
      memoryUsageBytes: (path) => usageBytes * this.#running(path).length,
      childrenOf: (path) =>
        call('list', () => {
          const inside = [...this.#cgroups.keys()].filter((each) => each.startsWith(`${path}/`));
          return new Set(inside.map((each) => each.slice(path.length + 1).split('/')[0]!));
        }),
      kill: (path) =>
        call('kill', () => {
          for (const container of this.#running(path)) container.kill();
        }),
      remove: (path) => call('remove', () => this.#remove(path)),
    };
  }

  /** systemd, as its commands show it: a unit that was started has a cgroup, and one that was stopped has none. */
  commandsFor(process: SimulatedProcess): RunCommand {
    return (program, args) =>
      this.#call(process, `${program} ${args[0] === '--' ? args[1] : args[0]}`, () => {
        const [verb = '', ...rest] = args.filter((arg) => arg !== '--');
        const slice = rest.find((arg) => arg.endsWith('.slice'));
        if (slice === undefined) return;
        const path = pathOfSlice(slice);
        const method = verb === 'call' ? rest[3] : verb;
        if (method === 'StartTransientUnit' && this.#cgroups.has(path))
          throw new Error(`Unit ${slice} already exists.`);
        if (method === 'GetUnit' || method === 'SetUnitProperties') this.#find(path);
        else if (method === 'StartTransientUnit' || method === 'start') this.#create(path);
        else if (method === 'stop' && this.#cgroups.has(path)) {
          for (const container of this.#running(path)) container.kill();
          this.#remove(path);
        } else if (method === 'reset-failed') throw new Error(`Unit ${slice} not loaded.`);
      });
  }

  get #limits(): CgroupLimits {
    return cgroupLimits(this.#isUnified);
  }

  #create(path: string): void {
    const names = path.split('/').slice(1);
    for (const [i] of names.entries()) {
      const each = `/${names.slice(0, i + 1).join('/')}`;
      if (!this.#cgroups.has(each)) this.#cgroups.set(each, this.#newCgroup());
    }
  }

  #newCgroup(): Cgroup {
    if (this.#isUnified)
      return new Map(Object.entries({ 'memory.max': 'max', 'cpu.max': 'max 100000', 'cpu.weight': '100' }));
    const content = { 'memory.limit_in_bytes': '-1', 'cpu.cfs_quota_us': '-1', 'cpu.cfs_period_us': '100000' };
    return new Map(Object.entries({ ...content, 'cpu.shares': '1024' }));
  }

  #remove(path: string): void {
    if (this.#running(path).length > 0) throw errno('EBUSY', path);
    for (const each of this.#cgroups.keys())
      if (each === path || each.startsWith(`${path}/`)) this.#cgroups.delete(each);
  }

  #read(path: string, { file }: Pick<CgroupLimit, 'file'>): string {
    const text = this.#find(path).get(file);
    if (text === undefined) throw errno('ENOENT', `${path}/${file}`);
    return text;
  }

  #find(path: string): Cgroup {
    const cgroup = this.#cgroups.get(path);
    if (cgroup === undefined) throw errno('ENOENT', path);
    return cgroup;
  }

  /** The containers of the pods whose cgroups are at or below a path. */
  #running(path: string): ReturnType<Machine['runs']['running']> {
    const inside = [...this.#cgroups.keys()].filter((each) => each === path || each.startsWith(`${path}/`));
    return inside.flatMap((each) => this.#machine.runs.running(podUIDOf(each) ?? ''));
  }

  /** Most calls are done at once. A killed process gets no answer. */
  #call<T>(process: SimulatedProcess, what: string, effect: () => T): Promise<T> {
    if (!process.isAlive) return new Promise(() => {});
    const isFailed = this.#strikes('failed');
    const isSlow = this.#strikes('slow');
    const act = async (): Promise<T> => {
      if (isFailed) throw errno('EIO', what);
      return effect();
    };
    if (!isSlow && !what.includes(' ')) return act();
    const latencyMs = this.#random.next() * (isSlow ? 5_000 : 20);
    return new Promise((resolve, reject) => void process.receive(latencyMs, () => void act().then(resolve, reject)));
  }

  #strikes(kind: keyof typeof badCgroups): boolean {
    const { world } = this.#machine;
    if (this.#share === 0 || !this.#random.chance(badCgroups[kind] * this.#share)) return false;
    if (!world.happens(`cgroups: ${kind}`)) return false;
    world.count(`cgroups: ${kind}`);
    return true;
  }
}

/** Of the cgroup of a pod itself, whichever driver has made it. */
function podUIDOf(path: string): string | undefined {
  return /[/-]pod([^/]+?)(?:\.slice)?$/.exec(path)?.[1]?.replaceAll('_', '-');
}

function pathOfSlice(slice: string): string {
  const parts = slice.slice(0, -'.slice'.length).split('-');
  return `/${parts.map((_, i) => sliceName(parts.slice(0, i + 1))).join('/')}`;
}

function errno(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code, path });
}
