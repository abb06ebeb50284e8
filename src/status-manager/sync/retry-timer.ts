import type { Clock, Timer } from '../../shared/clock.ts';

/** One timer for all pods that wait for a retry: it fires for the first of them. */
export class RetryTimer {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  #armed: { readonly dueMs: number; readonly timer: Timer } | undefined;

  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Fires after `delayMs`, unless it fires earlier anyway. */
  arm(delayMs: number): void {
    const dueMs = this.#clock.monotonicMs() + delayMs;
    if (this.#armed !== undefined && this.#armed.dueMs <= dueMs) return;
    this.stop();
    const timer = this.#clock.afterFunc(delayMs, () => {
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
