import {
  type Clock,
  type ContainerStatusInput,
  generateAPIPodStatus,
  type ObservedPod,
  type Pod,
  type Timer,
} from '../../src/status-manager/index.ts';
import { type AgentReport, messageOf, type PodRuntime, type RuntimeContainer } from './protocol.ts';
import type { LifeManager } from './outcome-ledger.ts';
import type { Random } from './random.ts';

export interface PodLifeOptions {
  readonly manager: LifeManager;
  readonly clock: Clock;
  readonly random: Random;
  /** The time of reports: of a clock that does not jump. */
  readonly reportNow: () => number;
  readonly nextVersion: () => number;
  readonly send: (report: AgentReport) => void;
  /** The state that an earlier agent left. */
  readonly runtime: PodRuntime | undefined;
  /** A pod is finished some time after its containers have ended, as after its volumes were unmounted. Default: at once. */
  readonly finishesLater?: boolean | undefined;
}

const terminalPhases: ReadonlySet<unknown> = new Set(['Succeeded', 'Failed']);

/**
 * The random lifecycle of one pod on this node: its containers start, become ready and unready,
 * crash, restart and terminate. Every change is reported to the status manager as an agent does it.
 */
export class PodLife {
  readonly #options: PodLifeOptions;
  readonly #uid: string;
  readonly #runtime: PodRuntime;
  #pod: Pod;
  #timer: Timer | undefined;
  #state: 'living' | 'ending' | 'ended' = 'living';
  #eviction: ObservedPod['eviction'];
  #isSettling = false;
  #hasReported = false;

  constructor(pod: Pod, options: PodLifeOptions) {
    this.#pod = pod;
    this.#uid = pod.metadata!.uid!;
    this.#options = options;
    this.#runtime = options.runtime ?? { containers: (pod.spec?.containers ?? []).map(created), ended: false };
  }

  /** True while a container runs or may start. */
  get couldHaveRunningContainers(): boolean {
    return !this.#runtime.ended;
  }

