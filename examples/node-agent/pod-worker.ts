import type { Clock, ContainerStatus, Pod, Timer } from 'kubelet-status-manager';
import { computePodActions, restartAtMs } from './compute-pod-actions.ts';
import { ContainerConfigError } from './container-command.ts';
import {
  type ContainerRecord,
  createContainerRecords,
  endBackOff,
  markBackingOff,
  markExited,
  markMisconfigured,
  markRunning,
  markStartFailed,
  markStarting,
} from './container-record.ts';
import type { ContainerRuntime, RunningContainer } from './container-runtime.ts';
import type { CrashLoopLimits } from './crash-loop-back-off.ts';
import { isDeletionRequested, isPodFinished, podName } from './pods.ts';

/** Why a pod is terminated although it has neither finished nor been deleted. */
export interface Eviction {
  readonly reason: string;
  readonly message: string;
}

export interface PodWorkerOptions {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly crashLoopLimits: CrashLoopLimits;
  /** Called after anything about the pod may have changed. Calls are never nested. */
  readonly onChange: (worker: PodWorker) => void;
}

/** Timers of Node.js take at most 2³¹−1 ms; a grace period may be longer. */
const longestDelayMs = 86_400_000;

/**
 * The lifecycle of one pod, from the moment it is bound to this node:
 *
 * - **syncing**: its containers are started and restarted as its spec says. Ends when the pod is
 *   deleted or evicted, or when no container is left to start.
 * - **terminating**: its containers get SIGTERM, sidecars last, and SIGKILL when the grace period is
 *   over. Ends when no container runs.
 * - **terminated**: no container runs, and none will be started.
 *
 * Each method first changes the state, then calls `sync`, which acts on the state.
 * Source: kubelet `podWorkers`.
 */
export class PodWorker {
  readonly #options: PodWorkerOptions;
  readonly #records: readonly ContainerRecord[];
  #pod: Pod;
  #stage: 'syncing' | 'terminating' | 'terminated' = 'syncing';
  #eviction: Eviction | undefined;
  readonly #askedToEnd = new Set<ContainerRecord>();
  #killAtMs = Infinity;
  #alarm: Timer | undefined;
  #onTerminated: () => void = () => {};
  /** Resolves when the pod is terminated. */
  readonly terminated = new Promise<void>((resolve) => {
    this.#onTerminated = resolve;
  });

  constructor(pod: Pod, options: PodWorkerOptions) {
    this.#pod = pod;
    this.#options = options;
    this.#records = createContainerRecords(pod, options.clock);
  }

  /** The pod as the API server last showed it. */
  get pod(): Pod {
    return this.#pod;
  }

  get eviction(): Eviction | undefined {
    return this.#eviction;
  }

  get isTerminated(): boolean {
    return this.#stage === 'terminated';
  }

  get initContainerStatuses(): ContainerStatus[] {
    return this.#records.filter(({ role }) => role !== 'regular').map(({ status }) => status);
  }

  get containerStatuses(): ContainerStatus[] {
    return this.#records.filter(({ role }) => role === 'regular').map(({ status }) => status);
  }

  /** Takes a new version of the pod from the API server and acts on it. */
  update(pod: Pod): void {
    this.#pod = pod;
    if (isDeletionRequested(pod)) {
      this.#terminateWithin(pod.metadata?.deletionGracePeriodSeconds ?? this.#gracePeriodSeconds);
    } else if (isPodFinished(pod)) {
      this.#terminateWithin(this.#gracePeriodSeconds);
    }
    this.sync();
  }

  /**
   * Terminates the pod although the API server shows no deletion: its object is gone, or the agent has
   * a reason of its own (`eviction`). With a reason the pod fails, unless it was already terminating.
   */
  terminate({
    eviction,
    maxGracePeriodSeconds = Infinity,
  }: { eviction?: Eviction; maxGracePeriodSeconds?: number } = {}): void {
    if (this.#stage === 'syncing') this.#eviction = eviction;
    this.#terminateWithin(Math.min(this.#gracePeriodSeconds, maxGracePeriodSeconds));
    this.sync();
  }

  /** Does what the pod's state requires. Cheap when there is nothing to do. */
  sync(): void {
    if (this.#stage === 'terminated') return;
    this.#alarm?.stop();
    this.#alarm = undefined;
    if (this.#stage === 'syncing') this.#syncPod();
    if (this.#stage === 'terminating') this.#syncTerminatingPod();
    this.#options.onChange(this);
  }

  #syncPod(): void {
    const now = this.#options.clock.monotonicMs();
    const { toStart, backingOff, finished } = computePodActions(this.#pod.spec ?? {}, this.#records, now);
    if (finished) {
      this.#terminateWithin(this.#gracePeriodSeconds);
      return;
    }
    for (const record of toStart) void this.#run(record);
    for (const record of backingOff) markBackingOff(record, podName(this.#pod));
    this.#syncAt(Math.min(...backingOff.map(restartAtMs)));
  }

  #syncTerminatingPod(): void {
    const running = this.#records.filter((record) => record.process !== undefined);
    if (running.length === 0) {
      this.#stage = 'terminated';
      this.#onTerminated();
      return;
    }
    if (this.#options.clock.monotonicMs() >= this.#killAtMs) {
      for (const record of running) signal(record, 'SIGKILL');
      return;
    }
    // Sidecars are stopped last, in the reverse order of their start, because the others may need them until then.
    const others = running.filter(({ role }) => role !== 'sidecar');
    for (const record of others.length > 0 ? others : running.slice(-1)) {
      if (record.process === 'starting' || this.#askedToEnd.has(record)) continue;
      this.#askedToEnd.add(record);
      signal(record, 'SIGTERM');
    }
    this.#syncAt(this.#killAtMs);
  }

  /** One run of one container, from its start to its end; never rejects. */
  async #run(record: ContainerRecord): Promise<void> {
    const { runtime, clock, crashLoopLimits } = this.#options;
    const restartCount = markStarting(record, clock, crashLoopLimits);
    let process: RunningContainer;
    try {
      process = await runtime.start(this.#pod, record.spec, restartCount);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (error instanceof ContainerConfigError) markMisconfigured(record, message);
      else markStartFailed(record, restartCount, message, clock, crashLoopLimits);
      this.sync();
      return;
    }
    markRunning(record, process, restartCount, clock);
    this.sync();
    markExited(record, await process.exited, clock, crashLoopLimits);
    this.sync();
  }

  #terminateWithin(gracePeriodSeconds: number): void {
    if (this.#stage === 'syncing') {
      this.#stage = 'terminating';
      for (const record of this.#records) endBackOff(record);
    }
    // A later request may shorten the grace period, but never extends it.
    this.#killAtMs = Math.min(this.#killAtMs, this.#options.clock.monotonicMs() + gracePeriodSeconds * 1000);
  }

  get #gracePeriodSeconds(): number {
    return this.#pod.spec?.terminationGracePeriodSeconds ?? 30;
  }

  #syncAt(timeMs: number): void {
    if (timeMs === Infinity) return;
    const { clock } = this.#options;
    const delayMs = Math.max(0, timeMs - clock.monotonicMs());
    this.#alarm = clock.afterFunc(Math.min(delayMs, longestDelayMs), () => this.sync());
  }
}

function signal({ process }: ContainerRecord, name: 'SIGTERM' | 'SIGKILL'): void {
  if (process !== undefined && process !== 'starting') process.signal(name);
}
