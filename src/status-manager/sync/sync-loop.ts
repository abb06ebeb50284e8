import { type AbortSignalLike, LightAbortController } from '../../shared/abort.ts';
import { runInMicrotask } from '../../shared/clock.ts';
import { podFields } from '../../shared/log-fields.ts';
import { thrownFields } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import type { APIOutage } from './api-outage.ts';
import { withoutCurrentWait } from './back-off.ts';
import type { ClientLimiter } from './client-limiter.ts';
import { mayBeGone } from './consequences.ts';
import type { FullBatch } from './full-batch.ts';
import { Condition, WakeUp } from './loop-signals.ts';
import type { PodRecord } from './pod-records.ts';
import type { SyncRequests } from './sync-requests.ts';
import type { PodSync } from './pod-sync.ts';
import type { PodSyncer } from './pod-syncer.ts';
import type { SyncPorts } from './sync-ports.ts';
import { SyncQueue } from './sync-queue.ts';
import type { SyncResult } from './sync-result.ts';
import type { SyncResultHandler } from './sync-result-handler.ts';
import type { TerminatingPods } from './terminating-pods.ts';

/** The states of a manager; `SyncLoop` says what happens in each. */
export type ManagerState = 'created' | 'running' | 'stopping' | 'stopped';

/** What one batch did. */
export interface SyncBatchResult {
  /** Pods synced: the sum of the counts below, plus the pods whose status was dropped. */
  readonly tried: number;
  /** The API server took a PATCH. */
  readonly written: number;
  /** The API server already had the status. */
  readonly unchanged: number;
  /** A GET or PATCH failed; a later batch retries it. */
  readonly failed: number;
}

export interface SyncLoopOptions extends Pick<
  SyncPorts,
  | 'apiObjectGone'
  | 'cache'
  | 'clock'
  | 'concurrency'
  | 'limiter'
  | 'logger'
  | 'metrics'
  | 'outcomes'
  | 'podManager'
  | 'records'
  | 'section'
  | 'syncPeriodMs'
  | 'tracing'
> {
  readonly syncer: PodSyncer;
  readonly fullBatch: FullBatch;
  readonly resultHandler: SyncResultHandler;
  readonly terminatingPods: TerminatingPods;
  readonly apiOutage: APIOutage;
  readonly requests: SyncRequests;
}

/** Maximum number of pods named in a log entry. */
const maxLoggedPods = 20;

/**
 * The sync loop: a wake-up, a tick or an expired back-off selects pods, `SyncQueue` says which of them
 * is synced next, `PodSyncer` syncs it.
 *
 * The loop is in one of these states:
 *
 * - **created**: nothing runs on its own; `syncBatch` and `flush` work. Left by `start` or `stop`.
 * - **running**: a wake-up adds the pods whose status changed; a tick adds those that are unsent or
 *   differ from the pod manager's pod; the retry timer adds those whose back-off has expired.
 * - **stopping**: no ticks; with a deadline, `flush` first sends unsent statuses. Then everything is
 *   aborted.
 * - **stopped**: no timer, request or promise is left.
 *
 * The loop sends while it is running, and during a flush in any state. Code between two `await`s is one
 * critical section. The only awaits are in a pod's sync, between the slices of a full batch, and where
 * a caller waits for syncs to end.
 * Source: kubelet `manager.Start`, `syncBatch`.
 * Divergence: the kubelet syncs pods serially, so a hanging request delays all pods.
 */
export class SyncLoop {
  readonly queue: SyncQueue;
  /** For `inspect()` and the metrics, as the three below. */
  readonly limiter: ClientLimiter;
  readonly apiOutage: APIOutage;
  readonly requests: SyncRequests;
  readonly terminatingPods: TerminatingPods;
  readonly #options: SyncLoopOptions;
  readonly #ticker: Ticker;
  readonly #wakeUp = new WakeUp(() => this.#addChanged());
  /** Broadcast when a sync has ended. */
  readonly #syncEnded = new Condition();
  readonly #aborter = new LightAbortController();
  #state: ManagerState = 'created';
  #flushes = 0;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.limiter = options.limiter;
    this.apiOutage = options.apiOutage;
    this.requests = options.requests;
    this.terminatingPods = options.terminatingPods;
    this.queue = new SyncQueue({
      ...options,
      signal: this.#signal,
      onReady: () => this.#startNext(),
      onRetry: () => this.#addRetries(),
    });
    this.#ticker = new Ticker(options.clock, options.syncPeriodMs, () => this.#scan());
    options.apiOutage.onReachable((failing) => this.#retryFailing(failing));
  }

  get state(): ManagerState {
    return this.#state;
  }

  /** A change was accepted and no batch has run since. */
  get isWakeUpWaiting(): boolean {
    return this.#wakeUp.isWaiting;
  }

