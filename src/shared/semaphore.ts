import type { AbortSignalLike } from './abort.ts';
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import { PeriodicWarning } from './periodic-warning.ts';

export interface SemaphoreOptions {
  /** Number of slots. */
  readonly size: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Gets a warning, at most once a minute, when a request had to wait long. Default: none. */
  readonly warning?:
    | {
        /** The option that sets `size`. */
        readonly option: 'connections' | 'maxInFlight';
        readonly logger: Pick<Logger, 'warn'>;
      }
    | undefined;
}

interface Waiter {
  readonly sinceMs: number;
  admit(): void;
}

const longWaitMs = 10_000;

/** A number of slots, first come first served. Has no timers. */
export class Semaphore {
  readonly size: number;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #option: string;
  readonly #longWait: PeriodicWarning | undefined;
  readonly #waiting = new Set<Waiter>();
  #taken = 0;

  constructor({ size, clock, warning }: SemaphoreOptions) {
    this.size = size;
    this.#clock = clock;
    this.#option = warning?.option ?? '';
    const message = 'Requests are queued for long: the API server responds slowly, or their number is limited too much';
    this.#longWait = warning && new PeriodicWarning(message, { clock, logger: warning.logger });
  }

  /** Those that wait for a slot. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** For how long the first of them has waited; 0 if there are none. */
  get longestWaitMs(): number {
    const [first] = this.#waiting;
    return first === undefined ? 0 : this.#clock.monotonicMs() - first.sinceMs;
  }

  /** Takes a slot, or returns false if none is free. */
  tryAcquire(): boolean {
    if (this.#taken >= this.size) return false;
    this.#taken++;
    return true;
  }

  /** Resolves with a slot taken; rejects with the signal's reason, without a slot, when it aborts. */
  acquire(signal: AbortSignalLike): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.tryAcquire()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiter);
        signal.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        leave();
        reject(signal.reason);
      };
      const waiter: Waiter = {
        sinceMs: this.#clock.monotonicMs(),
        admit() {
          leave();
          resolve();
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', onAbort);
    });
  }

  /** Gives a slot to the caller that has waited longest, or makes it free. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken--;
      return;
    }
    next.admit();
    this.#warnAboutLongWait(next.sinceMs);
  }

  #warnAboutLongWait(sinceMs: number): void {
    const waitedMs = Math.round(this.#clock.monotonicMs() - sinceMs);
    if (waitedMs >= longWaitMs)
      this.#longWait?.warn({ waitedMs, [this.#option]: this.size, waiting: this.#waiting.size });
  }
}
