import type { Clock, Timer } from '../../shared/clock.ts';

/** Runs a task once every period. A tick that comes while the task is still running is dropped. */
export class Ticker {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #task: () => Promise<void>;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;

  /** @param task never rejects */
  constructor(clock: Clock, periodMs: number, task: () => Promise<void>) {
    this.#clock = clock;
    this.#periodMs = periodMs;
    this.#task = task;
  }

  /** The first tick comes one period after this. */
  start(): void {
    this.#timer = this.#clock.afterFunc(this.#periodMs, () => {
      this.start();
      this.#running ??= this.#task().finally(() => (this.#running = undefined));
    });
  }

  stop(): void {
    this.#timer?.stop();
  }

  /** Resolves when the task is not running. */
  async whenIdle(): Promise<void> {
    await this.#running;
  }
}