  /** Pods are synced automatically, and failed ones retried, not only by `syncBatch`. */
  get isSending(): boolean {
    return (this.#state === 'running' || this.#flushes > 0) && !this.#signal.aborted;
  }

  /** The first full batch runs one period after this. */
  start(): void {
    this.#state = 'running';
    this.#ticker.start();
    this.apiOutage.start();
    if (this.#wakeUp.isWaiting) this.#wakeUp.schedule();
  }

  /** A status was accepted. */
  wake(): void {
    this.#wakeUp.signal();
    if (this.isSending) this.#wakeUp.schedule();
  }

  /** The pod has a new API object: its status can be sent, whatever failed for an earlier object. */
  apiObjectAppeared(uid: string): void {
    this.#options.cache.markChanged(uid);
    this.queue.forget(uid);
    if (this.isSending) this.#wakeUp.schedule();
  }

  /** Whether the pod of a status from the journal is said to be gone, which its next GET confirms. */
  setOrphaned(uid: string, isOrphan: boolean): void {
    const { cache, clock } = this.#options;
    const adopted = cache.get(uid)?.adopted;
    if (adopted?.from !== 'journal' || (adopted.orphanedSinceMs !== undefined) === isOrphan) return;
    cache.setOrphaned(uid, isOrphan ? clock.monotonicMs() : undefined);
    if (isOrphan) this.retryNow(uid);
  }

  /** Pods were removed from the pod manager: reports API objects that finalizers had kept and that are gone now. */
  podsRemoved(): void {
    const { apiObjectGone, outcomes } = this.#options;
    for (const subject of this.terminatingPods.takeGone()) {
      apiObjectGone(subject.podUID);
      outcomes.reportLater({ ...subject, outcome: 'deleted' });
    }
    this.#syncEnded.broadcast();
  }

  /** Deletes the pod's back-off entry and, while the loop sends, syncs the pod now. */
  retryNow(uid: string): void {
    this.queue.forget(uid);
    const record = this.#options.records.get(uid);
    if (record !== undefined) record.lastPatch = undefined;
    if (this.isSending) this.#addAndStart(() => [uid], 'Failed to enqueue a pod for a retry');
  }

  /** Runs one of the kubelet's batches: consumes a pending wake-up; ignores back-off, limits and priorities. */
  async syncBatch(all: boolean): Promise<SyncBatchResult> {
    const { cache, concurrency, fullBatch } = this.#options;
    this.#wakeUp.take();
    const uids: string[] = [];
    const visit = (uid: string, needsSync: boolean): void => {
      if (needsSync) uids.push(uid);
    };
    if (all) await fullBatch.run(visit, this.#signal);
    else uids.push(...cache.uidsOfUnsentVersions());
    const result = { tried: 0, written: 0, unchanged: 0, failed: 0, gone: 0 };
    const remaining = uids.values();
    const worker = async (): Promise<void> => {
      for (const uid of remaining) {
        result[await this.#syncNow(uid)]++;
        result.tried++;
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, uids.length) }, worker));
    if (all && !this.#signal.aborted) this.#endFullBatch();
    const { gone: _gone, ...counts } = result;
    return counts;
  }

  /**
   * Sends every unsent version now, ignoring back-off. Resolves when nothing is unsent or in flight,
   * after `deadlineMs`, or when the signal is aborted. Statuses set in the meantime are sent too. Does not
   * wait for a pod that neither the API server nor the pod manager has.
   * @returns number of statuses still unsent, excluding such pods
   */
  async flush(deadlineMs: number, signal: AbortSignalLike | undefined): Promise<number> {
    const { cache, clock } = this.#options;
    this.#flushes++;
    try {
      for (const uid of cache.unsentUIDs()) {
        this.queue.forget(uid);
        this.#add(uid);
      }
      this.#startNext();
      const isDone = (): boolean =>
        this.#signal.aborted || (this.queue.inFlight === 0 && this.#sendableUIDs().length === 0);
      await this.#syncEnded.waitUntil(isDone, deadlineMs, clock, signal);
    } finally {
      this.#flushes--;
      if (!this.isSending) this.queue.clear();
    }
    return this.#sendableUIDs().length;
  }

  /**
   * Stops the loop, draining first if there is a deadline, until the signal is aborted. Resolves when no timer, request or
   * promise is left.
   */
  async stop(drainMs: number | undefined, signal: AbortSignalLike | undefined): Promise<void> {
    this.#state = 'stopping';
    this.#ticker.stop();
    try {
      if (drainMs !== undefined && (await this.flush(drainMs, signal)) > 0) this.#warnOfUnsent(drainMs);
    } catch (error) {
      this.#options.logger.error(thrownFields(error), 'Failed to drain');
    }
    this.#aborter.abort();
    this.queue.clear();
    this.apiOutage.stop();
    while (this.queue.inFlight > 0) await this.#syncEnded.wait();
    await this.#ticker.whenIdle();
    this.#syncEnded.broadcast();
    this.#options.outcomes.stop();
    this.#state = 'stopped';
  }

  /** At a tick: runs a full batch and adds the pods it finds. Never rejects. */
  async #scan(): Promise<void> {
    const { cache, fullBatch, logger } = this.#options;
    try {
      await fullBatch.run((uid, needsSync) => {
        if (needsSync) this.#add(uid);
        else this.#inSync(uid);
        this.#startNext();
      }, this.#signal);
      if (this.#signal.aborted) return;
      // A status dropped and set again has a lower version than the one sent; wake-ups and the comparison miss it.
      this.#addAndStart(() => cache.unsentUIDs(), 'Failed to enqueue unsent pods');
      this.#endFullBatch();
    } catch (error) {
      logger.error(thrownFields(error), 'A full batch failed');
    }
  }

  #endFullBatch(): void {
    this.podsRemoved();
    this.terminatingPods.logStuck();
  }

  /** The full batch has found nothing to send, so the pod no longer waits. */
  #inSync(uid: string): void {
    const { cache, records, resultHandler } = this.#options;
    const record = records.get(uid);
    const versioned = cache.get(uid);
    if (record === undefined || versioned === undefined) return;
    const { backOff, failingSinceMs } = record;
    const isInSync = versioned.unsentSinceMs === undefined || backOff?.reason === 'hot-loop';
    if (isInSync && (backOff ?? failingSinceMs) !== undefined)
      resultHandler.handle(uid, { kind: 'in-sync', versioned });
    records.release(uid);
  }

  /** The API server is reachable again. */
  #retryFailing(failing: readonly PodRecord[]): void {
    if (!this.isSending) return;
    const nowMs = this.#options.clock.monotonicMs();
    for (const record of failing) record.backOff &&= withoutCurrentWait(record.backOff, nowMs);
    this.#addAndStart(() => failing.map(({ uid }) => uid), 'Failed to enqueue the pods that could not be sent');
  }

  /** After a wake-up: adds the pods whose status changed. */
  #addChanged(): void {
    if (!this.isSending) return;
    this.#wakeUp.take();
    this.#addAndStart(() => this.#options.cache.takeChanged(), 'An incremental batch failed');
  }

