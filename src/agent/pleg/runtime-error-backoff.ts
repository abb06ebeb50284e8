const baseMs = 100;
const maxMs = 5000;

/**
 * How long the sync loop waits before it looks again while the runtime has errors: 100 ms, doubled
 * each time, at most 5 s. Source: kubelet `syncLoop`.
 */
export class RuntimeErrorBackoff {
  #nextMs = baseMs;

  /** The wait after one more look that found errors. */
  next(): number {
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(2 * delayMs, maxMs);
    return delayMs;
  }

  /** After a look that found none. */
  reset(): void {
    this.#nextMs = baseMs;
  }
}
