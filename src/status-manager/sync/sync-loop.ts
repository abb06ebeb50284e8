import { type AbortSignalLike, LightAbortController } from '../../shared/abort.ts';
import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { Clock } from '../../shared/clock.ts';
import { podFields } from '../../shared/log-fields.ts';
import { type Logger, thrownFields } from '../../shared/logger.ts';
import type { Metrics } from '../metrics.ts';
import type { APIOutage } from './api-outage.ts';
import type { FullBatch } from './full-batch.ts';
import { LoopInspection } from './loop-inspection.ts';
import type { ManagerState } from './manager-state.ts';
import { runManualBatch, type SyncBatchResult } from './manual-batch.ts';
import type { PodRequests, SyncPermits } from './pod-requests.ts';
import type { ResendDetector } from './resend-detector.ts';
import { type LoopMode, SyncScheduler, type SyncSchedulerOptions } from './sync-scheduler.ts';
import type { TerminatingPods } from './terminating-pods.ts';
import { Ticker } from '../../shared/ticker.ts';
import { WakeUp } from './wake-up.ts';

export interface SyncLoopOptions extends SyncSchedulerOptions {
  readonly cache: PodStatusCache;
  readonly fullBatch: FullBatch;
  readonly terminatingPods: TerminatingPods;
  readonly apiOutage: APIOutage;
  readonly requests: PodRequests;
  readonly resendDetector: ResendDetector;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly syncPeriodMs: number;
}

/** A log entry names at most so many pods. */
const maxLoggedPods = 20;

/**
 * The one loop: it decides when pods are examined, and the scheduler which of them is synced next. Its
 * states:
 *
 * - **created**: nothing runs on its own; `syncBatch` and `flush` work. Left by `start` or `stop`.
 * - **running**: a wake-up enqueues the pods whose status changed; a tick all pods that are unsent
 *   or differ from what the pod manager shows; the retry timer those whose back-off is over.
 * - **stopping**: no ticks; with a deadline, `flush` sends what is unsent. Then all is aborted.
 * - **stopped**: no timer, request or promise is left.
 *
 * Everything between two `await`s is one critical section. Awaits are only in
 * `InFlightSyncs`, in a full batch between its slices, and where somebody waits for the loop to be idle.
 * Source: kubelet `manager.Start`, `syncBatch`.
 */
export class SyncLoop implements LoopMode {
  readonly inspection: LoopInspection;
  readonly #options: SyncLoopOptions;
  readonly #scheduler: SyncScheduler;
  readonly #ticker: Ticker;
  readonly #wakeUp = new WakeUp(() => this.#enqueueChanged());
  readonly #aborter = new LightAbortController();
  #state: ManagerState = 'created';
  #flushes = 0;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#scheduler = new SyncScheduler(options, this);
    this.#ticker = new Ticker(options.clock, options.syncPeriodMs, () => this.#scan());
    const { queue, inFlight } = this.#scheduler;
    this.inspection = new LoopInspection({ ...options, queue, inFlight, loop: this, wakeUp: this.#wakeUp });
  }

  get state(): ManagerState {
    return this.#state;
  }

  get isFlushing(): boolean {
    return this.#flushes > 0;
  }

  get isSending(): boolean {
    return (this.#state === 'running' || this.isFlushing) && !this.signal.aborted;
  }

  get signal(): AbortSignalLike {
    return this.#aborter.signal;
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
    this.#scheduler.forget(uid);
  }

  /** The pod manager shows fewer pods: reports those API objects that finalizers kept and that are gone now. */
  podsRemoved(): void {
    this.#options.resultHandler.reportGoneObjects();
  }

  /** The kubelet's batch, driven by hand: takes a waiting wake-up, ignores back-off, limits and priorities. */
  async syncBatch(all: boolean): Promise<SyncBatchResult> {
    const { fullBatch, cache, concurrency } = this.#options;
    this.#wakeUp.take();
    const uids: string[] = [];
    if (all) await fullBatch.run((uid, needsSync) => needsSync && uids.push(uid), this.signal);
    else uids.push(...cache.uidsOfUnsentVersions());
    const permits: SyncPermits = { signal: this.signal, acquire: () => Promise.resolve() };
    const result = await runManualBatch(uids, concurrency, (uid) => this.#scheduler.inFlight.startInTurn(uid, permits));
    if (all) this.#endFullBatch();
    return result;
  }

  /**
   * Tries every unsent version now, whatever its back-off, and resolves when none is left and no
   * request under way, or `deadlineMs` have passed. What is set in the meantime is sent, too.
   * @returns how many statuses are still unsent
   */
  async flush(deadlineMs: number): Promise<number> {
    this.#flushes++;
    try {
      await this.#scheduler.sendAll(deadlineMs);
    } finally {
      this.#flushes--;
      if (!this.isSending) this.#scheduler.quiesce();
    }
    return this.#options.cache.unsentUIDs().length;
  }

  /** Syncs the pod now, as if it had never failed; a manager that does not run only forgets the back-off. */
  retryNow(uid: string): void {
    const { backOff, clock, resendDetector } = this.#options;
    resendDetector.forget(uid);
    backOff.endWait(uid, clock.monotonicMs());
    if (!this.isSending) return;
    this.#scheduler.enqueue(uid);
    this.#scheduler.startNext();
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
    this.#scheduler.quiesce();
    this.#options.apiOutage.stop();
    await Promise.all([this.#scheduler.whenAllEnded(), this.#ticker.whenIdle()]);
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

  /** Enqueues what a full batch finds. Never rejects. */
  async #scan(): Promise<void> {
    const { cache, fullBatch, logger, resultHandler } = this.#options;
    try {
      await fullBatch.run((uid, needsSync) => {
        if (needsSync) this.#scheduler.enqueue(uid);
        else if (this.#isInSync(uid)) resultHandler.inSync(uid);
        this.#scheduler.startNext();
      }, this.signal);
      // Neither a wake-up nor the comparison finds a status that was set again below the version that was sent.
      for (const uid of cache.unsentUIDs()) this.#scheduler.enqueue(uid);
      this.#endFullBatch();
      this.#scheduler.startNext();
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

  #enqueueChanged(): void {
    if (!this.isSending) return;
    this.#wakeUp.take();
    try {
      for (const uid of this.#options.cache.takeChanged()) this.#scheduler.enqueue(uid);
    } catch (error) {
      this.#options.logger.error(thrownFields(error), 'An incremental batch failed');
    }
    this.#scheduler.startNext();
  }
}
