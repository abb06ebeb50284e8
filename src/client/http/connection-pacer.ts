import type { Clock } from '../../clock.ts';

/**
 * Bounds new connections per second, whatever makes them necessary: `burst` may be opened
 * immediately, and then `perSecond`.
 */
export class ConnectionPacer {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #intervalMs: number;
  readonly #burstMs: number;
  /** When all connections so far would have been opened at an even rate. */
  #evenMs = -Infinity;

  constructor(options: {
    readonly perSecond: number;
    readonly burst: number;
    readonly clock: Pick<Clock, 'monotonicMs'>;
  }) {
    this.#clock = options.clock;
    this.#intervalMs = 1_000 / options.perSecond;
    this.#burstMs = (options.burst - 1) * this.#intervalMs;
  }

  /** Milliseconds that the next connection has to wait; 0 for none. Each call counts one connection. */
  nextDelayMs(): number {
    const nowMs = this.#clock.monotonicMs();
    const evenMs = Math.max(this.#evenMs, nowMs);
    this.#evenMs = evenMs + this.#intervalMs;
    return Math.max(0, Math.ceil(evenMs - nowMs - this.#burstMs));
  }
}
