import { type AbortSignalLike, LightAbortController } from '../../shared/abort.ts';
import { Alarm } from '../../shared/alarm.ts';
import { podFields } from '../../shared/log-fields.ts';
import { thrownFields } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import type { APIOutage } from './api-outage.ts';
import { remainingWaitMs, withoutCurrentWait, withoutWait } from './back-off.ts';
import type { FullBatch } from './full-batch.ts';
import { InFlightSyncs, type SyncBatchResult } from './in-flight-syncs.ts';
import { LoopInspection, type ManagerState } from './loop-inspection.ts';
import { IdleWaiters, WakeUp } from './loop-signals.ts';
import { mayBeGone } from './consequences.ts';
import type { PodRecord } from './pod-records.ts';
import type { PodRequests } from './pod-requests.ts';
import type { PodSyncer } from './pod-syncer.ts';
import { SyncQueue } from './sync-queue.ts';
import type { SyncPorts } from './sync-ports.ts';
import type { SyncResultHandler } from './sync-result-handler.ts';
import type { TerminatingPods } from './terminating-pods.ts';

export interface SyncLoopOptions extends SyncPorts {
  readonly syncer: PodSyncer;
  readonly fullBatch: FullBatch;
  readonly resultHandler: SyncResultHandler;
  readonly terminatingPods: TerminatingPods;
  readonly apiOutage: APIOutage;
  readonly requests: PodRequests;
}

/** Maximum number of pods named in a log entry. */
const maxLoggedPods = 20;

/** Minimum interval between scans of the pods that wait for a retry. */
const minRetryIntervalMs = 100;

/**
 * The sync loop: decides when pods are examined, and which pod is synced next.
 *
 * The loop is in one of these states:
 *
 * - **created**: nothing runs on its own; `syncBatch` and `flush` work. Left by `start` or `stop`.
 * - **running**: a wake-up enqueues the pods whose status changed; a tick enqueues those that are
 *   unsent or differ from the pod manager's pod; the retry timer enqueues those whose back-off has
 *   expired.
 * - **stopping**: no ticks; with a deadline, `flush` first sends unsent statuses. Then everything is
 *   aborted.
 * - **stopped**: no timer, request or promise is left.
 *
 * The loop sends while it is running, and during a flush in any state. Each pod is in one of these
 * states:
 *
 * - **idle**: the API server is known to have its status.
 * - **queued** (`SyncQueue`): it is synced once fewer than `concurrency` pods are in flight and none of
 *   them waits for the limiter or a connection. The most urgent pod is therefore chosen late, and
 *   managers that share a client get equal shares.
 * - **in flight** (`InFlightSyncs`): one sync at a time; afterwards it is examined again.
 * - **waiting** (`backOff` in its record): its last sync failed or was undone. Left when the retry timer fires, by a
 *   new version if the failure class permits it, by `flush`, by `retryNow`, and when the API server is
 *   reachable again.
 *
 * `#enqueue` decides between queued and waiting, `#startNext` between queued and in flight; all other
 * methods only select pods. Code between two `await`s is one critical section. The only awaits are in
 * `InFlightSyncs`, between the slices of a full batch, and where a caller waits for the loop to become
 * idle.
 * Source: kubelet `manager.Start`, `syncBatch`.
 * Divergence: the kubelet syncs pods serially, so a hanging request delays all pods.
 */
