import { untilAborted } from '../client/until-aborted.ts';
import { type Clock, sleep } from '../clock.ts';
import { refuseArgument, refuseOption, requireObject } from '../errors.ts';
import type { ClockLike } from '../guarded-clock.ts';
import { resolveClock } from '../ports.ts';
import { maxDurationMs } from '../validate.ts';

/** Options of a `RequestLimiter`. */
export interface RequestLimiterOptions {
  /** Requests per second in the long run; default no limit. kubelet: `--kube-api-qps`. */
  readonly qps?: number | undefined;
  /** Requests that may be made at once after a quiet time; default `qps`, rounded up. kubelet: `--kube-api-burst`. */
  readonly burst?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
}

/**
 * How fast requests may go to one API server: a token bucket, and a pause for all when the server
 * says that it is overloaded. One limiter may be shared by several managers.
 * Divergence: in the kubelet only the request that was answered with 429 waits.
 * Source: client-go `flowcontrol.NewTokenBucketRateLimiter`.
 */
export class RequestLimiter {
  readonly #clock: Clock;
  readonly #tokensPerMs: number;
  readonly #burst: number;
  #tokens: number;
  #filledAtMs: number;
  #pausedUntilMs = 0;
  /** The end of the line of those who wait; each waits for the one before. */
  #line: Promise<void> = Promise.resolve();

  /** @throws StatusManagerError INVALID_OPTION, or INVALID_ARGUMENT when `options` is no object */
  constructor(options: RequestLimiterOptions = {}) {
    requireObject('options', options);
    const { qps = Number.POSITIVE_INFINITY } = options;
    requirePositive('qps', qps);
    const burst = options.burst ?? Math.ceil(qps);
    requirePositive('burst', burst);
    this.#clock = resolveClock(options.clock);
    this.#tokensPerMs = qps / 1000;
    this.#burst = Math.max(1, burst);
    this.#tokens = this.#burst;
    this.#filledAtMs = this.#clock.monotonicMs();
  }

  /** Milliseconds until a request may be made if nobody else asks; 0 for at once. */
  get delayMs(): number {
    const now = this.#clock.monotonicMs();
    this.#fill(now);
    const forToken = this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#tokensPerMs;
    // Whole milliseconds: a clock need not know less, and a wait that rounds to nothing would not end.
    return Math.ceil(Math.max(forToken, this.#pausedUntilMs - now, 0));
  }

  /** True while the API server has asked everybody to wait. */
  get isPaused(): boolean {
    return this.#pausedUntilMs > this.#clock.monotonicMs();
  }

  /** No request starts before `ms` have passed; a longer pause that is under way stays. */
  pause(ms: number): void {
    if (typeof ms !== 'number' || !(ms >= 0 && ms <= maxDurationMs))
      refuseArgument('ms', `a number of milliseconds between 0 and ${maxDurationMs}`, ms);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.monotonicMs() + ms);
  }

  /** Resolves when one request may be made, first come first served; rejects with an `ApiError` when `signal` aborts. */
  async acquire(signal: AbortSignal): Promise<void> {
    if (this.#tokensPerMs === Number.POSITIVE_INFINITY && !this.isPaused) return;
    const turn = this.#line.then(() => this.#take(signal));
    this.#line = turn.catch(() => {});
    // Those before it may belong to another manager, which waits on.
    await untilAborted(turn, signal);
  }

  async #take(signal: AbortSignal): Promise<void> {
    for (let delayMs = this.delayMs; delayMs > 0 || signal.aborted; delayMs = this.delayMs) {
      signal.throwIfAborted();
      await sleep(this.#clock, Math.min(delayMs, maxDurationMs), signal);
    }
    this.#tokens--;
  }

  #fill(now: number): void {
    if (this.#tokensPerMs === Number.POSITIVE_INFINITY) this.#tokens = this.#burst;
    else this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#filledAtMs) * this.#tokensPerMs);
    this.#filledAtMs = now;
  }
}

function requirePositive(option: string, value: number): void {
  if (typeof value !== 'number' || !(value > 0)) refuseOption(option, 'a number > 0', value);
}
