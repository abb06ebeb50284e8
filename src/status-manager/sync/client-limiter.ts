import type { AbortSignalLike } from '../../shared/abort.ts';
import { describeAbort } from '../../kube/client/api-error.ts';
import type { InFlightBound } from '../../kube/client/in-flight-bound.ts';
import { type Clock, sleep } from '../../shared/clock.ts';
import type { TokenBucket } from '../../shared/token-bucket.ts';

/** Pause of all requests when the API server is overloaded and sends no `Retry-After`. */
const defaultPauseMs = 1_000;
/** Longest pause of all requests; beyond it only the throttled pods wait. */
const maxPauseMs = 60_000;

/**
 * A PATCH passes these limits, in this order, before it is sent:
 *
 * 1. `concurrency` (`SyncLoop`): pods of this manager in flight.
 * 2. `inFlightBound`: pods in flight of all managers that share the client or the limiter, so that
 *    each gets its share. It counts pods: a pod that waits for a token here needs no connection.
 * 3. `acquire` (here): this user's pause after 429 or 503, and its requests per second.
 * 4. A connection (`kube/http/connections.ts`): bounds all requests of the client, including lists and
 *    Events. It counts requests and equals the size of the pool.
 *
 * Shared by all managers that use one client, and therefore one user: the token bucket, and a pause
 * while the server throttles this user.
 *
 * A 429 or 503 puts the pod that got it into back-off. If a second pod is throttled before anything is
 * written, the cause is not a single pod, and all requests of this client pause.
 * Divergence: in the kubelet only the throttled request waits.
 */
export class ClientLimiter {
  /** Bounds the pods in flight. */
  readonly inFlightBound: InFlightBound | undefined;
  readonly #bucket: TokenBucket;
  readonly #clock: Clock;
  #pausedUntilMs = -Infinity;
  /** The first pod throttled since the last successful write. */
  #refusedUID: string | undefined;

  constructor(bucket: TokenBucket, clock: Clock, inFlightBound: InFlightBound | undefined) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.inFlightBound = inFlightBound;
  }

  /** Remaining milliseconds of the pause; 0 if there is none. */
  get pauseMs(): number {
    return Math.max(0, Math.ceil(this.#pausedUntilMs - this.#clock.monotonicMs()));
  }

  get isPaused(): boolean {
    return this.pauseMs > 0;
  }

  /**
   * Resolves when a pod that is in flight may make one request; rejects with an `APIError` when
   * `signal` aborts. During a pause the pod gives its in-flight slot to other clients.
   */
  async acquire(signal: AbortSignalLike): Promise<void> {
    if (this.#bucket.isUnlimited && !this.isPaused) return;
    for (;;) {
      await this.#untilResumed(signal);
      await this.#bucket.take(signal).catch(() => {
        throw describeAbort(signal);
      });
      if (!this.isPaused) return;
      // A pause began while it waited: another client may use the token.
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
