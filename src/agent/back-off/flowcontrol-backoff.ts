import { type Clock, StatusManagerError } from '../../index.ts';

/** Options of `Backoff`. */
export interface BackoffOptions {
  /** Of all times; wall time, because the times of events are, too. */
  readonly clock: Pick<Clock, 'now'>;
  /** After the first event. */
  readonly baseMs: number;
  readonly maxMs: number;
  /** An entry that was not renewed for longer begins again with `baseMs`. Default: twice `maxMs`. */
  readonly expiresAfterMs?: number | undefined;
}

interface Entry {
  backoffMs: number;
  lastUpdateMs: number;
}

/**
 * How long something that keeps failing is put off: `baseMs` after the first event, doubled at
 * each further one, at most `maxMs`. The caller reports each event with `next`, and checks with
 * `isInBackOffSince`. Expired entries are removed by `gc`, which has to be called periodically.
 * Source: client-go `flowcontrol.Backoff`, without jitter.
 */
export class Backoff {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #baseMs: number;
  readonly #maxMs: number;
  readonly #expiresAfterMs: number;
  readonly #entries = new Map<string, Entry>();

  /** @throws StatusManagerError INVALID_OPTION unless 0 < `baseMs` ≤ `maxMs` */
  constructor({ clock, baseMs, maxMs, expiresAfterMs = 2 * maxMs }: BackoffOptions) {
    requireAtLeast('baseMs', baseMs, Number.MIN_VALUE);
    requireAtLeast('maxMs', maxMs, baseMs);
    requireAtLeast('expiresAfterMs', expiresAfterMs, 0);
    this.#clock = clock;
    this.#baseMs = baseMs;
    this.#maxMs = maxMs;
    this.#expiresAfterMs = expiresAfterMs;
  }

  /** How many entries there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** The present delay in milliseconds; 0: none. */
  get(id: string): number {
    return this.#entries.get(id)?.backoffMs ?? 0;
  }

  /** Reports an event, such as the next start of a container that exited at `eventMs`. */
  next(id: string, eventMs: number): void {
    const entry = this.#live(id, eventMs);
    this.#entries.set(id, {
      backoffMs: entry === undefined ? this.#baseMs : Math.min(2 * entry.backoffMs, this.#maxMs),
      lastUpdateMs: this.#clock.now(),
    });
  }

  /** Forgets what is known of `id`. */
  reset(id: string): void {
    this.#entries.delete(id);
  }

  /** True while less than the delay has passed since `eventMs`. */
  isInBackOffSince(id: string, eventMs: number): boolean {
    const entry = this.#live(id, eventMs);
    return entry !== undefined && this.#clock.now() - eventMs < entry.backoffMs;
  }

  /** True when `eventMs` is less than the delay after the last `next`. */
  isInBackOffSinceUpdate(id: string, eventMs: number): boolean {
    const entry = this.#live(id, eventMs);
    return entry !== undefined && eventMs - entry.lastUpdateMs < entry.backoffMs;
  }

  /** Removes entries that have expired. */
  gc(): void {
    const nowMs = this.#clock.now();
    for (const id of this.#entries.keys()) if (this.#live(id, nowMs) === undefined) this.#entries.delete(id);
  }

  #live(id: string, eventMs: number): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined || eventMs - entry.lastUpdateMs > this.#expiresAfterMs ? undefined : entry;
  }
}

function requireAtLeast(path: string, value: number, minimum: number): void {
  if (value >= minimum) return;
  const expected = minimum === Number.MIN_VALUE ? 'a number > 0' : `a number ≥ ${minimum}`;
  throw new StatusManagerError('INVALID_OPTION', `Expected \`${path}\` to be ${expected}, got ${String(value)}`, {
    path,
  });
}
