import type { AbortSignalLike } from '../../shared/abort.ts';
import { describeAbort } from '../../kube/client/api-error.ts';
import type { InFlightBound } from '../../kube/client/in-flight-bound.ts';
import { type Clock, sleep } from '../../shared/clock.ts';
import type { TokenBucket } from '../../shared/token-bucket.ts';

/** How long all pods wait when the API server is overloaded and does not say for how long. */
const defaultPauseMs = 1_000;
/** Longer than this, only the pods that were refused wait. */
const maxPauseMs = 60_000;

/**
 * What a PATCH passes before it leaves, in this order, and why:
 *
 * 1. `concurrency` (`SyncScheduler`): pods of this manager in flight.
 * 2. `inFlightBound`: pods in flight of all managers that share the client or the limiter, so that each
 *    gets its share. It counts pods: one that waits for a token here needs no connection.
 * 3. `acquire` (here): this user's pause after 429 or 503, and its requests per second.
 * 4. A connection (`kube/http/connections.ts`): requests of everything that uses the client, such as
 *    lists and Events. It counts requests, and is as large as the pool.
 *
 * The limits of all managers that talk to the API server through one client, so as one user: the
 * shared token bucket, and a pause while the server refuses this user.
 *
 * A 429 or 503 delays the pod that got it, by its back-off. When another pod is refused as well, and
 * nothing was written in between, the cause is not one pod, and all requests of this client pause.
 * Divergence: in the kubelet only the request that was refused waits.
 */
export class ClientLimiter {
  /** Bounds the pods in flight. */
  readonly inFlightBound: InFlightBound | undefined;
  readonly #bucket: TokenBucket;
  readonly #clock: Clock;
  #pausedUntilMs = -Infinity;
  /** The first pod that was refused since something was written. */
  #refusedUID: string | undefined;

  constructor(bucket: TokenBucket, clock: Clock, inFlightBound: InFlightBound | undefined) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.inFlightBound = inFlightBound;
  }

  /** Milliseconds for which the API server has asked this client to wait; 0 when it has not. */
  get pauseMs(): number {
    return Math.max(0, Math.ceil(this.#pausedUntilMs - this.#clock.monotonicMs()));
  }

  get isPaused(): boolean {
    return this.pauseMs > 0;
  }

  /**
   * Resolves when a pod that is in flight may make one request; rejects with an `APIError` when
   * `signal` aborts. During a pause the pod leaves its place in flight to other clients.
   */
  async acquire(signal: AbortSignalLike): Promise<void> {
    if (this.#bucket.isUnlimited && !this.isPaused) return;
    for (;;) {
      await this.#untilResumed(signal);
      await this.#bucket.take(signal).catch(() => {
        throw describeAbort(signal);
      });
      if (!this.isPaused) return;
      // Paused while it waited: another client may use the token.
      this.#bucket.giveBack();
    }
  }

  /** The API server refused a request of this pod with 429 or 503. */
  noteThrottled(podUID: string, retryAfterMs = defaultPauseMs): void {
    this.#refusedUID ??= podUID;
    if (this.#refusedUID === podUID) return;
    const untilMs = this.#clock.monotonicMs() + Math.min(retryAfterMs, maxPauseMs);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
  }

  /** A status was written: the API server serves this client. */
  noteWritten(): void {
    this.#refusedUID = undefined;
  }

  async #untilResumed(signal: AbortSignalLike): Promise<void> {
    if (signal.aborted) throw describeAbort(signal);
    if (!this.isPaused) return;
    this.inFlightBound?.leave();
    try {
      while (this.isPaused && !signal.aborted) await sleep(this.#clock, this.pauseMs, signal);
    } finally {
      this.inFlightBound?.reenter();
    }
    if (signal.aborted) throw describeAbort(signal);
  }
}