  /** At the retry timer: adds the unsent pods in back-off, which is over for some of them. */
  #addRetries(): void {
    if (!this.isSending) return;
    const { cache, records } = this.#options;
    const inBackOff = (uid: string): boolean => records.get(uid)?.backOff !== undefined;
    this.#addAndStart(() => cache.unsentUIDs().filter(inBackOff), 'Failed to re-examine pods waiting for a retry');
  }

  /** Adds these pods and starts as many as the limits permit. A port that throws stops neither. */
  #addAndStart(uids: () => readonly string[], failureMessage: string): void {
    try {
      for (const uid of uids()) this.#add(uid);
    } catch (error) {
      this.#options.logger.error(thrownFields(error), failureMessage);
    }
    this.#startNext();
  }

  #add(uid: string): void {
    // A status undone by another writer waits for the next full batch; a flush has none.
    this.queue.add(uid, this.#flushes > 0);
  }

  /** Starts the syncs that the limits permit, each in a microtask: the caller may be in a critical section. */
  #startNext(): void {
    for (let sync = this.queue.get(); sync !== undefined; sync = this.queue.get()) this.#start(sync);
  }

  #start(sync: PodSync): void {
    runInMicrotask(() => void this.#sync(sync));
  }

  /** Syncs a pod without limits, after its sync in flight. */
  async #syncNow(uid: string): Promise<SyncResult['kind']> {
    while (this.#options.records.get(uid)?.inFlight !== undefined) await this.#syncEnded.wait();
    return this.#sync(this.queue.getNow(uid));
  }

  /** Never rejects. */
  async #sync(sync: PodSync): Promise<SyncResult['kind']> {
    const { cache, logger, outcomes, section, syncer, tracing } = this.#options;
    const { uid } = sync;
    let result: SyncResult | undefined;
    try {
      result = await tracing.sync(uid, (onSynced) => syncer.syncPod(sync, onSynced));
    } catch (error) {
      logger.error({ ...thrownFields(error), podUID: uid }, 'Unexpected error while syncing a pod');
    }
    section.run(() => {
      outcomes.syncEnded(uid, cache.get(uid));
      this.queue.done(sync);
      // It may have been set in the meantime, or failed. A pod whose sync threw waits for the next wake-up or tick.
      const isDue = (): boolean => result !== undefined && this.isSending && cache.isUnsent(uid);
      this.#addAndStart(() => (isDue() ? [uid] : []), 'Failed to examine a pod after its sync');
      this.#syncEnded.broadcast();
    });
    return result?.kind ?? 'failed';
  }

  /** Unsent pods, except those known to be gone. */
  #sendableUIDs(): string[] {
    const { cache, podManager, records } = this.#options;
    const isGone = (uid: string): boolean =>
      mayBeGone(records.get(uid)?.backOff) && podManager.getPodByUID(uid) === undefined;
    return cache.unsentUIDs().filter((uid) => !isGone(uid));
  }

  #warnOfUnsent(drainMs: number): void {
    const { cache, logger, metrics } = this.#options;
    const uids = this.#sendableUIDs();
    const pods = uids.slice(0, maxLoggedPods).map((uid) => podFields(uid, cache.get(uid)!).pod);
    metrics.incUnsentAtStop(uids.length);
    logger.warn({ unsent: uids.length, pods, drainMs }, 'Stopping with unsent pod statuses');
  }

  get #signal(): AbortSignalLike {
    return this.#aborter.signal;
  }
}
