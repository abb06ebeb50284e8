import type { NodeContext } from '../node-context.ts';
import { sleep } from '../../shared/clock.ts';
import { reasonOf } from '../../shared/logger.ts';
import { MonotonicTimes } from '../../shared/time.ts';
import { Alarm } from '../../shared/alarm.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { PodConfigUpdate } from '../config/pod-config.ts';
import type { SourcesReady } from '../config/sources-ready.ts';
import { ExponentialBackOff } from '../../shared/exponential-back-off.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { PodLifecycleEvent } from './pod-lifecycle-event.ts';
import type { SyncHandler } from './sync-handler.ts';
import type { SyncLoopChannels } from './sync-loop-channels.ts';

export interface KubeletSyncLoopOptions extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly handler: Pick<SyncHandler, keyof SyncHandler>;
  /** Housekeeping; called only when all sources are ready, one call at a time. The loop continues in the meantime. */
  readonly handlePodCleanups: (signal: AbortSignal) => Promise<void>;
  /** Returns how often it is called while there is no input and no failure, in milliseconds. Default: every two seconds. */
  readonly quietHousekeepingPeriodMs?: (() => number) | undefined;
  /** The input queues of the loop. */
  readonly channels: SyncLoopChannels;
  /** The sources that must have delivered their pods before anything is cleaned up. */
  readonly sourcesReady: SourcesReady;
  /** Called before the first update of a source is handled; must not throw. */
  readonly onFirstUpdate?: ((update: PodConfigUpdate) => void) | undefined;
  /**
   * Awaited before added pods are handled. In the meantime, the loop handles everything except updates of sources. Must not
   * reject. Default: nothing is awaited.
   */
  readonly prepareAdditions?: ((pods: readonly Pod[], signal: AbortSignal) => Promise<void>) | undefined;
  /** Returns why pods cannot be synced now; empty if they can. */
  readonly runtimeErrors: () => readonly string[];
}

/** State of the sync loop, for debugging. */
export interface SyncLoopInspection {
  readonly isRunning: boolean;
  /** Numbers of queued items by kind. */
  readonly queued: { readonly config: number; readonly lifecycleEvents: number; readonly probeUpdates: number };
  /** Sources that have not delivered their pods yet; there is no housekeeping until then. */
  readonly waitingForSources: readonly string[];
  /** Why pods are not synced now; empty if they are. */
  readonly runtimeErrors: readonly string[];
  /** Since when pods are not synced; absent if they are. */
  readonly failingSince?: string | undefined;
  /** Since when housekeeping fails; absent if it does not, and while it waits for sources. */
  readonly housekeepingFailingSince?: string | undefined;
  /** When the loop last began an iteration; absent before the first one. */
  readonly lastIterationAt?: string | undefined;
}

/** Delay before the runtime is checked again. Source: kubelet `syncLoop`. */
const runtimeErrorBackOff = { firstMs: 100, maxMs: 5000 };
const syncPeriodMs = 1000;
const housekeepingPeriodMs = 2000;
/** Runtime errors are logged only after this time, because the runtime may be starting. */
const startUpMs = 10_000;

/** Takes the first event and those behind it of the same pod. */
function nextOfOnePod(events: PodLifecycleEvent[]): PodLifecycleEvent[] | undefined {
  const [first] = events;
  if (first === undefined) return undefined;
  const end = events.findIndex(({ podUID }) => podUID !== first.podUID);
  return events.splice(0, end === -1 ? events.length : end);
}

type Work = () => void;

/**
 * The main loop of the agent, which receives everything that makes a pod sync necessary. Each kind of input has a queue, and
 * non-empty queues take turns:
 *
 * - updates from the sources, in order;
 * - events of the runtime;
 * - results of probes;
 * - at the next full second of its running time, the pods whose next sync is due;
 * - every two seconds, housekeeping, or less often while there is no input. A tick is dropped while an earlier one is
 *   waiting.
 *
 * One item is handled at a time, without an await: slow work is done beside the loop, which handles its result. Events of
 * one pod that follow each other are one, so that it is synced once for all of them. While the runtime has errors, nothing
 * is handled; the loop checks again after 100 ms, then after twice as long each time, up to 5 s. Errors that a handler
 * throws are logged. Nothing wakes the loop in a second in which nothing is due, because a process may have hundreds of
 * loops. Source: kubelet `syncLoop`, `syncLoopIteration`.
 */
