import { type Clock, runInMicrotask, type Timer } from '../../shared/clock.ts';

/**
 * The signal that a status was accepted. It has capacity one, so statuses that are set in the same
 * turn lead to one batch. kubelet: `podStatusChannel`.
 */
export class WakeUp {
  readonly #onDelivery: () => void;
  #isWaiting = false;
  #isScheduled = false;

  /** @param onDelivery called in a microtask after `schedule` */
  constructor(onDelivery: () => void) {
    this.#onDelivery = onDelivery;
  }

  /** A status was accepted and no batch has taken the signal yet. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  signal(): void {
    this.#isWaiting = true;
  }

  take(): void {
    this.#isWaiting = false;
  }

  /** Delivers once after the present turn, however often it is called within it. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    runInMicrotask(() => {
      this.#isScheduled = false;
      this.#onDelivery();
    });
  }
}

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
