import type { AbortSignalLike } from '../../shared/abort.ts';
import { type Clock, runInMicrotask } from '../../shared/clock.ts';

/**
 * Signals that a status was accepted. It has capacity one: statuses set in the same turn of the event
 * loop cause one batch. kubelet: `podStatusChannel`.
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

  /** Delivers once after the current turn of the event loop, however often it is called. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    runInMicrotask(() => {
      this.#isScheduled = false;
      this.#onDelivery();
    });
  }
}

/** Callers that wait for a change of state. Source: Go `sync.Cond`. */
export class Condition {
  #resolves: (() => void)[] = [];

  /** The state has changed. */
  broadcast(): void {
    const resolves = this.#resolves;
    this.#resolves = [];
    for (const resolve of resolves) resolve();
  }

  /** Resolves at the next `broadcast`. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#resolves.push(resolve));
  }

  /** Resolves when `isDone` returns true, which is called now and at each `broadcast`; after `deadlineMs`; or when the signal is aborted. */
  async waitUntil(
    isDone: () => boolean,
    deadlineMs: number,
    clock: Clock,
    signal: AbortSignalLike | undefined,
  ): Promise<void> {
    let isOver = signal?.aborted ?? false;
    const end = (): void => {
      isOver = true;
      this.broadcast();
    };
    const timer = clock.afterFunc(deadlineMs, end);
    signal?.addEventListener('abort', end);
    try {
      while (!isOver && !isDone()) await this.wait();
    } finally {
      timer.stop();
      signal?.removeEventListener('abort', end);
    }
  }
}
