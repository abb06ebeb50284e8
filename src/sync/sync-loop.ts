import { setMaxListeners } from 'node:events';
import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import { type Clock, runInMicrotask, type Timer } from '../clock.ts';
import { type Logger, thrownFields } from '../logger.ts';
import { BackOff, type Hold } from './back-off.ts';
import type { Outcomes } from './outcomes.ts';
import type { SyncPermits } from './pod-requests.ts';
import type { ActiveSync, PodSyncer, SyncResult } from './pod-syncer.ts';
import type { ClientLimiter } from './client-limiter.ts';
import { Settlement } from './settlement.ts';
import type { SyncBatch } from './sync-batch.ts';
import { SyncQueue } from './sync-queue.ts';

/**
 * created: nothing runs; batches can be driven by hand. running: the loop syncs by itself.
 * stopping: no new work but what drains. stopped: no timer, request or promise is left.
 */
export type ManagerState = 'created' | 'running' | 'stopping' | 'stopped';

export interface SyncLoopOptions {
  readonly cache: PodStatusCache;
  readonly batch: SyncBatch;
  readonly syncer: PodSyncer;
  readonly limiter: ClientLimiter;
  readonly outcomes: Outcomes;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly syncPeriodMs: number;
  readonly concurrency: number;
}

interface InFlight extends ActiveSync {
  readonly ended: Promise<void>;
}

/** Pods that wait are looked at again at most this often. */
const holdGranularityMs = 100;

/**
 * The one loop. A wake-up puts the pods with unsent versions in line, a tick also those that
 * differ from what the pod manager shows; at most `concurrency` pods are in flight, each pod at
 * most once. Failed pods wait by their own back-off.
 * Divergence: the kubelet syncs one pod after the other, so that a request that hangs holds up all.
 *
 * Everything between two `await`s is one critical section. The only awaits are those of
 * `#syncOne`, of a full scan between its slices, and of those who wait for the loop to be quiet.
 * Source: kubelet `manager.Start`, `syncBatch`.
 */
