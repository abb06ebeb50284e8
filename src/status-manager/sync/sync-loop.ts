import { type AbortSignalLike, LightAbortController } from '../../shared/abort.ts';
import type { Clock } from '../../shared/clock.ts';
import { podFields } from '../../shared/log-fields.ts';
import { type Logger, thrownFields } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { Metrics } from '../metrics.ts';
import type { Tracing } from '../tracing.ts';
import type { APIOutage } from './api-outage.ts';
import type { BackOff } from './back-off.ts';
import type { ClientLimiter } from './client-limiter.ts';
import type { FullBatch } from './full-batch.ts';
import { InFlightSyncs, type SyncBatchResult } from './in-flight-syncs.ts';
import { LoopInspection, type ManagerState } from './loop-inspection.ts';
import { IdleWaiters, RetryTimer, WakeUp } from './loop-signals.ts';
import type { Outcomes } from './outcomes.ts';
import type { PodRequests, SyncPermits } from './pod-requests.ts';
import type { ResendDetector } from './resend-detector.ts';
import { SyncQueue } from './sync-queue.ts';
import type { SyncResultHandler } from './sync-result-handler.ts';
import type { TerminatingPods } from './terminating-pods.ts';
import type { StatusSyncer } from './when-stale.ts';

export interface SyncLoopOptions {
  readonly cache: PodStatusCache;
  readonly syncer: StatusSyncer;
  readonly fullBatch: FullBatch;
  readonly resultHandler: SyncResultHandler;
  readonly backOff: BackOff;
  readonly limiter: ClientLimiter;
  readonly terminatingPods: TerminatingPods;
  readonly apiOutage: APIOutage;
  readonly requests: PodRequests;
  readonly resendDetector: ResendDetector;
  readonly outcomes: Outcomes;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly syncPeriodMs: number;
  readonly concurrency: number;
}

/** A log entry names at most so many pods. */
const maxLoggedPods = 20;

/** Minimum interval between scans of the pods that wait for a retry. */
const minRetryIntervalMs = 100;

/**
 * The one loop: when pods are examined, and which of them is synced next.
 *
 * The loop is in one of these states:
 *
 * - **created**: nothing runs on its own; `syncBatch` and `flush` work. Left by `start` or `stop`.
 * - **running**: a wake-up enqueues the pods whose status changed; a tick those that are unsent or
 *   differ from what the pod manager shows; the retry timer those whose back-off is over.
 * - **stopping**: no ticks; with a deadline, `flush` sends what is unsent. Then all is aborted.
 * - **stopped**: no timer, request or promise is left.
 *
 * The loop is sending while it is running, and during a flush in any state. A pod is in one of these
 * states:
 *
 * - **idle**: the API server shows its status as far as is known.
 * - **queued** (`SyncQueue`): it is synced when fewer than `concurrency` pods are in flight, when the
 *   managers that share the client leave room, and when the client is not paused.
 * - **in flight** (`InFlightSyncs`): at most once at a time; afterwards it is examined again.
 * - **waiting** (`BackOff`): its last sync failed, or was undone. Left when the retry timer fires, by a
 *   new version where the class of the failure permits it, by `flush`, and by `retryNow`.
 *
 * `#enqueue` decides between queued and waiting, `#startNext` between queued and in flight; all else
 * only names pods. Everything between two `await`s is one critical section. Awaits are only in
 * `InFlightSyncs`, in a full batch between its slices, and where somebody waits for the loop to be idle.
 * Source: kubelet `manager.Start`, `syncBatch`.
 * Divergence: the kubelet syncs one pod after the other, so a request that hangs delays all pods.
 */
export class SyncLoop {
  readonly inspection: LoopInspection;
  readonly #options: SyncLoopOptions;
  readonly #queue = new SyncQueue();
  readonly #inFlight: InFlightSyncs;
  readonly #ticker: Ticker;
  readonly #wakeUp = new WakeUp(() => this.#enqueueChanged());
  readonly #retryTimer: RetryTimer;
  readonly #idleWaiters = new IdleWaiters();
  readonly #aborter = new LightAbortController();
  #state: ManagerState = 'created';
  #flushes = 0;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#inFlight = new InFlightSyncs({ ...options, onEnded: (uid, hasThrown) => this.#syncEnded(uid, hasThrown) });
    this.#ticker = new Ticker(options.clock, options.syncPeriodMs, () => this.#scan());
    this.#retryTimer = new RetryTimer(options.clock, () => this.#enqueueRetries());
    const parts = { queue: this.#queue, inFlight: this.#inFlight, wakeUp: this.#wakeUp };
    this.inspection = new LoopInspection({ ...options, ...parts, loop: this });
  }

  get state(): ManagerState {
    return this.#state;
  }

