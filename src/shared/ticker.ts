import type { Clock, Timer } from './clock.ts';

/**
 * Runs a task once per period. Ticks that a busy event loop misses, or that fire while the task is
 * running, are dropped, never queued. Source: Go `time.Ticker`.
 */
export class Ticker {
  readonly #clock: Pick<Clock, 'afterFunc' | 'monotonicMs'>;
  readonly #periodMs: number;
  readonly #task: () => void | Promise<void>;
  #dueMs = 0;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;

  /** @param task neither throws nor rejects */
  constructor(clock: Pick<Clock, 'afterFunc' | 'monotonicMs'>, periodMs: number, task: () => void | Promise<void>) {
    this.#clock = clock;
    this.#periodMs = periodMs;
    this.#task = task;
  }

  /** The first tick comes one period after this. */
  start(): void {
    this.#dueMs = this.#clock.monotonicMs();
    this.#schedule();
  }

  stop(): void {
    this.#timer?.stop();
  }

  /** Resolves when the task is not running. */
  async whenIdle(): Promise<void> {
    await this.#running;
  }

  #schedule(): void {
    const nowMs = this.#clock.monotonicMs();
    // At most one period: the fake timers of a test may set a running clock back.
    const delayMs = Math.min(Math.max(0, this.#dueMs + this.#periodMs - nowMs), this.#periodMs);
    this.#dueMs = nowMs + delayMs;
    this.#timer = this.#clock.afterFunc(delayMs, () => {
      this.#schedule();
      this.#tick();
    });
  }

  #tick(): void {
    if (this.#running !== undefined) return;
    this.#running = this.#task()?.finally(() => (this.#running = undefined));
  }
}
