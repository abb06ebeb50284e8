import { setMaxListeners } from 'node:events';
import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { Clock, Timer } from '../clock.ts';
import { podFields } from '../log-fields.ts';
import { type Logger, thrownFields } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { ApiOutage, type OutageInspection } from './api-outage.ts';
import { BackOff, type BackOffEntry } from './back-off.ts';
import type { ClientLimiter } from './client-limiter.ts';
import { IdleWaiters } from './idle-waiters.ts';
import { InFlightSyncs } from './in-flight-syncs.ts';
import { runManualBatch, type SyncBatchResult } from './manual-batch.ts';
import type { Outcomes } from './outcomes.ts';
import type { SyncPermits } from './pod-requests.ts';
import type { PodSyncer } from './pod-syncer.ts';
import { RetryTimer } from './retry-timer.ts';
import type { FullBatch } from './full-batch.ts';
import { SyncQueue } from './sync-queue.ts';
import { SyncResultHandler } from './sync-result-handler.ts';
import { type RequestedDeletion, TerminatingPods } from './terminating-pods.ts';
import { waitingFor, type WaitingFor } from './waiting-for.ts';
import { WakeUp } from './wake-up.ts';

/** See `SyncLoop`. */
export type ManagerState = 'created' | 'running' | 'stopping' | 'stopped';

export interface SyncLoopOptions {
  readonly cache: PodStatusCache;
  readonly podManager: PodManager;
  readonly fullBatch: FullBatch;
  readonly syncer: PodSyncer;
  readonly limiter: ClientLimiter;
  readonly outcomes: Outcomes;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly random: () => number;
  readonly syncPeriodMs: number;
  readonly concurrency: number;
}

/** Pods that wait are examined again at most this often: each time all that is unsent is looked through. */
const retryGranularityMs = 100;
/** A log entry names at most so many pods. */
const maxLoggedPods = 20;

/**
 * The one loop. Its states:
 *
 * - **created**: nothing runs on its own; `syncBatch` and `flush` work. Left by `start` or `stop`.
 * - **running**: a wake-up enqueues the pods whose status changed; a tick all pods that are unsent
 *   or differ from what the pod manager shows; the retry timer those whose back-off is over.
 * - **stopping**: no ticks; with a deadline, `flush` sends what is unsent. Then all is aborted.
 * - **stopped**: no timer, request or promise is left.
 *
 * A pod is idle, queued, in flight, or waiting for a retry. At most `concurrency` pods are in
 * flight, each pod at most once; a pod that changes while it is in flight is enqueued afterwards.
 * Divergence: the kubelet syncs one pod after the other, so that a request that hangs holds up all.
 *
 * Everything between two `await`s is one critical section. Awaits are only in
 * `InFlightSyncs`, in a full batch between its slices, and where somebody waits for the loop to be idle.
 * Source: kubelet `manager.Start`, `syncBatch`.
 */
