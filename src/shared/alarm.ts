import type { Clock, Timer } from './clock.ts';

/** One timer for several dates: it fires at the earliest. */
export class Alarm {
  readonly #clock: Pick<Clock, 'afterFunc' | 'monotonicMs'>;
  readonly #onDue: () => void;
  #armed: { readonly dueMs: number; readonly timer: Timer } | undefined;

  constructor(clock: Pick<Clock, 'afterFunc' | 'monotonicMs'>, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /**
   * Fires after `delayMs`, rounded up to whole milliseconds, or earlier if already armed for an earlier
   * time. A clock may not advance by a fraction of a millisecond, and the owner would arm it again forever.
   */
  arm(delayMs: number): void {
    const wholeMs = Math.ceil(delayMs);
    const dueMs = this.#clock.monotonicMs() + wholeMs;
    if (this.#armed !== undefined && this.#armed.dueMs <= dueMs) return;
    this.stop();
    const timer = this.#clock.afterFunc(wholeMs, () => {
      this.#armed = undefined;
      this.#onDue();
    });
    this.#armed = { dueMs, timer };
  }

  stop(): void {
    this.#armed?.timer.stop();
    this.#armed = undefined;
  }
}