export class SyncLoop {
  readonly inspection: LoopInspection;
  readonly #options: SyncLoopOptions;
  readonly #queue = new SyncQueue();
  readonly #inFlight: InFlightSyncs;
  readonly #ticker: Ticker;
  readonly #wakeUp = new WakeUp(() => this.#enqueueChanged());
  /** For the pods in back-off. */
  readonly #retryTimer: Alarm;
  readonly #idleWaiters = new IdleWaiters();
  readonly #aborter = new LightAbortController();
  #state: ManagerState = 'created';
  #flushes = 0;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#inFlight = new InFlightSyncs({
      ...options,
      onNoneWaiting: () => this.#startNext(),
      onEnded: (uid, hasThrown) => this.#syncEnded(uid, hasThrown),
    });
    this.#ticker = new Ticker(options.clock, options.syncPeriodMs, () => this.#scan());
    this.#retryTimer = new Alarm(options.clock, () => this.#enqueueRetries());
    options.records.onDropped((record) => this.#queue.remove(record));
    options.apiOutage.onReachable((failing) => this.#retryFailing(failing));
    const parts = { inFlight: this.#inFlight, wakeUp: this.#wakeUp };
    this.inspection = new LoopInspection({ ...options, ...parts, loop: this });
  }

  get state(): ManagerState {
    return this.#state;
  }

  /** Queued pods are synced automatically, not only by `syncBatch`. */
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

  /** The pod's API object is now known, so that its unsent status can be sent. */
  apiObjectAppeared(uid: string): void {
    this.#options.cache.markChanged(uid);
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
    const { apiObjectGone, outcomes, terminatingPods } = this.#options;
    for (const subject of terminatingPods.takeGone()) {
      apiObjectGone(subject.podUID);
      outcomes.reportLater({ ...subject, outcome: 'deleted' });
    }
    this.#notifyIfIdle();
  }

  /** Deletes the pod's back-off entry and, while the loop sends, syncs the pod now. */
  retryNow(uid: string): void {
    this.#endWait(uid);
    const record = this.#options.records.get(uid);
    if (record !== undefined) record.lastPatch = undefined;
    if (this.isSending) this.#enqueueAll(() => [uid], 'Failed to enqueue a pod for a retry');
  }

  /** Runs one of the kubelet's batches: consumes a pending wake-up; ignores back-off, limits and priorities. */
  async syncBatch(all: boolean): Promise<SyncBatchResult> {
    const { fullBatch, cache, concurrency } = this.#options;
    this.#wakeUp.take();
    const uids: string[] = [];
    if (all) await fullBatch.run((uid, needsSync) => needsSync && uids.push(uid), this.#signal);
    else uids.push(...cache.uidsOfUnsentVersions());
    const result = await this.#inFlight.syncAll(uids, concurrency, this.#signal);
    if (all && !this.#signal.aborted) this.#endFullBatch();
    return result;
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
        this.#endWait(uid);
        this.#enqueue(uid);
      }
      this.#startNext();
      const isDone = (): boolean =>
        this.#signal.aborted || (this.#inFlight.size === 0 && this.#sendableUIDs().length === 0);
      await this.#idleWaiters.waitUntil(isDone, deadlineMs, clock, signal);
    } finally {
      this.#flushes--;
      if (!this.isSending) this.#quiesce();
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
    this.#quiesce();
    this.#options.apiOutage.stop();
    await Promise.all([this.#inFlight.whenAllEnded(), this.#ticker.whenIdle()]);
    this.#notifyIfIdle();
    this.#options.outcomes.stop();
    this.#state = 'stopped';
  }

  /** At a tick: runs a full batch and enqueues the pods it finds. Never rejects. */
  async #scan(): Promise<void> {
    const { cache, fullBatch, logger } = this.#options;
    try {
      await fullBatch.run((uid, needsSync) => {
        if (needsSync) this.#enqueue(uid);
        else this.#inSync(uid);
        this.#startNext();
      }, this.#signal);
      if (this.#signal.aborted) return;
      // A status dropped and set again has a lower version than the one sent; wake-ups and the comparison miss it.
      this.#enqueueAll(() => cache.unsentUIDs(), 'Failed to enqueue unsent pods');
      this.#endFullBatch();
    } catch (error) {
      logger.error(thrownFields(error), 'A full batch failed');
    }
  }

  #endFullBatch(): void {
    this.podsRemoved();
    this.#options.terminatingPods.logStuck();
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
    this.#enqueueAll(() => failing.map(({ uid }) => uid), 'Failed to enqueue the pods that could not be sent');
  }

  /** Ends the pod's wait, except for `Retry-After`. */
  #endWait(uid: string): void {
    const { clock, records } = this.#options;
    const record = records.get(uid);
    if (record !== undefined) record.backOff = withoutWait(record.backOff, clock.monotonicMs());
  }

  /** After a wake-up: enqueues the pods whose status changed. */
  #enqueueChanged(): void {
    if (!this.isSending) return;
    this.#wakeUp.take();
    this.#enqueueAll(() => this.#options.cache.takeChanged(), 'An incremental batch failed');
  }

  /** At the retry timer: enqueues the unsent pods whose back-off has expired. */
  #enqueueRetries(): void {
    if (!this.isSending) return;
    const { cache, clock, records } = this.#options;
    const nowMs = clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    const due = (uid: string): boolean => {
      const backOff = records.get(uid)?.backOff;
      if (backOff === undefined) return false;
      const waitMs = remainingWaitMs(backOff, cache.get(uid)!.version, nowMs);
      if (waitMs > 0) nextMs = Math.min(nextMs, waitMs);
      return waitMs === 0;
    };
    this.#enqueueAll(() => cache.unsentUIDs().filter(due), 'Failed to re-examine pods waiting for a retry');
    if (nextMs !== Number.POSITIVE_INFINITY) this.#retryTimer.arm(Math.max(nextMs, minRetryIntervalMs));
  }

  /**
   * Enqueues the pod again if it was set in the meantime. A failed pod waits for its retry; a pod
   * whose sync threw waits for the next wake-up or tick.
   */
  #syncEnded(uid: string, hasThrown: boolean): void {
    const isDue = (): boolean => !hasThrown && this.isSending && this.#options.cache.isUnsent(uid);
    this.#enqueueAll(() => (isDue() ? [uid] : []), 'Failed to examine a pod after its sync');
    this.#notifyIfIdle();
  }

  /** Enqueues these pods and starts as many as the limits permit. A port that throws stops neither. */
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
    const { apiOutage, cache, clock, records } = this.#options;
    const versioned = cache.get(uid);
    if (versioned === undefined) return;
    const record = records.of(uid);
    if (record.inFlight !== undefined) return;
    const nowMs = clock.monotonicMs();
    const waitMs = remainingWaitMs(record.backOff, versioned.version, nowMs);
    const isDue = waitMs === 0 || (this.#inFlight.size === 0 && apiOutage.takeTrialRequest(record, versioned.version));
    if (isDue) this.#queue.add(record, versioned.urgent || versioned.podIsFinished, nowMs);
    // A status undone by another writer waits for the next full batch; a flush has none.
    else if (this.isSending && (versioned.unsentSinceMs !== undefined || this.#flushes > 0))
      this.#retryTimer.arm(waitMs);
  }

  /** Starts queued pods within the limits. */
  #startNext(): void {
    const { limiter, concurrency } = this.#options;
    const inFlight = this.#inFlight;
    while (
      inFlight.size < concurrency &&
      inFlight.waiting === undefined &&
      this.#queue.size > 0 &&
      !this.#signal.aborted
    ) {
      const { uid, inFlight: current } = this.#queue.take()!;
      if (current === undefined) void inFlight.start(uid, this.#signal, limiter.admission());
    }
  }

  /** Stops starting syncs; unsent statuses stay unsent. */
  #quiesce(): void {
    for (let record = this.#queue.take(); record !== undefined; record = this.#queue.take())
      this.#options.records.release(record.uid);
    this.#retryTimer.stop();
  }

  #notifyIfIdle(): void {
    const isIdle = this.#inFlight.size === 0 && (this.#queue.size === 0 || this.#signal.aborted);
    if (isIdle) this.#idleWaiters.notifyIdle();
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
