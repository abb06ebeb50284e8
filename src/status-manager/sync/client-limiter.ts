import { type Clock, sleep } from '../../shared/clock.ts';
import type { Semaphore } from '../../shared/semaphore.ts';
import type { TokenBucket } from '../../shared/token-bucket.ts';
import type { PodSync } from './pod-sync.ts';

/** Pause of all requests when the API server is overloaded and sends no `Retry-After`. */
const defaultPauseMs = 1_000;
/** Longest pause of all requests; beyond it only the throttled pods wait. */
const maxPauseMs = 60_000;

/** What the limiter needs of a sync. */
type LimitedSync = Pick<PodSync, 'enter' | 'hasSlot' | 'isLimited' | 'signal'>;

/**
 * A PATCH passes these gates, in this order, before it is sent:
 *
 * 1. `concurrency` (`SyncQueue`): pods of this manager in flight. While one of them waits at a later
 *    gate, no other pod starts. Each of the managers that share a gate therefore has one
 *    request or a few in its queue, and first come first served gives them equal shares.
 * 2. The pause of this user after 429 or 503 (here).
 * 3. The limits that the user has set with a `RequestLimiter` (here): `maxInFlight`, `qps`.
 * 4. A connection (`kube/http/connection-queue.ts`), for which all requests of the client wait, those
 *    of the informer and Events included.
 *
 * Shared by all managers that use one client, and therefore one user: the limits of a
 * `RequestLimiter`, and a pause while the server throttles this user.
 *
 * A 429 or 503 puts the pod that got it into back-off. If a second pod is throttled before anything is
 * written, the cause is not a single pod, and all requests of this client pause.
 * Divergence: in the kubelet only the throttled request waits.
 */
export class ClientLimiter {
  readonly #bucket: TokenBucket;
  /** `maxInFlight`. A pod keeps its slot until its sync ends, except during a pause. */
  readonly #slots: Semaphore | undefined;
  readonly #clock: Clock;
  #pausedUntilMs = -Infinity;
  /** The first pod throttled since the last successful write. */
  #refusedUID: string | undefined;

  constructor(bucket: TokenBucket, slots: Semaphore | undefined, clock: Clock) {
    this.#bucket = bucket;
    this.#slots = slots;
    this.#clock = clock;
  }

  /** Remaining milliseconds of the pause; 0 if there is none. */
  get pauseMs(): number {
    return Math.max(0, Math.ceil(this.#pausedUntilMs - this.#clock.monotonicMs()));
  }

  get isPaused(): boolean {
    return this.pauseMs > 0;
  }

  /** Resolves when the sync may make one request; rejects with the reason of its signal when that is aborted. */
  async acquire(sync: LimitedSync): Promise<void> {
    const { isLimited, signal } = sync;
    sync.enter({ kind: 'starting' });
    if (!isLimited) return;
    for (;;) {
      if (this.isPaused) {
        this.release(sync);
        sync.enter({ kind: 'retry-after' });
      }
      while (this.isPaused && !signal.aborted) await sleep(this.#clock, this.pauseMs, signal);
      if (signal.aborted) throw signal.reason;
      if (!sync.hasSlot && this.#slots?.tryAcquire() === false) {
        sync.enter({ kind: 'limiter', limit: 'max-in-flight' });
        await this.#slots.acquire(signal);
      }
      sync.hasSlot = true;
      if (!this.#bucket.tryTake()) {
        sync.enter({ kind: 'limiter', limit: 'qps' });
        await this.#bucket.take(signal);
      }
      if (!this.isPaused) return;
      // A pause began while it waited: another client may use the token.
      this.#bucket.giveBack();
    }
  }

  /** The sync has ended, or waits for the end of a pause: another one may use its slot. */
  release(sync: LimitedSync): void {
    if (!sync.hasSlot) return;
    sync.hasSlot = false;
    this.#slots?.release();
  }

  /** The API server refused a request of this pod with 429 or 503. */
  onThrottled(podUID: string, retryAfterMs = defaultPauseMs): void {
    this.#refusedUID ??= podUID;
    if (this.#refusedUID === podUID) return;
    const untilMs = this.#clock.monotonicMs() + Math.min(retryAfterMs, maxPauseMs);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
  }

  /** A status was written: the API server serves this client. */
  onWritten(): void {
    this.#refusedUID = undefined;
  }
}
