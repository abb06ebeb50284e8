import type { Timer } from '../../../src/shared/clock.ts';
import type { World } from '../world.ts';
import { isInitContainer } from './agent-pods.ts';

const killedExitCode = 137;

/** How a run of a container has ended: on its own, because it was asked to, or by force. */
export type ContainerEnd = 'own' | 'stopped' | 'killed';

/** What a container is, for the one who creates it in a runtime. */
export interface ContainerIdentity {
  readonly podUID: string;
  readonly podName: string;
  readonly container: string;
  /** As the runtime knows it, without `runtime://`. */
  readonly id: string;
  readonly attempt: number;
  /** What it does: see `ContainerScript`. */
  readonly args: readonly string[];
}

/** One run of a container that was started. */
export interface ContainerRun extends ContainerIdentity {
  readonly startedMs: number;
  endedMs?: number;
  exitCode?: number;
  endedBy?: ContainerEnd;
  /** It was removed with its logs, to run again in a new sandbox. */
  isPurged?: boolean;
  /** Nothing was left of it when a later run got its number. */
  isForgotten?: boolean;
}

/**
 * What a container does, from its arguments: `after=MS:CODE` for each of its runs, the last one of which repeats; `forever`;
 * `stop=MS:CODE` for when it is asked to stop, at once with 143 if it is missing.
 */
class ContainerScript {
  readonly exitAfterMs: number | undefined;
  readonly exitCode: number = 0;
  readonly stopMs: number = 0;
  readonly stopExitCode: number = 143;

  constructor(args: readonly string[], earlierRuns: number) {
    const runs = args.filter((arg) => /^(after=|forever$)/.test(arg));
    const run = runs[Math.min(earlierRuns, runs.length - 1)] ?? 'forever';
    if (run !== 'forever') [this.exitAfterMs, this.exitCode] = numbersOf(run);
    const stop = args.find((arg) => arg.startsWith('stop='));
    if (stop !== undefined) [this.stopMs, this.stopExitCode] = numbersOf(stop);
  }
}

function numbersOf(arg: string): [number, number] {
  const [first = 0, second = 0] = arg
    .slice(arg.indexOf('=') + 1)
    .split(':')
    .map(Number);
  return [first, second];
}

/** The processes of a container that was created. */
export class SimulatedContainer {
  readonly identity: ContainerIdentity;
  /** Undefined until it is started. */
  run: ContainerRun | undefined;
  readonly #world: World;
  readonly #runs: ContainerRuns;
  readonly #onExit: (run: ContainerRun) => void;
  readonly #waiting = new Set<() => void>();
  #script: ContainerScript | undefined;
  #exit: Timer | undefined;

  constructor(world: World, runs: ContainerRuns, identity: ContainerIdentity, onExit: (run: ContainerRun) => void) {
    this.#world = world;
    this.#runs = runs;
    this.identity = identity;
    this.#onExit = onExit;
  }

  get isRunning(): boolean {
    return this.run !== undefined && this.run.endedMs === undefined;
  }