export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #queue = new SyncQueue();
  readonly #backOff: BackOff;
  readonly #apiOutage: ApiOutage;
  readonly #terminatingPods: TerminatingPods;
  readonly #resultHandler: SyncResultHandler;
  readonly #inFlight: InFlightSyncs;
  readonly #aborter = new AbortController();
  readonly #wakeUp = new WakeUp(() => this.#enqueueChanged());
  readonly #retryTimer: RetryTimer;
  readonly #idleWaiters = new IdleWaiters();
  #state: ManagerState = 'created';
  #tickTimer: Timer | undefined;
  #fullScan: Promise<void> | undefined;
  #flushes = 0;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#backOff = new BackOff(options.random);
    this.#terminatingPods = new TerminatingPods(options);
    this.#apiOutage = new ApiOutage({ ...options, countUnsent: () => options.cache.unsentUIDs().length });
    this.#resultHandler = new SyncResultHandler({
      ...options,
      apiOutage: this.#apiOutage,
      backOff: this.#backOff,
      terminatingPods: this.#terminatingPods,
    });
    this.#inFlight = new InFlightSyncs({
      ...options,
      resultHandler: this.#resultHandler,
      onEnded: (uid, hasThrown) => this.#syncEnded(uid, hasThrown),
    });
    this.#retryTimer = new RetryTimer(options.clock, () => this.#retryDue());
    // Each request in flight listens.
    setMaxListeners(0, this.#aborter.signal);
  }

  get state(): ManagerState {
    return this.#state;
  }

  get isWakeUpWaiting(): boolean {
    return this.#wakeUp.isWaiting;
  }

  isInFlight(uid: string): boolean {
    return this.#inFlight.has(uid);
  }

  /** Why and until when the pod waits after a failure; undefined when nothing failed. */
  backOffOf(uid: string): BackOffEntry | undefined {
    return this.#backOff.get(uid);
  }

  /** Undefined while the API server processes requests. */
  get outage(): OutageInspection | undefined {
    return this.#apiOutage.inspect();
  }

  /** What the pod waits for; undefined when nothing is to be done for it. Makes no request. */
  waitingFor(uid: string, nowMs: number): WaitingFor | undefined {
    const { cache, limiter } = this.#options;
    const sources = {
      cache,
      limiter,
      inFlight: this.#inFlight,
      queue: this.#queue,
      backOff: this.#backOff,
      terminatingPods: this.#terminatingPods,
      hasStopped: this.#state === 'stopped',
      isSending: this.#isSending,
    };
    return waitingFor(uid, sources, nowMs);
  }

  /** Pods that finalizers keep; they have no cached status any more. */
  requestedDeletions(): RequestedDeletion[] {
    return this.#terminatingPods.requestedDeletions();
  }

  /** The first full batch runs one period after this. */
  start(): void {
    this.#state = 'running';
    this.#armTick();
    if (this.#wakeUp.isWaiting) this.#wakeUp.schedule();
  }

  /** A status was accepted. */
  wake(): void {
    this.#wakeUp.signal();
    if (this.#isSending) this.#wakeUp.schedule();
  }

  /** The pod has an API object now that it had not before: what is unsent can be sent. */
  apiObjectAppeared(uid: string): void {
    this.#options.cache.markChanged(uid);
    if (this.#isSending) this.#wakeUp.schedule();
  }

  /** The pod's status has been dropped: nothing of it is to be sent any more. */
  forget(uid: string): void {
    this.#queue.remove(uid);
    this.#backOff.forget(uid);
    this.#terminatingPods.forget(uid);
    this.#notifyIfIdle();
  }

  /** The pod manager shows fewer pods: reports those API objects that finalizers kept and that are gone now. */
  podsRemoved(): void {
    this.#resultHandler.reportGoneObjects();
  }

  /** The kubelet's batch, driven by hand: takes a waiting wake-up, ignores back-off, limits and priorities. */
  async syncBatch(all: boolean): Promise<SyncBatchResult> {
    const { fullBatch, cache, concurrency } = this.#options;
    this.#wakeUp.take();
    const uids: string[] = [];
    if (all) await fullBatch.run((uid, needsSync) => needsSync && uids.push(uid), this.#aborter.signal);
    else uids.push(...cache.uidsOfUnsentVersions());
    const permits: SyncPermits = { signal: this.#aborter.signal, acquire: () => Promise.resolve() };
    const result = await runManualBatch(uids, concurrency, (uid) => this.#inFlight.startInTurn(uid, permits));
    if (all) this.#endFullBatch();
    return result;
  }

  /**
   * Tries every unsent version now, whatever its back-off, and resolves when none is left and no
   * request under way, or `deadlineMs` have passed. What is set in the meantime is sent, too.
   * @returns how many statuses are still unsent
   */
  async flush(deadlineMs: number): Promise<number> {
    const { cache, clock } = this.#options;
    let isOver = false;
    let end = (): void => {};
    const deadline = new Promise<void>((resolve) => (end = resolve));
    const timer = clock.afterFunc(deadlineMs, () => {
      isOver = true;
      end();
    });
    this.#flushes++;
    try {
      for (const uid of cache.unsentUIDs()) {
        this.#backOff.endWait(uid, clock.monotonicMs());
        this.#enqueue(uid);
      }
      this.#pump();
      const isDone = (): boolean => this.#inFlight.size === 0 && cache.unsentUIDs().length === 0;
      while (!isOver && !this.#aborter.signal.aborted && !isDone()) {
        await Promise.race([this.#idleWaiters.wait(), deadline]);
      }
    } finally {
      this.#flushes--;
      timer.stop();
      if (!this.#isSending) this.#quiesce();
    }
    return cache.unsentUIDs().length;
  }

  /** Ends the loop: with a deadline it drains first. Resolves when nothing is left behind. */
  async stop(drainMs: number | undefined): Promise<void> {
    this.#state = 'stopping';
    this.#tickTimer?.stop();
    try {
      if (drainMs !== undefined && (await this.flush(drainMs)) > 0) this.#warnOfUnsent(drainMs);
    } catch (error) {
      this.#options.logger.error(thrownFields(error), 'Draining failed');
    }
    this.#aborter.abort();
    this.#quiesce();
    await Promise.all([this.#inFlight.whenAllEnded(), this.#fullScan]);
    this.#notifyIfIdle();
    this.#options.outcomes.stop();
    this.#state = 'stopped';
  }

  #warnOfUnsent(drainMs: number): void {
    const { cache, logger, metrics } = this.#options;
    const uids = cache.unsentUIDs();
    const pods = uids.slice(0, maxLoggedPods).map((uid) => podFields(uid, cache.get(uid)!).pod);
    metrics.incUnsentAtStop(uids.length);
    logger.warn({ unsent: uids.length, pods, drainMs }, 'Stopping with pod statuses that could not be sent in time');
  }

  /** On its own, not only by hand. */
  get #isSending(): boolean {
    return (this.#state === 'running' || this.#flushes > 0) && !this.#aborter.signal.aborted;
  }

  /** Starts nothing more on its own; what is unsent stays unsent. */
  #quiesce(): void {
    this.#queue.clear();
    this.#options.limiter.inFlightBound?.withdraw(this);
    this.#retryTimer.stop();
  }

  #armTick(): void {
    this.#tickTimer = this.#options.clock.afterFunc(this.#options.syncPeriodMs, () => {
      if (this.#state !== 'running') return;
      this.#armTick();
      // A tick that comes while the last one is still at work is dropped.
      if (this.#fullScan === undefined) this.#fullScan = this.#scan();
    });
  }

  async #scan(): Promise<void> {
    try {
      await this.#options.fullBatch.run((uid, needsSync) => {
        if (needsSync) this.#enqueue(uid);
        else if (this.#isInSync(uid)) this.#backOff.forget(uid);
        this.#pump();
      }, this.#aborter.signal);
      // What no wake-up and no comparison tells: a status that was set again below the version that was sent.
      for (const uid of this.#options.cache.unsentUIDs()) this.#enqueue(uid);
      this.#endFullBatch();
      this.#pump();
    } catch (error) {
      this.#options.logger.error(thrownFields(error), 'A full batch failed');
    } finally {
      this.#fullScan = undefined;
    }
  }

  #endFullBatch(): void {
    this.podsRemoved();
    this.#terminatingPods.logStuck();
  }

  /** As far as a full batch can see: whatever the pod waited for is over. */
  #isInSync(uid: string): boolean {
    return this.#options.cache.get(uid)?.unsentSinceMs === undefined || this.#backOff.get(uid)?.reason === 'hot-loop';
  }

  #enqueueChanged(): void {
    if (!this.#isSending) return;
    this.#wakeUp.take();
    try {
      for (const uid of this.#options.cache.takeChanged()) this.#enqueue(uid);
    } catch (error) {
      this.#options.logger.error(thrownFields(error), 'An incremental batch failed');
    }
    this.#pump();
  }

  /** Enqueues the pod, unless it is in flight (examined again then) or has to wait. */
  #enqueue(uid: string): void {
    const versioned = this.#options.cache.get(uid);
    if (versioned === undefined || this.#inFlight.has(uid)) return;
    const nowMs = this.#options.clock.monotonicMs();
    const waitMs = this.#backOff.waitMs(uid, versioned.version, nowMs);
    if (waitMs === 0) this.#queue.add(uid, versioned.urgent || versioned.podIsFinished, nowMs);
    // What was undone by somebody else waits for the next full batch, of which a flush has none.
    else if (this.#isSending && (versioned.unsentSinceMs !== undefined || this.#flushes > 0))
      this.#retryTimer.arm(waitMs);
  }

  #pump(): void {
    const { limiter, concurrency } = this.#options;
    const permits: SyncPermits = { signal: this.#aborter.signal, acquire: (signal) => limiter.acquire(signal) };
    if (limiter.isPaused) {
      if (this.#isSending) this.#retryTimer.arm(limiter.pauseMs);
      return;
    }
    const bound = limiter.inFlightBound;
    while (this.#inFlight.size < concurrency && this.#queue.size > 0 && !this.#aborter.signal.aborted) {
      if (bound !== undefined && !bound.tryEnter()) {
        // Other managers share the client: it is our turn later, with what is most urgent then.
        bound.wait(this, () => this.#pump());
        return;
      }
      const uid = this.#queue.take()!;
      if (this.#inFlight.has(uid)) bound?.leave();
      else void this.#inFlight.start(uid, permits).then(() => bound?.leave());
    }
  }

  /** What was set in the meantime is sent next; what failed waits for its retry; what threw for a wake-up or tick. */
  #syncEnded(uid: string, hasThrown: boolean): void {
    try {
      if (!hasThrown && this.#isSending && this.#options.cache.isUnsent(uid)) this.#enqueue(uid);
    } catch (error) {
      this.#options.logger.error({ ...thrownFields(error), podUID: uid }, 'Failed to examine a pod after its sync');
    }
    this.#pump();
    this.#notifyIfIdle();
  }

  /** Enqueues the pods whose back-off is over and that still have something to send. */
  #retryDue(): void {
    if (!this.#isSending) return;
    const { cache, clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    try {
      for (const uid of cache.unsentUIDs()) {
        if (this.#backOff.get(uid) === undefined) continue;
        const waitMs = this.#backOff.waitMs(uid, cache.get(uid)!.version, nowMs);
        if (waitMs === 0) this.#enqueue(uid);
        else nextMs = Math.min(nextMs, waitMs);
      }
    } catch (error) {
      logger.error(thrownFields(error), 'Failed to re-examine pods waiting for a retry');
    }
    if (nextMs !== Number.POSITIVE_INFINITY) this.#retryTimer.arm(Math.max(nextMs, retryGranularityMs));
    this.#pump();
  }

  #notifyIfIdle(): void {
    const isIdle = this.#inFlight.size === 0 && (this.#queue.size === 0 || this.#aborter.signal.aborted);
    if (isIdle) this.#idleWaiters.notifyIdle();
  }
}
