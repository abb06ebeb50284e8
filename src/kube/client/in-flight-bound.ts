import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';

/** Options of an `InFlightBound`. */
export interface InFlightBoundOptions {
  /** Maximum number in flight. */
  readonly size: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Gets a warning, at most once a minute, when an owner had to wait long. Default: no warning. */
  readonly logger?: Pick<Logger, 'warn'> | undefined;
}

interface Waiter {
  readonly sinceMs: number;
  readonly onFree: () => void;
}

const longWaitMs = 10_000;
const warnPeriodMs = 60_000;

/**
 * A fair, shared bound on pods in flight. When all slots are taken, each owner queues once, however
 * much work it has; a free slot goes to the owner that has waited longest. Synchronous, without
 * timers.
 */
export class InFlightBound {
  readonly size: number;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #logger: Pick<Logger, 'warn'> | undefined;
  readonly #waiting = new Map<object, Waiter>();
  #inFlight = 0;
  #warnedAtMs = -Infinity;

  constructor({ size, clock, logger }: InFlightBoundOptions) {
    this.size = size;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Number of slots taken. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that wait to be admitted. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes a slot, or returns false if none is free. `leave()` returns the slot. */
  tryEnter(): boolean {
    if (this.#inFlight >= this.size) return false;
    this.#inFlight++;
    return true;
  }

  /** Re-admits a pod that yielded its slot during a pause, even if no slot is free. */
  reenter(): void {
    this.#inFlight++;
  }

  /**
   * Calls `onFree` once, when a slot is free and it is this owner's turn. `onFree` may call
   * `tryEnter()`, and `wait` again for another slot. Does nothing if the owner is already waiting.
   */
  wait(owner: object, onFree: () => void): void {
    if (!this.#waiting.has(owner)) this.#waiting.set(owner, { sinceMs: this.#clock.monotonicMs(), onFree });
  }

  /** Removes the owner from the queue. */
  withdraw(owner: object): void {
    this.#waiting.delete(owner);
  }

  /** A request that was admitted has ended; the next one is admitted. */
  leave(): void {
    this.#inFlight--;
    for (const [owner, waiter] of this.#waiting) {
      if (this.#inFlight >= this.size) return;
      this.#waiting.delete(owner);
      this.#warnAboutLongWait(waiter.sinceMs);
      waiter.onFree();
    }
  }

  #warnAboutLongWait(sinceMs: number): void {
    if (this.#logger === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    const waitedMs = Math.round(nowMs - sinceMs);
    if (waitedMs < longWaitMs || nowMs - this.#warnedAtMs < warnPeriodMs) return;
    this.#warnedAtMs = nowMs;
    this.#logger.warn(
      { waitedMs, maxInFlight: this.size, waiting: this.#waiting.size },
      'Requests wait long for their turn: the API server responds slowly, or too few may be in flight',
    );
  }
}
