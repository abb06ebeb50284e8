import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';

/** Options of an `InFlightBound`. */
export interface InFlightBoundOptions {
  /** How many may be in flight at a time. */
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
 * Bounds what is in flight for all who share it, fairly: when all places are taken, each owner waits
 * once, however much it has to do, and a place that becomes free goes to the owner that has waited
 * longest. Everything here is synchronous; there are no timers.
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

  /** Requests that were admitted and have not left. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that wait to be admitted. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes a place, or returns false when none is free. Each place is given back with `leave()`. */
  tryEnter(): boolean {
    if (this.#inFlight >= this.size) return false;
    this.#inFlight++;
    return true;
  }

  /** Takes a place even if none is free: for what gave its place up during a pause. */
  reenter(): void {
    this.#inFlight++;
  }

  /**
   * Calls `onFree` once, when a place is free and it is this owner's turn. It may take the place with
   * `tryEnter()`, and wait again for another one. Does nothing for an owner that waits already.
   */
  wait(owner: object, onFree: () => void): void {
    if (!this.#waiting.has(owner)) this.#waiting.set(owner, { sinceMs: this.#clock.monotonicMs(), onFree });
  }

  /** The owner does not wait any more. */
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
