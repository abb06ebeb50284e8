import type { AbortSignalLike } from '../../shared/abort.ts';
import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { Clock } from '../../shared/clock.ts';
import { type Logger, thrownFields } from '../../shared/logger.ts';
import type { BackOff } from './back-off.ts';
import type { ClientLimiter } from './client-limiter.ts';
import { IdleWaiters } from './idle-waiters.ts';
import { InFlightSyncs } from './in-flight-syncs.ts';
import type { Tracing } from '../tracing.ts';
import type { Outcomes } from './outcomes.ts';
import type { SyncPermits } from './pod-requests.ts';
import type { StatusSyncer } from './when-stale.ts';
import { RetryTimer } from './retry-timer.ts';
import { SyncQueue } from './sync-queue.ts';
import type { SyncResultHandler } from './sync-result-handler.ts';

/** What the loop is doing, as far as it decides which pods may be started. */
export interface LoopMode {
  /** Pods are synced on their own, not only by hand. */
  readonly isSending: boolean;
  readonly isFlushing: boolean;
  /** Aborted when the loop stops. */
  readonly signal: AbortSignalLike;
}

export interface SyncSchedulerOptions {
  readonly cache: PodStatusCache;
  readonly syncer: StatusSyncer;
  readonly resultHandler: SyncResultHandler;
  readonly backOff: BackOff;
  readonly limiter: ClientLimiter;
  readonly outcomes: Outcomes;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly concurrency: number;
}

/** Pods that wait for a retry are examined again at most this often: each time all that is unsent is looked through. */
const retryGranularityMs = 100;

/**
 * Which pod is synced next. A pod is idle, queued, in flight, or waiting for a retry. At most
 * `concurrency` pods are in flight, each pod at most once; a pod that changes while it is in flight is
 * enqueued afterwards.
 * Divergence: the kubelet syncs one pod after the other, so a request that hangs delays all pods.
 */
export class SyncScheduler {
  readonly queue = new SyncQueue();
  readonly inFlight: InFlightSyncs;
  readonly #options: SyncSchedulerOptions;
  readonly #loop: LoopMode;
  readonly #retryTimer: RetryTimer;
  readonly #idleWaiters = new IdleWaiters();

  constructor(options: SyncSchedulerOptions, loop: LoopMode) {
    this.#options = options;
    this.#loop = loop;
    this.inFlight = new InFlightSyncs({ ...options, onEnded: (uid, hasThrown) => this.#syncEnded(uid, hasThrown) });
    this.#retryTimer = new RetryTimer(options.clock, () => this.#retryDue());
  }

  /** Enqueues the pod, unless it is in flight (examined again then) or has to wait. */
  enqueue(uid: string): void {
    const { backOff, cache, clock } = this.#options;
    const versioned = cache.get(uid);
    if (versioned === undefined || this.inFlight.has(uid)) return;
    const nowMs = clock.monotonicMs();
    const waitMs = backOff.waitMs(uid, versioned.version, nowMs);
    if (waitMs === 0) this.queue.add(uid, versioned.urgent || versioned.podIsFinished, nowMs);
    // A status that another writer has undone waits for the next full batch; during a flush there is none.
    else if (this.#loop.isSending && (versioned.unsentSinceMs !== undefined || this.#loop.isFlushing))
      this.#retryTimer.arm(waitMs);
  }

  /** Starts queued pods as far as the limits permit. */
  startNext(): void {
    const { limiter, concurrency } = this.#options;
    const { signal } = this.#loop;
    const permits: SyncPermits = { signal, acquire: (requestSignal) => limiter.acquire(requestSignal) };
    if (limiter.isPaused) {
      if (this.#loop.isSending) this.#retryTimer.arm(limiter.pauseMs);
      return;
    }
    const bound = limiter.inFlightBound;
    while (this.inFlight.size < concurrency && this.queue.size > 0 && !signal.aborted) {
      if (bound !== undefined && !bound.tryEnter()) {
        // Other managers share the client: it is our turn later, with what is most urgent then.
        bound.wait(this, () => this.startNext());
        return;
      }
      const uid = this.queue.take()!;
      if (this.inFlight.has(uid)) bound?.leave();
      else void this.inFlight.start(uid, permits).then(() => bound?.leave());
    }
  }

  /** Starts all unsent pods, whatever their back-off; resolves when none is left and no request under way, or after `deadlineMs`. */
  async sendAll(deadlineMs: number): Promise<void> {
    const { backOff, cache, clock } = this.#options;
    for (const uid of cache.unsentUIDs()) {
      backOff.endWait(uid, clock.monotonicMs());
      this.enqueue(uid);
    }
    this.startNext();
    const isDone = (): boolean =>
      this.#loop.signal.aborted || (this.inFlight.size === 0 && cache.unsentUIDs().length === 0);
    await this.#idleWaiters.waitUntil(isDone, deadlineMs, clock);
  }

  /** The pod's status has been dropped. */
  forget(uid: string): void {
    this.queue.remove(uid);
    this.#notifyIfIdle();
  }

  /** Starts nothing more on its own; what is unsent stays unsent. */
  quiesce(): void {
    this.queue.clear();
    this.#options.limiter.inFlightBound?.withdraw(this);
    this.#retryTimer.stop();
  }

  /** Resolves when nothing is in flight. Call it when nothing more is started. */
  async whenAllEnded(): Promise<void> {
    await this.inFlight.whenAllEnded();
    this.#notifyIfIdle();
  }

  /**
   * A pod that was set in the meantime is enqueued again. A pod that failed waits for its retry, and one
   * whose sync threw for the next wake-up or tick.
   */
  #syncEnded(uid: string, hasThrown: boolean): void {
    const { cache, logger } = this.#options;
    try {
      if (!hasThrown && this.#loop.isSending && cache.isUnsent(uid)) this.enqueue(uid);
    } catch (error) {
      logger.error({ ...thrownFields(error), podUID: uid }, 'Failed to examine a pod after its sync');
    }
    this.startNext();
    this.#notifyIfIdle();
  }

  /** Enqueues the pods whose back-off is over and that still have something to send. */
  #retryDue(): void {
    if (!this.#loop.isSending) return;
    const { backOff, cache, clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    try {
      for (const uid of cache.unsentUIDs()) {
        if (backOff.get(uid) === undefined) continue;
        const waitMs = backOff.waitMs(uid, cache.get(uid)!.version, nowMs);
        if (waitMs === 0) this.enqueue(uid);
        else nextMs = Math.min(nextMs, waitMs);
      }
    } catch (error) {
      logger.error(thrownFields(error), 'Failed to re-examine pods waiting for a retry');
    }
    if (nextMs !== Number.POSITIVE_INFINITY) this.#retryTimer.arm(Math.max(nextMs, retryGranularityMs));
    this.startNext();
  }

  #notifyIfIdle(): void {
    const isIdle = this.inFlight.size === 0 && (this.queue.size === 0 || this.#loop.signal.aborted);
    if (isIdle) this.#idleWaiters.notifyIdle();
  }
}
