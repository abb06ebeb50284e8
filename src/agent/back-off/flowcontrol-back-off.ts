import type { Clock } from '../../shared/clock.ts';
import { type BackOffEntry, type BackOffRange, unlessExpired, nextDelayMs } from '../../shared/exponential-back-off.ts';

/** Options of `BackOff`. */
export interface BackOffOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The delay after the first event, in milliseconds. */
  readonly baseMs: number;
  readonly maxMs: number;
  /** An entry that was not updated for this time starts again with `baseMs`. Default: twice `maxMs`. */
  readonly expiresAfterMs?: number | undefined;
}

interface Entry extends BackOffEntry {
  readonly reason: string | undefined;
}

/**
 * Exponential back-off by ID: `baseMs` after the first event, doubled at each further one, at most
 * `maxMs`. Times of events are on the monotonic clock. The caller reports each event with `next`, and checks with `isInBackOffSince`. Call `gc`
 * periodically: it removes expired entries.
 * Source: client-go `flowcontrol.Backoff`, without jitter.
 */
export class BackOff {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #range: BackOffRange;
  readonly #expiresAfterMs: number;
  readonly #entries = new Map<string, Entry>();

  constructor({ clock, baseMs, maxMs, expiresAfterMs = 2 * maxMs }: BackOffOptions) {
    this.#clock = clock;
    this.#range = { firstMs: baseMs, maxMs };
    this.#expiresAfterMs = expiresAfterMs;
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** The current delay in milliseconds; 0 if there is none. */
  get(id: string): number {
    return this.#entries.get(id)?.backoffMs ?? 0;
  }

  /** The reason of the last event, if it had one. */
  reasonOf(id: string): string | undefined {
    return this.#entries.get(id)?.reason;
  }

  /** Reports an event, such as the next start of a container that exited at `eventMs`. */
  next(id: string, eventMs: number, reason?: string): void {
    const entry = this.#live(id, eventMs);
    this.#entries.set(id, {
      backoffMs: nextDelayMs(entry?.backoffMs ?? 0, this.#range),
      lastUpdateMs: this.#clock.monotonicMs(),
      reason,
    });
  }

  /** True while less than the delay has passed since `eventMs`. */
  isInBackOffSince(id: string, eventMs: number): boolean {
    const entry = this.#live(id, eventMs);
    return entry !== undefined && this.#clock.monotonicMs() - eventMs < entry.backoffMs;
  }

  /** True when `eventMs` is less than the delay after the last `next`. */
  isInBackOffSinceUpdate(id: string, eventMs: number): boolean {
    const entry = this.#live(id, eventMs);
    return entry !== undefined && eventMs - entry.lastUpdateMs < entry.backoffMs;
  }

  /** Removes entries that have expired. */
  gc(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const id of this.#entries.keys()) if (this.#live(id, nowMs) === undefined) this.#entries.delete(id);
  }

  #live(id: string, eventMs: number): Entry | undefined {
    return unlessExpired(this.#entries.get(id), eventMs, this.#expiresAfterMs);
  }
}
