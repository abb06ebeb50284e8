import type { Clock } from '../shared/clock.ts';
import type { Logger } from '../shared/logger.ts';
import { timeFromEpochMs } from '../shared/time.ts';

const reminderMs = 600_000;

/**
 * Logs an operation that keeps failing: a warning at the first failure and then every 10 minutes, with
 * `failingSince`, and an info line when it succeeds again.
 */
export class FailureLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #what: string;
  #failingSince: string | undefined;
  #failures = 0;
  #nextWarningMs = 0;

  /** @param what the operation, for example `Renewing the node Lease` */
  constructor(logger: Logger, clock: Clock, what: string) {
    this.#logger = logger;
    this.#clock = clock;
    this.#what = what;
  }

  /** The time of the first failure since the last success; undefined if there was none. */
  get failingSince(): string | undefined {
    return this.#failingSince;
  }

  failed(error: unknown, fields: object = {}): void {
    this.#failingSince ??= timeFromEpochMs(this.#clock.now());
    this.#failures++;
    const nowMs = this.#clock.monotonicMs();
    if (this.#failures > 1 && nowMs < this.#nextWarningMs) return;
    this.#nextWarningMs = nowMs + reminderMs;
    const { failingSince } = this;
    this.#logger.warn(
      { ...fields, reason: reasonOf(error), failingSince, failures: this.#failures },
      `${this.#what} failed`,
    );
  }

  succeeded(): void {
    if (this.#failingSince === undefined) return;
    const fields = { failingSince: this.#failingSince, failures: this.#failures };
    this.#failingSince = undefined;
    this.#failures = 0;
    this.#logger.info(fields, `${this.#what} succeeded again`);
  }
}

/** Only the message, because a cause may contain secrets. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : `threw ${typeof error}`;
}
