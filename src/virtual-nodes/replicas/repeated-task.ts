import { Alarm } from '../../shared/alarm.ts';
import type { Clock } from '../../shared/clock.ts';

/** Repeats a task until it is stopped; never two runs at the same time. */
export class RepeatedTask {
  readonly #task: () => Promise<number>;
  readonly #alarm: Alarm;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isStopped = false;

  /** @param task resolves with the milliseconds until the next run; does not reject */
  constructor(clock: Pick<Clock, 'afterFunc' | 'monotonicMs'>, task: () => Promise<number>) {
    this.#task = task;
    this.#alarm = new Alarm(clock, () => void this.run());
  }

  /** Runs the task now, or again after the current run. Resolves when that run has ended. */
  run(): Promise<void> {
    if (this.#running === undefined) return this.#run();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#run();
    });
    return this.#next;
  }

  /** Ends the repetition. Resolves when the task does not run. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#alarm.stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    if (this.#isStopped) return;
    this.#alarm.stop();
    let delayMs = 0;
    this.#running = this.#task().then((ms) => void (delayMs = ms));
    await this.#running;
    this.#running = undefined;
    if (!this.#isStopped) this.#alarm.arm(delayMs);
  }
}