export class KubeletSyncLoop {
  readonly #options: KubeletSyncLoopOptions;
  readonly #stop = new AbortController();
  readonly #syncAlarm: Alarm;
  readonly #housekeepingAlarm: Alarm;
  #isSyncDue = false;
  #isHousekeepingDue = false;
  /** False if the last housekeeping succeeded, and there has been no input since. */
  #hasToClean = true;
  #lastHousekeepingMs = 0;
  #housekeeping: Promise<void> | undefined;
  /** The next update of the sources, while its pods are being prepared and once they are. */
  #prepared: { readonly update: PodConfigUpdate; isDone: boolean; readonly whenDone: Promise<void> } | undefined;
  readonly #backoff = new ExponentialBackOff(runtimeErrorBackOff);
  readonly #failures: FailureLog;
  readonly #housekeepingFailures: FailureLog;
  /** Each takes the next item of its queue, and returns what handles it; undefined if the queue is empty. */
  readonly #queues: readonly (() => Work | undefined)[];
  #turn = 0;
  #startedMs = 0;
  #lastIterationMs: number | undefined;
  #wakeUp: () => void = () => {};
  #running: Promise<void> | undefined;

  constructor(options: KubeletSyncLoopOptions) {
    this.#options = options;
    const { handler, channels, clock, logger } = options;
    channels.listen({ onReceived: () => this.#wakeUp(), onSyncDue: (dueMs) => this.#armSync(dueMs) });
    this.#syncAlarm = new Alarm(clock, () => {
      this.#isSyncDue = true;
      this.#wakeUp();
    });
    this.#housekeepingAlarm = new Alarm(clock, () => {
      this.#isHousekeepingDue ||= this.#nextHousekeepingMs() <= clock.monotonicMs();
      this.#armHousekeeping();
      this.#wakeUp();
    });
    this.#failures = new FailureLog({ logger, clock, what: 'Syncing pods' });
    this.#housekeepingFailures = new FailureLog({ logger, clock, what: 'Housekeeping' });
    const next =
      <T>(queue: T[], handle: (item: T) => void) =>
      () => {
        const item = queue.shift();
        if (item !== undefined) this.#cleanSoon();
        return item && (() => handle(item));
      };
    const nextConfigUpdate = next(channels.configUpdates, (update) => this.#handleConfigUpdate(update));
    this.#queues = [
      () => (this.#isNextUpdatePrepared() ? nextConfigUpdate() : undefined),
      () => {
        const events = nextOfOnePod(channels.lifecycleEvents);
        if (events !== undefined) this.#cleanSoon();
        return events && (() => events.forEach((event) => handler.handlePodLifecycleEvent(event)));
      },
      next(channels.probeUpdates, ({ probeType, update }) => handler.handleProbeUpdate(probeType, update)),
      () => {
        if (!this.#isSyncDue) return undefined;
        this.#isSyncDue = false;
        return () => {
          const pods = handler.getPodsToSync();
          this.#armSync(handler.nextSyncMs());
          handler.handlePodSyncs(pods);
        };
      },
      () => {
        if (!this.#isHousekeepingDue || this.#housekeeping !== undefined) return undefined;
        this.#isHousekeepingDue = false;
        return () => this.#startHousekeeping();
      },
    ];
  }

  /** Starts the loop. Calling it again does nothing. */
  start(): void {
    if (this.#running !== undefined) return;
    this.#startedMs = this.#options.clock.monotonicMs();
    this.#running = this.#run();
    this.#armHousekeeping();
  }

  /** Resolves when the current item and housekeeping are done; queued items are dropped. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wakeUp();
    await Promise.all([this.#running, this.#housekeeping, this.#prepared?.whenDone]);
  }

  inspect(): SyncLoopInspection {
    const { failingSince } = this.#failures;
    const { failingSince: housekeepingFailingSince } = this.#housekeepingFailures;
    const { channels, clock, runtimeErrors, sourcesReady } = this.#options;
    return {
      isRunning: this.#running !== undefined && !this.#stop.signal.aborted,
      queued: {
        config: channels.configUpdates.length,
        lifecycleEvents: channels.lifecycleEvents.length,
        probeUpdates: channels.probeUpdates.length,
      },
      waitingForSources: sourcesReady.waitingFor(),
      runtimeErrors: runtimeErrors(),
      ...(failingSince !== undefined && { failingSince }),
      ...(housekeepingFailingSince !== undefined && { housekeepingFailingSince }),
      ...(this.#lastIterationMs !== undefined && {
        lastIterationAt: new MonotonicTimes(clock).format(this.#lastIterationMs),
      }),
    };
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) await this.#iterate();
    this.#syncAlarm.stop();
    this.#housekeepingAlarm.stop();
  }

  #armSync(dueMs: number): void {
    this.#atTick(this.#syncAlarm, syncPeriodMs, dueMs);
  }

  #armHousekeeping(): void {
    this.#atTick(this.#housekeepingAlarm, housekeepingPeriodMs, this.#nextHousekeepingMs());
  }

  #nextHousekeepingMs(): number {
    const { quietHousekeepingPeriodMs } = this.#options;
    if (this.#hasToClean) return -Infinity;
    return this.#lastHousekeepingMs + (quietHousekeepingPeriodMs?.() ?? housekeepingPeriodMs);
  }

  #cleanSoon(): void {
    // The alarm is armed for the next tick already.
    if (this.#hasToClean) return;
    this.#hasToClean = true;
    this.#armHousekeeping();
  }

  /** At the first multiple of the period since the start that is in the future, and not before `dueMs`. */
  #atTick(alarm: Alarm, periodMs: number, dueMs: number): void {
    if (this.#running === undefined || this.#stop.signal.aborted || dueMs === Infinity) return;
    const nowMs = this.#options.clock.monotonicMs();
    const ticks = Math.max(
      Math.floor((nowMs - this.#startedMs) / periodMs) + 1,
      Math.ceil((dueMs - this.#startedMs) / periodMs),
    );
    alarm.arm(this.#startedMs + ticks * periodMs - nowMs);
  }

  /** Source: kubelet `syncLoopIteration`. */
  async #iterate(): Promise<void> {
    const { clock, runtimeErrors, logger } = this.#options;
    const errors = runtimeErrors();
    if (errors.length > 0) {
      if (!this.#isStartingUp) this.#failures.failed(new Error(errors.join('; ')));
      return sleep(clock, this.#backoff.next(), this.#stop.signal);
    }
    this.#failures.succeeded();
    this.#backoff.reset();
    this.#lastIterationMs = clock.monotonicMs();

    const work = this.#nextWork();
    if (work === undefined) return this.#untilWoken();
    try {
      work();
    } catch (thrown) {
      logger.error({ reason: reasonOf(thrown) }, 'Sync loop handler failed');
    }
    // Lets timers and sockets run between many updates.
    await clock.yieldToEventLoop();
  }

  #nextWork(): Work | undefined {
    for (let tries = 0; tries < this.#queues.length; tries++) {
      const work = this.#queues[this.#turn]!();
      this.#turn = (this.#turn + 1) % this.#queues.length;
      if (work !== undefined) return work;
    }
    return undefined;
  }

  #untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = resolve;
      if (this.#stop.signal.aborted) resolve();
    });
  }

  /** Has the pods of the next update prepared if it adds some. Later updates wait, because their order matters. */
  #isNextUpdatePrepared(): boolean {
    const { channels, prepareAdditions } = this.#options;
    const [update] = channels.configUpdates;
    if (update?.op !== 'ADD' || prepareAdditions === undefined) return true;
    if (this.#prepared?.update === update) return this.#prepared.isDone;
    const prepared = {
      ...{ update, isDone: false },
      whenDone: prepareAdditions(update.pods, this.#stop.signal).then(() => {
        prepared.isDone = true;
        this.#wakeUp();
      }),
    };
    this.#prepared = prepared;
    return false;
  }

  #handleConfigUpdate(update: PodConfigUpdate): void {
    const { handler, onFirstUpdate, sourcesReady, logger } = this.#options;
    const { op, source, pods } = update;
    logger.debug({ op, source, pods: pods.length }, 'Handling source update');
    if (!sourcesReady.has(source)) onFirstUpdate?.(update);
    sourcesReady.addSource(source);
    switch (op) {
      case 'ADD':
        handler.handlePodAdditions(pods);
        break;
      case 'UPDATE':
      case 'DELETE':
        handler.handlePodUpdates(pods);
        break;
      case 'REMOVE':
        handler.handlePodRemoves(pods);
        break;
      case 'RECONCILE':
        handler.handlePodReconcile(pods);
        break;
    }
    if (op !== 'RECONCILE') this.#armSync(handler.nextSyncMs());
  }

  #startHousekeeping(): void {
    const { sourcesReady, clock } = this.#options;
    // Not a failure: a source that is not ready logs its own errors, and inspect() lists it.
    if (!sourcesReady.allReady()) return;
    this.#hasToClean = false;
    this.#lastHousekeepingMs = clock.monotonicMs();
    this.#housekeeping = this.#handlePodCleanups().finally(() => {
      this.#housekeeping = undefined;
      this.#wakeUp();
    });
  }

  async #handlePodCleanups(): Promise<void> {
    try {
      await this.#options.handlePodCleanups(this.#stop.signal);
      this.#housekeepingFailures.succeeded();
    } catch (thrown) {
      this.#cleanSoon();
      if (!this.#stop.signal.aborted) this.#housekeepingFailures.failed(thrown);
    }
  }

  get #isStartingUp(): boolean {
    return this.#options.clock.monotonicMs() - this.#startedMs < startUpMs;
  }
}
