import type { AbortSignalLike } from '../../shared/abort.ts';
import { describeAbort } from '../../kube/client/api-error.ts';
import { type Clock, sleep } from '../../shared/clock.ts';
import type { Semaphore } from '../../shared/semaphore.ts';
import type { TokenBucket } from '../../shared/token-bucket.ts';

/** Pause of all requests when the API server is overloaded and sends no `Retry-After`. */
const defaultPauseMs = 1_000;
/** Longest pause of all requests; beyond it only the throttled pods wait. */
const maxPauseMs = 60_000;

/** What holds a request back: a pause that the API server asked for, `maxInFlight`, or `qps` and `burst`. */
export type ClientLimit = 'pause' | 'max-in-flight' | 'qps';

/** What one sync needs before each of its requests. */
export interface RequestPermit {
  /**
   * Resolves when the pod may make one request; rejects with an `APIError` when `signal` aborts.
   * @param onWait called whenever the request begins to wait for a limit
   */
  acquire(signal: AbortSignalLike, onWait?: (limit: ClientLimit) => void): Promise<void>;
  /** The sync has ended. */
  release(): void;
}

/** Admits every request immediately. */
export const unlimited: RequestPermit = { acquire: () => Promise.resolve(), release: () => {} };

/**
 * A PATCH passes these gates, in this order, before it is sent:
 *
 * 1. `concurrency` (`SyncLoop`): pods of this manager in flight. While one of them waits at a later
 *    gate, the loop starts no other pod. Each of the managers that share a gate therefore has one
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

  /** For one sync. */
  admission(): RequestPermit {
    const slots = this.#slots;
    let hasSlot = slots === undefined;
    const release = (): void => {
      if (slots === undefined || !hasSlot) return;
      hasSlot = false;
      slots.release();
    };
    const isFree = (): boolean => hasSlot && this.#bucket.isUnlimited && !this.isPaused;
    const waitInTurn = async (signal: AbortSignalLike, onWait: (limit: ClientLimit) => void): Promise<void> => {
      for (;;) {
        if (this.isPaused) {
          release();
          onWait('pause');
        }
        while (this.isPaused && !signal.aborted) await sleep(this.#clock, this.pauseMs, signal);
        if (signal.aborted) throw signal.reason;
        if (!hasSlot && slots?.tryAcquire() === false) {
          onWait('max-in-flight');
          await slots.acquire(signal);
        }
        hasSlot = true;
        if (!this.#bucket.tryTake()) {
          onWait('qps');
          await this.#bucket.take(signal);
        }
        if (!this.isPaused) return;
        // A pause began while it waited: another client may use the token.
        this.#bucket.giveBack();
      }
    };
    return {
      release,
      async acquire(signal, onWait = () => {}) {
        try {
          if (!isFree()) await waitInTurn(signal, onWait);
        } catch (error) {
          throw signal.aborted ? describeAbort(signal) : error;
        }
      },
    };
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