export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #queue = new SyncQueue();
  readonly #backOff: BackOff;
  readonly #settlement: Settlement;
  readonly #inFlight = new Map<string, InFlight>();
  readonly #aborter = new AbortController();
  #state: ManagerState = 'created';
  /** kubelet: a value waits in `podStatusChannel`, which has capacity one. */
  #isWakeUpWaiting = false;
  #isWakeUpScheduled = false;
  #tickTimer: Timer | undefined;
  #fullScan: Promise<void> | undefined;
  #holdTimer: { readonly dueMs: number; readonly timer: Timer } | undefined;
  #flushes = 0;
  #quietWaiters: (() => void)[] = [];

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#backOff = new BackOff(options.random);
    this.#settlement = new Settlement({ ...options, backOff: this.#backOff });
    // Each request in flight listens.
    setMaxListeners(0, this.#aborter.signal);
  }

  get state(): ManagerState {
    return this.#state;
  }

  get isWakeUpWaiting(): boolean {
    return this.#isWakeUpWaiting;
  }

  isInFlight(uid: string): boolean {
    return this.#inFlight.has(uid);
  }

  /** True while this very version is on its way to the API server. */
  isSending(uid: string, version: number): boolean {
    const active = this.#inFlight.get(uid);
    return active !== undefined && active.isSending && active.version === version;
  }

  holdOf(uid: string): Hold | undefined {
    return this.#backOff.get(uid);
  }

  /** The first full batch runs one period after this. */
  start(): void {
    this.#state = 'running';
    this.#armTick();
    if (this.#isWakeUpWaiting) this.#scheduleWakeUp();
  }

  /** A status was accepted. */
  wake(): void {
    this.#isWakeUpWaiting = true;
    if (this.#isSending) this.#scheduleWakeUp();
  }

  /** The pod's status has been dropped: nothing of it is to be sent any more, and a sync under way settles nothing. */
  forget(uid: string): void {
    const active = this.#inFlight.get(uid);
    if (active !== undefined) active.isDropped = true;
    this.#queue.remove(uid);
    this.#backOff.release(uid);
    this.#noteQuiet();
  }

  /**
   * The kubelet's batch, driven by hand: takes a waiting wake-up, ignores back-off, limits and
   * priorities, and resolves with the number of syncs tried when all of them are done.
   */
  async syncBatch(all: boolean): Promise<number> {
    this.#isWakeUpWaiting = false;
    const uids: string[] = [];
    if (all) await this.#options.batch.full((uid, needsSync) => needsSync && uids.push(uid), this.#aborter.signal);
    else uids.push(...this.#options.cache.uidsOfUnsentVersions());
    const permits: SyncPermits = { signal: this.#aborter.signal, acquire: () => Promise.resolve() };
    const remaining = uids.values();
    const worker = async (): Promise<void> => {
      for (const uid of remaining) {
        while (this.#inFlight.has(uid)) await this.#inFlight.get(uid)!.ended;
        await this.#syncOne(uid, permits);
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#options.concurrency, uids.length) }, worker));
    return uids.length;
  }

  /**
   * Tries every unsent version now, whatever its back-off, and resolves when none is left and no
   * request under way, or `deadlineMs` have passed. What is set meanwhile is sent, too.
   * @returns how many statuses are still unsent
   */
  async flush(deadlineMs: number): Promise<number> {
    const { cache, clock } = this.#options;
    let isOver = false;
    let endWait = (): void => {};
    const deadline = clock.afterFunc(deadlineMs, () => {
      isOver = true;
      endWait();
    });
    this.#flushes++;
    try {
      for (const uid of cache.unsentUIDs()) {
        this.#backOff.release(uid);
        this.#enqueue(uid);
      }
      this.#pump();
      const isDone = (): boolean => this.#inFlight.size === 0 && cache.unsentUIDs().length === 0;
      while (!isOver && !this.#aborter.signal.aborted && !isDone()) {
        await new Promise<void>((resolve) => {
          endWait = resolve;
          this.#quietWaiters.push(resolve);
        });
      }
    } finally {
      this.#flushes--;
      deadline.stop();
      if (!this.#isSending) this.#rest();
    }
    return cache.unsentUIDs().length;
  }

  /** Ends the loop: with a deadline it drains first. Resolves when nothing is left behind. */
  async stop(drainMs: number | undefined): Promise<void> {
    this.#state = 'stopping';
    this.#tickTimer?.stop();
    try {
      if (drainMs !== undefined) await this.flush(drainMs);
    } catch (error) {
      this.#options.logger.error(thrownFields(error), 'Draining failed');
    }
    this.#aborter.abort();
    this.#rest();
    await Promise.all([...[...this.#inFlight.values()].map(({ ended }) => ended), this.#fullScan]);
    this.#noteQuiet();
    this.#options.outcomes.stop();
    this.#state = 'stopped';
  }

  /** By itself, not only by hand. */
  get #isSending(): boolean {
    return (this.#state === 'running' || this.#flushes > 0) && !this.#aborter.signal.aborted;
  }

  /** Begins nothing more by itself; what is unsent stays unsent. */
  #rest(): void {
    this.#queue.clear();
    this.#options.limiter.inFlightBound?.withdraw(this);
    this.#holdTimer?.timer.stop();
    this.#holdTimer = undefined;
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
      await this.#options.batch.full((uid, needsSync) => {
        if (needsSync) this.#enqueue(uid);
        else if (this.#isSettled(uid)) this.#backOff.release(uid);
        this.#pump();
      }, this.#aborter.signal);
      // What no wake-up and no comparison tells: a status that was set again below the version that was sent.
      for (const uid of this.#options.cache.unsentUIDs()) this.#enqueue(uid);
      this.#pump();
    } catch (error) {
      this.#options.logger.error(thrownFields(error), 'A full batch failed');
    } finally {
      this.#fullScan = undefined;
    }
  }

  /** In sync as far as a full batch can see: whatever it waited for is over. */
  #isSettled(uid: string): boolean {
    return this.#options.cache.get(uid)?.unsentSinceMs === undefined || this.#backOff.get(uid)?.reason === 'hot-loop';
  }

  /** Statuses that are set one after the other make one incremental batch. */
  #scheduleWakeUp(): void {
    if (this.#isWakeUpScheduled) return;
    this.#isWakeUpScheduled = true;
    runInMicrotask(() => {
      this.#isWakeUpScheduled = false;
      if (this.#isSending) this.#takeWakeUp();
    });
  }

  #takeWakeUp(): void {
    this.#isWakeUpWaiting = false;
    try {
      for (const uid of this.#options.cache.takeChanged()) this.#enqueue(uid);
    } catch (error) {
      this.#options.logger.error(thrownFields(error), 'An incremental batch failed');
    }
    this.#pump();
  }

  /** Puts the pod in line, unless it is in flight (looked at again then) or has to wait. */
  #enqueue(uid: string): void {
    const versioned = this.#options.cache.get(uid);
    if (versioned === undefined || this.#inFlight.has(uid)) return;
    const now = this.#options.clock.monotonicMs();
    if (this.#backOff.isHeld(uid, versioned.version, now)) {
      if (versioned.unsentSinceMs !== undefined) this.#armHoldTimer(this.#backOff.get(uid)!.dueMs - now);
      return;
    }
    this.#queue.add(uid, versioned.urgent || versioned.podIsFinished, now);
  }

  #pump(): void {
    const { limiter, concurrency } = this.#options;
    const permits: SyncPermits = { signal: this.#aborter.signal, acquire: (signal) => limiter.acquire(signal) };
    if (limiter.isPaused) {
      this.#armHoldTimer(limiter.pauseMs);
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
      else void this.#syncOne(uid, permits).then(() => bound?.leave());
    }
  }

  /** Syncs one pod and goes on with what follows from it; the returned promise never rejects. */
  #syncOne(uid: string, permits: SyncPermits): Promise<void> {
    const { cache, logger, syncer } = this.#options;
    const versioned = cache.get(uid);
    // In flight before anybody else's code runs, who may ask for the same pod.
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const active: InFlight = { version: versioned?.version ?? 0, isSending: false, isDropped: false, ended };
    this.#inFlight.set(uid, active);
    void (async () => {
      try {
        const result = await syncer.syncPod(uid, active, permits);
        this.#inFlight.delete(uid);
        // What comes of a status that somebody else has dropped is nobody's outcome any more.
        if (versioned !== undefined && (!active.isDropped || isEndOfPod(result)))
          this.#goOn(uid, result.version, this.#settlement.settle(uid, versioned, result));
        else this.#goOn(uid, 0, undefined);
      } catch (error) {
        logger.error({ ...thrownFields(error), podUID: uid }, 'Syncing a pod failed');
        this.#inFlight.delete(uid);
      }
      this.#pump();
      this.#noteQuiet();
      end();
    })();
    return ended;
  }

  #goOn(uid: string, version: number, nextTryInMs: number | undefined): void {
    if (nextTryInMs !== undefined) this.#armHoldTimer(nextTryInMs);
    // What was set meanwhile goes next.
    if (this.#isSending && (this.#options.cache.get(uid)?.version ?? 0) > version) this.#enqueue(uid);
  }

  /** One timer for all who wait; it goes off for the first of them. */
  #armHoldTimer(delayMs: number): void {
    if (!this.#isSending) return;
    const dueMs = this.#options.clock.monotonicMs() + delayMs;
    if (this.#holdTimer !== undefined) {
      if (this.#holdTimer.dueMs <= dueMs) return;
      this.#holdTimer.timer.stop();
    }
    this.#holdTimer = { dueMs, timer: this.#options.clock.afterFunc(delayMs, () => this.#releaseDue()) };
  }

  /** Puts in line whoever has waited long enough and still has something to send. */
  #releaseDue(): void {
    this.#holdTimer = undefined;
    if (!this.#isSending) return;
    const { cache, clock, logger } = this.#options;
    const now = clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    try {
      for (const uid of cache.unsentUIDs()) {
        const hold = this.#backOff.get(uid);
        if (hold === undefined) continue;
        if (hold.dueMs <= now) this.#enqueue(uid);
        else nextMs = Math.min(nextMs, hold.dueMs);
      }
    } catch (error) {
      logger.error(thrownFields(error), 'Pods that wait cannot be looked at');
    }
    // Not one by one where many wait: each look goes over all that is unsent.
    if (nextMs !== Number.POSITIVE_INFINITY) this.#armHoldTimer(Math.max(nextMs - now, holdGranularityMs));
    this.#pump();
  }

  #noteQuiet(): void {
    if (!this.#isQuiet) return;
    const waiters = this.#quietWaiters;
    this.#quietWaiters = [];
    for (const resolve of waiters) resolve();
  }

  get #isQuiet(): boolean {
    return this.#inFlight.size === 0 && (this.#queue.size === 0 || this.#aborter.signal.aborted);
  }
}

/** The sync itself has dropped the status, and says why. */
function isEndOfPod(result: SyncResult): boolean {
  return result.kind === 'gone' || (result.kind !== 'failed' && result.deletion === 'done');
}
