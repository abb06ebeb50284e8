import { type AbortSignalLike, untilAborted } from './abort.ts';
import { type Clock, sleep } from './clock.ts';
import { maxDurationMs } from './validate.ts';

/** A token for each request, first come first served. Source: client-go `flowcontrol.NewTokenBucketRateLimiter`. */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'afterFunc'>;
  readonly #msPerToken: number;
  readonly #burst: number;
  #tokens: number;
  #filledAtMs: number;
  /** Settles when the last queued caller has its token; each caller waits for the previous one. */
  #lastInQueue: Promise<void> | undefined;
  #queued = 0;

  /** `qps` may be infinite. */
  constructor(qps: number, burst: number, clock: Pick<Clock, 'monotonicMs' | 'afterFunc'>) {
    this.#clock = clock;
    this.#msPerToken = 1000 / qps;
    this.#burst = Math.max(1, burst);
    this.#tokens = this.#burst;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** Milliseconds until there is a token if no other request takes one; 0 when there is one. */
  get delayMs(): number {
    this.#fill(this.#clock.monotonicMs());
    if (this.#tokens >= 1) return 0;
    // Rounded up to milliseconds: a wait truncated to 0 by a coarse clock would loop forever.
    return Math.ceil((1 - this.#tokens) * this.#msPerToken);
  }

  get isUnlimited(): boolean {
    return this.#msPerToken === 0;
  }

  /** Resolves when there is a token, first come first served; rejects with its reason when `signal` aborts. */
  async take(signal: AbortSignalLike): Promise<void> {
    if (this.isUnlimited) return;
    this.#queued++;
    const turn = (this.#lastInQueue ?? Promise.resolve())
      .then(() => this.#takeInTurn(signal))
      .finally(() => this.#queued--);
    this.#lastInQueue = turn.catch(() => {});
    // The requests before it may belong to another manager, which keeps waiting.
    await untilAborted(turn, signal);
  }

  /** Takes a token; returns false if none is left or other callers are queued. */
  tryTake(): boolean {
    if (this.isUnlimited) return true;
    if (this.#queued > 0 || this.delayMs > 0) return false;
    this.#tokens--;
    return true;
  }

  /** Gives back a token that was not used. */
  giveBack(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1);
  }

  async #takeInTurn(signal: AbortSignalLike): Promise<void> {
    for (let delayMs = this.delayMs; delayMs > 0 || signal.aborted; delayMs = this.delayMs) {
      if (signal.aborted) throw signal.reason;
      await sleep(this.#clock, Math.min(delayMs, maxDurationMs), signal);
    }
    this.#tokens--;
  }

  #fill(now: number): void {
    if (this.isUnlimited) this.#tokens = this.#burst;
    else {
      // Never less than before: fake timers of a test may set a running clock back.
      const elapsedMs = Math.max(0, now - this.#filledAtMs);
      this.#tokens = Math.min(this.#burst, this.#tokens + elapsedMs / this.#msPerToken);
    }
    this.#filledAtMs = now;
  }
}
