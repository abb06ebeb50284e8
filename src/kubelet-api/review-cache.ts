import type { Clock } from '../shared/clock.ts';

/** Source: apiserver `token/cache`, `webhook.maxControlledAttrCacheSize`. */
const maxEntries = 8192;

interface Entry<Value> {
  readonly value: Value;
  /** By the monotonic clock. */
  readonly expiresMs: number;
}

/** How long results are valid, in milliseconds. */
export interface ReviewTTLs {
  readonly acceptedMs: number;
  readonly refusedMs: number;
}

/**
 * Results of reviews by the API server; `undefined` and `false` are refusals. A review in progress is shared; one that
 * fails is not cached. Refusals are kept apart, so that made-up credentials do not displace those that are accepted.
 */
export class ReviewCache<Value> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #ttls: ReviewTTLs;
  readonly #inProgress = new Map<string, Promise<Value>>();
  /** In the order in which they were added, like the refused ones. */
  readonly #accepted = new Map<string, Entry<Value>>();
  readonly #refused = new Map<string, Entry<Value>>();

  constructor(clock: Pick<Clock, 'monotonicMs'>, ttls: ReviewTTLs) {
    this.#clock = clock;
    this.#ttls = ttls;
  }

  /** @param review gets whether the result was accepted before, and has expired */
  async get(key: string, review: (isKnown: boolean) => Promise<Value>): Promise<Value> {
    const cached = this.#accepted.get(key) ?? this.#refused.get(key);
    if (cached !== undefined && cached.expiresMs > this.#clock.monotonicMs()) return cached.value;
    const running = this.#inProgress.get(key);
    if (running !== undefined) return running;
    const started = review(this.#accepted.has(key));
    this.#inProgress.set(key, started);
    try {
      const value = await started;
      this.#add(key, value);
      return value;
    } finally {
      this.#inProgress.delete(key);
    }
  }

  #add(key: string, value: Value): void {
    const isAccepted = value !== undefined && value !== false;
    const { acceptedMs, refusedMs } = this.#ttls;
    this.#accepted.delete(key);
    this.#refused.delete(key);
    const entries = isAccepted ? this.#accepted : this.#refused;
    entries.set(key, { value, expiresMs: this.#clock.monotonicMs() + (isAccepted ? acceptedMs : refusedMs) });
    const [oldest] = entries.keys();
    if (entries.size > maxEntries) entries.delete(oldest!);
  }
}
