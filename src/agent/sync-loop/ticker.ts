import type { Clock, Timer } from '../../shared/clock.ts';

/** Calls `onTick` every `periodMs`, until it is stopped. Source: Go `time.Ticker`. */
export class Ticker {
  readonly #clock: Pick<Clock, 'afterFunc' | 'monotonicMs'>;
  readonly #periodMs: number;
  readonly #onTick: () => void;
  #nextMs: number;
  #timer: Timer | undefined;

  constructor(clock: Pick<Clock, 'afterFunc' | 'monotonicMs'>, periodMs: number, onTick: () => void) {
    this.#clock = clock;
    this.#periodMs = periodMs;
    this.#onTick = onTick;
    this.#nextMs = clock.monotonicMs();
    this.#schedule();
  }

  stop(): void {
    this.#timer?.stop();
  }

  #schedule(): void {
    const nowMs = this.#clock.monotonicMs();
    // Missed ticks are dropped.
    this.#nextMs = Math.max(this.#nextMs + this.#periodMs, nowMs);
    this.#timer = this.#clock.afterFunc(this.#nextMs - nowMs, () => {
      this.#schedule();
      this.#onTick();
    });
  }
}
