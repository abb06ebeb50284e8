import type { Clock } from '../../shared/clock.ts';

export interface RefillingTokensOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Capacity of the bucket. */
  readonly size: number;
  /** Milliseconds until one token is refilled. */
  readonly refillMs: number;
}

/** A token bucket. Source: client-go `flowcontrol.RateLimiter`. */
export class RefillingTokens {
  readonly #options: RefillingTokensOptions;
  #tokens: number;
  #lastMs: number;

  constructor(options: RefillingTokensOptions) {
    this.#options = options;
    this.#tokens = options.size;
    this.#lastMs = options.clock.monotonicMs();
  }

  /** Takes a token and returns 0, or returns the milliseconds until one is available. */
  take(): number {
    const { clock, size, refillMs } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#tokens = Math.min(size, this.#tokens + (nowMs - this.#lastMs) / refillMs);
    this.#lastMs = nowMs;
    if (this.#tokens < 1) return Math.ceil((1 - this.#tokens) * refillMs);
    this.#tokens -= 1;
    return 0;
  }
}
