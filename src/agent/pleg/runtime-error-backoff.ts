const baseMs = 100;
const maxMs = 5000;

/**
 * The delay before the sync loop checks the runtime again after errors: 100 ms, doubled each time, at
 * most 5 s. Source: kubelet `syncLoop`.
 */
export class RuntimeErrorBackOff {
  #nextMs = baseMs;

  /** The delay after another check that found errors. */
  next(): number {
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(2 * delayMs, maxMs);
    return delayMs;
  }

  /** Call it after a check that found no errors. */
  reset(): void {
    this.#nextMs = baseMs;
  }
}