  start(): void {
    const { manager, random } = this.#options;
    const previous = manager.getPodStatus(this.#uid) ?? this.#pod.status;
    if (this.#runtime.ended || terminalPhases.has(previous?.phase)) this.#end();
    else if (this.#isDeleted || this.#hasStopped) this.#beginEnd();
    else {
      if (this.#isSettling || random.chance(0.6)) this.#report();
      this.#schedule();
    }
  }

  update(pod: Pod): void {
    this.#pod = pod;
    if (this.#isDeleted && this.#state === 'living') this.#beginEnd();
  }

  /** Finishes a termination in progress, reports the pod if it was never reported, and starts nothing new. */
  settle(): void {
    this.#isSettling = true;
    if (this.#state === 'living' && this.#options.manager.getPodStatus(this.#uid) === undefined) this.#report();
  }

  stop(): void {
    this.#state = 'ended';
    this.#timer?.stop();
  }

  get #isDeleted(): boolean {
    return this.#pod.metadata?.deletionTimestamp != null;
  }

  get #hasStopped(): boolean {
    return this.#runtime.containers.every(({ state }) => state === 'terminated');
  }

  #schedule(delayMs = this.#options.random.integer(20, 400)): void {
    this.#timer = this.#options.clock.afterFunc(delayMs, () => this.#step());
  }

  #step(): void {
    if (this.#isSettling) return;
    this.#act();
    if (this.#state === 'living') this.#schedule();
  }

  #act(): void {
    const { random, manager } = this.#options;
    const container = random.pick(this.#runtime.containers);
    if (container.state === 'waiting') return this.#startContainer(container);
    const restarts = this.#pod.spec?.restartPolicy ?? 'Always';
    switch (
      random.weighted({ cosmetic: 30, readiness: 25, startup: 4, burst: 6, crash: 10, exit: 6, evict: 2, again: 5 })
    ) {
      case 'cosmetic':
        return this.#report();
      case 'readiness':
        if (container.state !== 'running') return;
        container.ready = !container.ready;
        this.#reportRuntime();
        manager.setContainerReadiness(this.#uid, containerID(container), container.ready);
        return;
      case 'startup':
        if (container.state !== 'running') return;
        container.started = !container.started;
        this.#reportRuntime();
        manager.setContainerStartup(this.#uid, containerID(container), container.started);
        return;
      case 'burst':
        for (let i = random.integer(2, 8); i > 0; i--) this.#report();
        return;
      case 'crash':
        if (restarts !== 'Never' && container.state === 'running') this.#restart(container);
        return;
      case 'exit':
        return this.#exit(container, restarts);
      case 'evict':
        this.#eviction = { reason: 'Evicted', message: 'The node was low on memory.' };
        return this.#beginEnd();
      case 'again':
        // A status of an earlier agent may come from a list that is older than what that agent wrote.
        if (this.#hasReported) manager.setPodStatus(this.#pod, manager.getPodStatus(this.#uid) ?? {});
    }
  }

  #startContainer(container: RuntimeContainer): void {
    Object.assign(container, { state: 'running', startedAt: this.#now(), started: true });
    this.#reportRuntime();
    this.#report();
  }

  #restart(container: RuntimeContainer): void {
    const { startedAt } = container;
    const finishedAt = this.#now();
    container.last = { exitCode: 1, startedAt, finishedAt };
    Object.assign(container, { restartCount: container.restartCount + 1, startedAt: finishedAt, ready: false });
    this.#reportRuntime();
    this.#report();
  }

  /** Terminates a container without a restart. The pod ends when all its containers have terminated. */
  #exit(container: RuntimeContainer, restarts: string): void {
    if (restarts === 'Always' || container.state !== 'running') return;
    const exitCode = restarts === 'Never' ? this.#options.random.integer(0, 1) : 0;
    this.#terminate(container, exitCode);
    this.#reportRuntime();
    if (this.#hasStopped) this.#beginEnd();
    else this.#report();
  }

  /** Stops the containers after a while and reports it; sometimes it is reported before they have stopped. */
  #beginEnd(): void {
    const { random, clock } = this.#options;
    this.#timer?.stop();
    this.#state = 'ending';
    const isEarly = random.chance(0.3);
    this.#timer = clock.afterFunc(random.integer(0, 400), () => {
      for (const container of this.#runtime.containers) this.#terminate(container, 143);
      this.#reportRuntime();
      if (!isEarly) return this.#end();
      this.#report(true);
      this.#timer = clock.afterFunc(random.integer(100, 600), () => this.#end());
    });
  }

  #end(): void {
    this.#state = 'ended';
    for (const container of this.#runtime.containers) this.#terminate(container, 143);
    this.#runtime.ended = true;
    this.#reportRuntime();
    this.#report(true);
    const { clock, finishesLater, random } = this.#options;
    if (finishesLater === true) this.#timer = clock.afterFunc(random.integer(50, 600), () => this.#finish());
    else this.#finish();
  }

  #finish(): void {
    const { manager, reportNow, send } = this.#options;
    send({ kind: 'ended', uid: this.#uid, atMs: reportNow() });
    // An earlier agent has finished it, and the deletion that followed has been requested.
    if (manager.getPodStatus(this.#uid) !== undefined) manager.terminatePod(this.#pod);
  }

  #terminate(container: RuntimeContainer, exitCode: number): void {
    if (container.state === 'terminated') return;
    Object.assign(container, { state: 'terminated', exitCode, finishedAt: this.#now(), ready: false, started: false });
  }

  #report(podIsTerminal = false): void {
    const { manager, nextVersion, send } = this.#options;
    const isUp = this.#runtime.containers.some(({ startedAt }) => startedAt !== '');
    const status = generateAPIPodStatus(this.#pod, {
      containerStatuses: this.#runtime.containers.map(containerStatus),
      hostIPs: ['10.1.0.1'],
      ...(isUp && { podIPs: ['10.0.0.1'], sandboxes: [{ ready: !podIsTerminal, network: { ip: '10.0.0.1' } }] }),
      podIsTerminal,
      previous: manager.getPodStatus(this.#uid),
      eviction: podIsTerminal ? this.#eviction : undefined,
    });
    this.#hasReported = true;
    const version = nextVersion();
    const { changed, rejected } = manager.setPodStatus(this.#pod, {
      ...status,
      message: messageOf(version, this.#uid),
    });
    if (changed) send({ kind: 'accepted', uid: this.#uid, version });
    if (rejected !== undefined) send({ kind: 'rejected', uid: this.#uid, reason: rejected.reason });
  }

  /** Called before the manager is told, so that a later agent never knows less than the API server. */
  #reportRuntime(): void {
    this.#options.send({ kind: 'runtime', uid: this.#uid, runtime: this.#runtime });
  }

  #now(): string {
    return new Date(Math.floor(this.#options.clock.now() / 1000) * 1000).toISOString();
  }
}

function created({ name }: { readonly name?: string | null | undefined }): RuntimeContainer {
  return {
    name: name ?? '',
    state: 'waiting',
    exitCode: 0,
    restartCount: 0,
    ready: false,
    started: false,
    startedAt: '',
    finishedAt: '',
  };
}

function containerID({ name, restartCount }: RuntimeContainer): string {
  return `chaos://${name}-${restartCount}`;
}

function containerStatus(container: RuntimeContainer): ContainerStatusInput {
  const { name, state, exitCode, restartCount, ready, started, startedAt, finishedAt, last } = container;
  return {
    name,
    image: 'i',
    imageID: 'sha256:i',
    restartCount,
    ready,
    ...(startedAt !== '' && { containerID: containerID(container), started }),
    state:
      state === 'waiting'
        ? { waiting: { reason: 'ContainerCreating' } }
        : state === 'running'
          ? { running: { startedAt } }
          : { terminated: terminated(exitCode, startedAt || finishedAt, finishedAt) },
    ...(last !== undefined && {
      lastState: { terminated: terminated(last.exitCode, last.startedAt, last.finishedAt) },
    }),
  };
}

function terminated(exitCode: number, startedAt: string, finishedAt: string): object {
  return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt, finishedAt };
}
