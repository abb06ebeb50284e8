import { runInMicrotask } from '../../shared/clock.ts';

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
