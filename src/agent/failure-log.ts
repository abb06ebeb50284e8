import { type Clock, type Logger, timeFromEpochMs } from '../index.ts';

const reminderMs = 600_000;

/**
 * Logs that something fails: a warning at the first failure, another one every 10 minutes while it
 * fails, with `failingSince`, and one info when it works again.
 */
export class FailureLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #what: string;
  #failingSince: string | undefined;
  #failures = 0;
  #nextWarningMs = 0;

  /** @param what in the form `Renewal of the node's Lease` */
  constructor(logger: Logger, clock: Clock, what: string) {
    this.#logger = logger;
    this.#clock = clock;
    this.#what = what;
  }

  /** The time of the first failure; undefined while all is well. */
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
      `${this.#what} fails`,
    );
  }

  succeeded(): void {
    if (this.#failingSince === undefined) return;
    const fields = { failingSince: this.#failingSince, failures: this.#failures };
    this.#failingSince = undefined;
    this.#failures = 0;
    this.#logger.info(fields, `${this.#what} works again`);
  }
}

/** The message alone: a cause may contain secrets. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : `threw ${typeof error}`;
}