  start(): void {
    if (this.run !== undefined) return;
    this.#script = new ContainerScript(this.identity.args, this.#runs.of(this.identity).length);
    this.run = { ...this.identity, startedMs: this.#world.nowMs };
    this.#runs.started(this.run, this);
    const { exitAfterMs, exitCode } = this.#script;
    if (exitAfterMs !== undefined) this.#exit = this.#world.at(exitAfterMs, () => this.exit(exitCode, 'own'));
  }

  exit(exitCode: number, endedBy: ContainerEnd): void {
    const { run } = this;
    if (run === undefined || !this.isRunning) return;
    this.#exit?.stop();
    Object.assign(run, { endedMs: this.#world.nowMs, exitCode, endedBy });
    this.#runs.ended(run);
    this.#onExit(run);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  kill(): void {
    if (this.run !== undefined && this.isRunning) this.#runs.stopping(this.run);
    this.exit(killedExitCode, 'killed');
  }

  /**
   * It was asked to be removed, with its logs. Init containers are, before they run again in a new sandbox, and who then finds
   * no run of theirs counts anew (kubelet: `purgeInitContainers`, `calcRestartCountByLogDir`).
   */
  removed(isSandboxReady: boolean): void {
    this.kill();
    if (this.run !== undefined && !isSandboxReady && isInitContainer(this.identity.container)) this.run.isPurged = true;
  }

  /** Asks it to stop, and kills it after the grace period. Resolves when it has ended. */
  async stop(gracePeriodSeconds: number): Promise<void> {
    if (!this.isRunning) return;
    const { stopMs, stopExitCode } = this.#script!;
    const graceMs = gracePeriodSeconds * 1_000;
    if (graceMs === 0) return this.kill();
    this.#runs.stopping(this.run!);
    const ended = new Promise<void>((resolve) => void this.#waiting.add(resolve));
    this.#world.at(stopMs, () => this.exit(stopExitCode, 'stopped'));
    this.#world.at(graceMs, () => this.exit(killedExitCode, 'killed'));
    return ended;
  }
}

/** Is told of what happens to containers. */
export interface ContainerWatcher {
  /** Before a container is stopped or killed that runs. */
  stopping(run: ContainerRun): void;
  /** A container was started, or has ended. */
  started(run: ContainerRun): void;
  ended(run: ContainerRun): void;
}

/** All runs of all containers of a node, by whatever runtime. Checks that no container runs twice at the same time. */
export class ContainerRuns {
  readonly all: ContainerRun[] = [];
  /** IDs of containers that the runtime has lost track of: an agent stops them, whether they run or not. */
  readonly unknown = new Set<string>();
  readonly #world: World;
  readonly #watcher: ContainerWatcher | undefined;
  readonly #byContainer = new Map<string, ContainerRun[]>();
  readonly #byID = new Map<string, ContainerRun>();
  readonly #running = new Map<ContainerRun, SimulatedContainer>();

  constructor(world: World, watcher?: ContainerWatcher) {
    this.#world = world;
    this.#watcher = watcher;
  }

  /** The runs of a container, oldest first. */
  of({ podUID, container }: Pick<ContainerIdentity, 'container' | 'podUID'>): readonly ContainerRun[] {
    return this.#byContainer.get(`${podUID} ${container}`) ?? [];
  }

  withID(id: string): ContainerRun | undefined {
    return this.#byID.get(id);
  }

  /** Those of a pod that run now. */
  running(podUID: string): SimulatedContainer[] {
    return [...this.#running.values()].filter(({ identity }) => identity.podUID === podUID);
  }

  /** When all containers of a pod have ended, by UID. */
  get endedMs(): ReadonlyMap<string, number> {
    const endedMs = new Map<string, number>();
    for (const run of this.all)
      endedMs.set(run.podUID, Math.max(endedMs.get(run.podUID) ?? 0, run.endedMs ?? Number.POSITIVE_INFINITY));
    return endedMs;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  started(run: ContainerRun, container: SimulatedContainer): void {
    const key = `${run.podUID} ${run.container}`;
    const earlier = this.#byContainer.get(key) ?? [];
    this.#world.note('node', 'started', run.podName, run.podUID, run.container, run.id);
    this.#world.count('container started');
    if (earlier.every(({ isPurged }) => isPurged)) for (const other of earlier) other.isForgotten = true;
    for (const other of earlier) {
      const where = `${run.podName} ${run.podUID} ${run.container}`;
      if (other.endedMs === undefined)
        this.#world.violate('no container runs twice', `${where}: ${run.id} was started while ${other.id} was running`);
      if (other.attempt === run.attempt && !other.isForgotten)
        this.#world.violate('a run has one container', `${where}: ${other.id} and ${run.id} are run ${run.attempt}`);
    }
    this.#byContainer.set(key, [...earlier, run]);
    this.#byID.set(run.id, run);
    this.all.push(run);
    this.#running.set(run, container);
    this.#watcher?.started(run);
  }

  stopping(run: ContainerRun): void {
    this.#watcher?.stopping(run);
  }

  ended(run: ContainerRun): void {
    this.#running.delete(run);
    this.#watcher?.ended(run);
    this.#world.note('node', 'ended', run.podName, run.podUID, run.container, run.id, run.exitCode, run.endedBy);
    this.#world.count(`container ${run.endedBy === 'own' ? 'exited' : (run.endedBy ?? '')}`);
  }
}
