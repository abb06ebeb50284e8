import { type Clock, systemClock, type Timer } from './clock.ts';
import { tryCall } from './guarded.ts';

/** A clock as an option: methods of `Clock` that are optional here default to the system clock's. */
export type ClockLike = Pick<Clock, 'now' | 'monotonicMs' | 'afterFunc'> & Partial<Clock>;

/**
 * A clock of the caller that never throws. When a reading fails, or is not a number, the last good one
 * is returned. When a timer cannot be set, the system clock sets it, so that no tick is lost.
 */
export class GuardedClock implements Clock {
  readonly #clock: ClockLike;
  readonly #onThrow: (thrown: unknown, method: string) => void;
  #lastNow: number | undefined;
  #lastMonotonicMs = 0;

  constructor(clock: ClockLike, onThrow: (thrown: unknown, method: string) => void) {
    this.#clock = clock;
    this.#onThrow = onThrow;
  }

  now(): number {
    const now = this.#call('now', () => this.#clock.now());
    if (Number.isFinite(now)) this.#lastNow = now;
    return this.#lastNow ?? systemClock.now();
  }

  monotonicMs(): number {
    const nowMs = this.#call('monotonicMs', () => this.#clock.monotonicMs());
    if (Number.isFinite(nowMs)) this.#lastMonotonicMs = nowMs!;
    return this.#lastMonotonicMs;
  }

  afterFunc(delayMs: number, callback: () => void): Timer {
    const timer =
      this.#call('afterFunc', () => this.#clock.afterFunc(delayMs, callback)) ??
      systemClock.afterFunc(delayMs, callback);
    return { stop: () => this.#call('Timer.stop', () => timer.stop()) };
  }

  async yieldToEventLoop(): Promise<void> {
    try {
      await (this.#clock.yieldToEventLoop?.() ?? systemClock.yieldToEventLoop());
    } catch (thrown) {
      this.#onThrow(thrown, 'yieldToEventLoop');
      await systemClock.yieldToEventLoop();
    }
  }

  #call<T>(method: string, call: () => T): T | undefined {
    return tryCall(call, (thrown) => this.#onThrow(thrown, method));
  }
}