  /** Pods are synced on their own, not only by hand. */
  get isSending(): boolean {
    return (this.#state === 'running' || this.#flushes > 0) && !this.#signal.aborted;
  }

  /** The first full batch runs one period after this. */
  start(): void {
    this.#state = 'running';
    this.#ticker.start();
    this.#options.apiOutage.start();
    if (this.#wakeUp.isWaiting) this.#wakeUp.schedule();
  }

  /** A status was accepted. */
  wake(): void {
    this.#wakeUp.signal();
    if (this.isSending) this.#wakeUp.schedule();
  }

  /** The pod has an API object now that it had not before: what is unsent can be sent. */
  apiObjectAppeared(uid: string): void {
    this.#options.cache.markChanged(uid);
    if (this.isSending) this.#wakeUp.schedule();
  }

  /** The pod's status has been dropped: nothing of it is to be sent any more. */
  forget(uid: string): void {
    this.#options.syncer.forget(uid);
    this.#options.resultHandler.forget(uid);
    this.#queue.remove(uid);
    this.#notifyIfIdle();
  }

  /** The pod manager shows fewer pods: reports those API objects that finalizers kept and that are gone now. */
  podsRemoved(): void {
    this.#options.resultHandler.reportGoneObjects();
    this.#notifyIfIdle();
  }

  /** Syncs the pod now, as if it had never failed; a manager that does not run only forgets the back-off. */
  retryNow(uid: string): void {
    const { backOff, clock, resendDetector } = this.#options;
    resendDetector.forget(uid);
    backOff.endWait(uid, clock.monotonicMs());
    if (this.isSending) this.#enqueueAll(() => [uid], 'Failed to enqueue a pod that is to be retried');
  }

  /** The kubelet's batch, driven by hand: takes a waiting wake-up, ignores back-off, limits and priorities. */
  async syncBatch(all: boolean): Promise<SyncBatchResult> {
    const { fullBatch, cache, concurrency } = this.#options;
    this.#wakeUp.take();
    const uids: string[] = [];
    if (all) await fullBatch.run((uid, needsSync) => needsSync && uids.push(uid), this.#signal);
    else uids.push(...cache.uidsOfUnsentVersions());
    const permits: SyncPermits = { signal: this.#signal, acquire: () => Promise.resolve() };
    const result = await this.#inFlight.syncAll(uids, concurrency, permits);
    if (all) this.#endFullBatch();
    return result;
  }

  /**
   * Tries every unsent version now, whatever its back-off, and resolves when none is left and no
   * request under way, or `deadlineMs` have passed. What is set in the meantime is sent, too. A pod
   * that is gone by the API server's response and by the pod manager is not waited for.
   * @returns how many statuses are still unsent, without those of such pods
   */
  async flush(deadlineMs: number): Promise<number> {
    const { backOff, cache, clock } = this.#options;
    this.#flushes++;
    try {
      for (const uid of cache.unsentUIDs()) {
        backOff.endWait(uid, clock.monotonicMs());
        this.#enqueue(uid);
      }
      this.#startNext();
      const isDone = (): boolean =>
        this.#signal.aborted || (this.#inFlight.size === 0 && this.#sendableUIDs().length === 0);
      await this.#idleWaiters.waitUntil(isDone, deadlineMs, clock);
    } finally {
      this.#flushes--;
      if (!this.isSending) this.#quiesce();
    }
    return this.#sendableUIDs().length;
  }

  /** Ends the loop: with a deadline it drains first. Resolves when nothing is left behind. */
  async stop(drainMs: number | undefined): Promise<void> {
    this.#state = 'stopping';
    this.#ticker.stop();
    try {
      if (drainMs !== undefined && (await this.flush(drainMs)) > 0) this.#warnOfUnsent(drainMs);
    } catch (error) {
      this.#options.logger.error(thrownFields(error), 'Draining failed');
    }
    this.#aborter.abort();
    this.#quiesce();
    this.#options.apiOutage.stop();
    await Promise.all([this.#inFlight.whenAllEnded(), this.#ticker.whenIdle()]);
    this.#notifyIfIdle();
    this.#options.outcomes.stop();
    this.#state = 'stopped';
  }

  /** At a tick: enqueues what a full batch finds. Never rejects. */
  async #scan(): Promise<void> {
    const { cache, fullBatch, logger, resultHandler } = this.#options;
    try {
      await fullBatch.run((uid, needsSync) => {
        if (needsSync) this.#enqueue(uid);
        else if (this.#isInSync(uid)) resultHandler.inSync(uid);
        this.#startNext();
      }, this.#signal);
      // Neither a wake-up nor the comparison finds a status that was set again below the version that was sent.
      this.#enqueueAll(() => cache.unsentUIDs(), 'Failed to enqueue the pods that are unsent');
      this.#endFullBatch();
    } catch (error) {
      logger.error(thrownFields(error), 'A full batch failed');
    }
  }

  #endFullBatch(): void {
    this.podsRemoved();
    this.#options.terminatingPods.logStuck();
  }

  /** The full batch has found nothing to send, so whatever the pod waited for is over. */
  #isInSync(uid: string): boolean {
    const { backOff, cache } = this.#options;
    return cache.get(uid)?.unsentSinceMs === undefined || backOff.get(uid)?.reason === 'hot-loop';
  }

  /** After a wake-up: enqueues the pods whose status changed. */
  #enqueueChanged(): void {
    if (!this.isSending) return;
    this.#wakeUp.take();
    this.#enqueueAll(() => this.#options.cache.takeChanged(), 'An incremental batch failed');
  }

  /** At the retry timer: enqueues the pods whose back-off is over and that still have something to send. */
  #enqueueRetries(): void {
    if (!this.isSending) return;
    const { backOff, cache, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    const due = (uid: string): boolean => {
      if (backOff.get(uid) === undefined) return false;
      const waitMs = backOff.waitMs(uid, cache.get(uid)!.version, nowMs);
      if (waitMs > 0) nextMs = Math.min(nextMs, waitMs);
      return waitMs === 0;
    };
    this.#enqueueAll(() => cache.unsentUIDs().filter(due), 'Failed to re-examine pods waiting for a retry');
    if (nextMs !== Number.POSITIVE_INFINITY) this.#retryTimer.arm(Math.max(nextMs, minRetryIntervalMs));
  }

  /**
   * A pod that was set in the meantime is enqueued again. A pod that failed waits for its retry, and one
   * whose sync threw for the next wake-up or tick.
   */
  #syncEnded(uid: string, hasThrown: boolean): void {
    const isDue = (): boolean => !hasThrown && this.isSending && this.#options.cache.isUnsent(uid);
    this.#enqueueAll(() => (isDue() ? [uid] : []), 'Failed to examine a pod after its sync');
    this.#notifyIfIdle();
  }

  /** Enqueues these pods and starts what may start. Ports of the caller that throw stop neither. */
  #enqueueAll(uids: () => readonly string[], failureMessage: string): void {
    try {
      for (const uid of uids()) this.#enqueue(uid);
    } catch (error) {
      this.#options.logger.error(thrownFields(error), failureMessage);
    }
    this.#startNext();
  }

  /** Enqueues the pod, unless it is in flight (examined again then) or has to wait. */
  #enqueue(uid: string): void {
    const { backOff, cache, clock } = this.#options;
    const versioned = cache.get(uid);
    if (versioned === undefined || this.#inFlight.has(uid)) return;
    const nowMs = clock.monotonicMs();
    const waitMs = backOff.waitMs(uid, versioned.version, nowMs);
    if (waitMs === 0) this.#queue.add(uid, versioned.urgent || versioned.podIsFinished, nowMs);
    // A status that another writer has undone waits for the next full batch; during a flush there is none.
    else if (this.isSending && (versioned.unsentSinceMs !== undefined || this.#flushes > 0))
      this.#retryTimer.arm(waitMs);
  }

  /** Starts queued pods as far as the limits permit. */
  #startNext(): void {
    const { limiter, concurrency } = this.#options;
    if (limiter.isPaused) {
      if (this.isSending) this.#retryTimer.arm(limiter.pauseMs);
      return;
    }
    const permits: SyncPermits = { signal: this.#signal, acquire: (signal) => limiter.acquire(signal) };
    const bound = limiter.inFlightBound;
    while (this.#inFlight.size < concurrency && this.#queue.size > 0 && !this.#signal.aborted) {
      if (bound !== undefined && !bound.tryEnter()) {
        // Other managers share the client: it is our turn later, with what is most urgent then.
        bound.wait(this, () => this.#startNext());
        return;
      }
      const uid = this.#queue.take()!;
      if (this.#inFlight.has(uid)) bound?.leave();
      else void this.#inFlight.start(uid, permits).then(() => bound?.leave());
    }
  }

  /** Starts nothing more on its own; what is unsent stays unsent. */
  #quiesce(): void {
    this.#queue.clear();
    this.#options.limiter.inFlightBound?.withdraw(this);
    this.#retryTimer.stop();
  }

  #notifyIfIdle(): void {
    const isIdle = this.#inFlight.size === 0 && (this.#queue.size === 0 || this.#signal.aborted);
    if (isIdle) this.#idleWaiters.notifyIdle();
  }

  /** The unsent pods that may still be there. */
  #sendableUIDs(): string[] {
    const { cache, resultHandler } = this.#options;
    return cache.unsentUIDs().filter((uid) => !resultHandler.isGone(uid));
  }

  #warnOfUnsent(drainMs: number): void {
    const { cache, logger, metrics } = this.#options;
    const uids = this.#sendableUIDs();
    const pods = uids.slice(0, maxLoggedPods).map((uid) => podFields(uid, cache.get(uid)!).pod);
    metrics.incUnsentAtStop(uids.length);
    logger.warn({ unsent: uids.length, pods, drainMs }, 'Stopping with pod statuses that could not be sent in time');
  }

  get #signal(): AbortSignalLike {
    return this.#aborter.signal;
  }
}
