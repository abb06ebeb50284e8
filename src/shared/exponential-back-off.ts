/** The delays of a back-off, in milliseconds. */
export interface BackOffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The delay that follows `lastMs`: the first one, then twice as long each time, at most `maxMs`. */
export function nextDelayMs(lastMs: number, { firstMs, maxMs }: BackOffRange): number {
  return Math.min(maxMs, Math.max(firstMs, 2 * lastMs));
}

/** The current delay of a back-off, and when it was last raised. Source: client-go `backoffEntry`. */
export interface BackOffEntry {
  readonly backoffMs: number;
  readonly lastUpdateMs: number;
}

/** The entry unless the event at `eventMs` comes so late after it that the delays start again. */
export function unlessExpired<Entry extends BackOffEntry>(
  entry: Entry | undefined,
  eventMs: number,
  expiresAfterMs: number,
): Entry | undefined {
  return entry === undefined || eventMs - entry.lastUpdateMs > expiresAfterMs ? undefined : entry;
}

/**
 * Adds jitter, so that delays do not expire at the same time: adds up to `factor` times the delay, or
 * subtracts it if `factor` is negative. Source: apimachinery `wait.Jitter`.
 * @param random returns a number in [0, 1)
 */
export function jitter(delayMs: number, factor: number, random: () => number): number {
  return delayMs * (1 + factor * random());
}

/** Delays that double. Source: apimachinery `wait.Backoff` with `Factor` 2. */
export class ExponentialBackOff {
  readonly #range: BackOffRange;
  #lastMs = 0;

  constructor(range: BackOffRange) {
    this.#range = range;
  }

  /** The delay after the next failure. */
  next(): number {
    this.#lastMs = nextDelayMs(this.#lastMs, this.#range);
    return this.#lastMs;
  }

  /** Resets to the first delay; call it after a success. */
  reset(): void {
    this.#lastMs = 0;
  }
}
