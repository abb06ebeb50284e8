import type { Clock } from '../../shared/clock.ts';

/** The callers that wait until nothing is in flight and nothing queued. */
export class IdleWaiters {
  #resolves: (() => void)[] = [];

  notifyIdle(): void {
    const resolves = this.#resolves;
    this.#resolves = [];
    for (const resolve of resolves) resolve();
  }

  /** Resolves when `isDone` returns true, which is asked now and at each `notifyIdle`, or after `deadlineMs`. */
  async waitUntil(isDone: () => boolean, deadlineMs: number, clock: Clock): Promise<void> {
    let isOver = false;
    let end = (): void => {};
    const deadline = new Promise<void>((resolve) => (end = resolve));
    const timer = clock.afterFunc(deadlineMs, () => {
      isOver = true;
      end();
    });
    try {
      while (!isOver && !isDone()) await Promise.race([this.#nextIdle(), deadline]);
    } finally {
      timer.stop();
    }
  }

  #nextIdle(): Promise<void> {
    return new Promise((resolve) => this.#resolves.push(resolve));
  }
}
