import type { Clock } from '../shared/clock.ts';

/** Source: apiserver `token/cache`, `webhook.maxControlledAttrCacheSize`. */
const maxEntries = 8192;

interface Entry<Value> {
  readonly value: Promise<Value>;
  /** By the monotonic clock; undefined while the review is in progress. */
  expiresMs?: number;
}

/** Results of reviews by the API server. A review in progress is shared; one that fails is not cached. */
export class ReviewCache<Value> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #ttlMsOf: (value: Value) => number;
  /** In the order in which they were added. */
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(clock: Pick<Clock, 'monotonicMs'>, ttlMsOf: (value: Value) => number) {
    this.#clock = clock;
    this.#ttlMsOf = ttlMsOf;
  }

  async get(key: string, review: () => Promise<Value>): Promise<Value> {
    const cached = this.#entries.get(key);
    if (cached !== undefined && (cached.expiresMs ?? Number.POSITIVE_INFINITY) > this.#clock.monotonicMs())
      return cached.value;
    const entry: Entry<Value> = { value: review() };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries) break;
      this.#entries.delete(oldest);
    }
    try {
      const value = await entry.value;
      entry.expiresMs = this.#clock.monotonicMs() + this.#ttlMsOf(value);
      return value;
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }
}
