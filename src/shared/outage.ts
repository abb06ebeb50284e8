import type { Clock } from './clock.ts';
import { timeFromEpochMs } from './time.ts';

const loggedAfterMs = 30_000;

/** Tracks since when an operation has failed without a success, and when to log that: once after 30 s, and once after recovery. */
export class Outage {
  readonly #clock: Clock;
  #sinceMs: number | undefined;
  #isLogged = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined after a success. */
  get forMs(): number | undefined {
    return this.#sinceMs === undefined ? undefined : this.#clock.monotonicMs() - this.#sinceMs;
  }

  get isLogged(): boolean {
    return this.#isLogged;
  }

  /** @returns fields of the warning, if it is to be logged now. @param tookMs how long the failed attempt took */
  failed(tookMs = 0): { readonly since: string } | undefined {
    this.#sinceMs ??= this.#clock.monotonicMs() - tookMs;
    if (this.#isLogged || this.forMs! < loggedAfterMs) return undefined;
    this.#isLogged = true;
    return { since: this.#since() };
  }

  /** @returns fields of the log entry, if an outage that was logged is over now */
  ended(): { readonly since: string; readonly outageMs: number } | undefined {
    const fields = this.#isLogged ? { since: this.#since(), outageMs: Math.round(this.forMs!) } : undefined;
    this.#sinceMs = undefined;
    this.#isLogged = false;
    return fields;
  }

  #since(): string {
    return timeFromEpochMs(this.#clock.now() - this.forMs!);
  }
}
