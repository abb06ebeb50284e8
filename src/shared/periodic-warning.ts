import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

const periodMs = 60_000;

/** A warning about something that may happen very often: logged at most once a minute, with its `count` since then. */
export class PeriodicWarning {
  readonly #message: string;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #logger: Pick<Logger, 'warn'>;
  #count = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor(message: string, { clock, logger }: { clock: Pick<Clock, 'monotonicMs'>; logger: Pick<Logger, 'warn'> }) {
    this.#message = message;
    this.#clock = clock;
    this.#logger = logger;
  }

  warn(fields: object = {}): void {
    this.#count++;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#loggedMs < periodMs) return;
    this.#logger.warn({ ...fields, count: this.#count }, this.#message);
    this.#loggedMs = nowMs;
    this.#count = 0;
  }
}
