import type { Clock } from './clock.ts';
import { type Logger, reasonOf } from './logger.ts';
import { timeFromEpochMs } from './time.ts';

/** Interval of reminders for the same reason. */
const reminderMs = 600_000;
/** Above this number of distinct reasons (they may contain a counter), only reminders are logged. */
const maxReasons = 8;

type Level = 'info' | 'warn' | 'error';

export interface FailureLogOptions {
  readonly logger: Pick<Logger, Level>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** The operation, for example `Renewing the node Lease`, or both messages. */
  readonly what: string | { readonly failed: string; readonly recovered: string };
  /** Added to each line, for example the node. Default: none. */
  readonly fields?: object | undefined;
}

export interface FailureDetails {
  /** Default: `warn`. */
  readonly level?: Level | undefined;
  /** Identifies the reason if the error's message differs at each failure. */
  readonly key?: string | undefined;
  /** How long the failed attempt took, if it failed from its beginning. Default: 0. */
  readonly tookMs?: number | undefined;
  /** Failures shorter than this are not logged. Default: 0, so that the first failure is logged. */
  readonly afterMs?: number | undefined;
}

/** Why an operation fails, and since when. */
export interface Failure {
  readonly failingSince: string;
  readonly reason: string;
}

/**
 * Logs an operation that keeps failing: when it has failed for `afterMs`, when the reason changes, and
 * every 10 minutes, with `failingSince` and `failures`. Its recovery is logged once, at info.
 */
export class FailureLog {
  readonly #options: FailureLogOptions;
  #first: { readonly monotonicMs: number; readonly wallMs: number } | undefined;
  #failures = 0;
  #reason: string | undefined;
  /** Key of a reason → when it was last logged. */
  readonly #loggedMs = new Map<string, number>();

  constructor(options: FailureLogOptions) {
    this.#options = options;
  }

  /** The time of the first failure since the last success; undefined if there was none. */
  get failingSince(): string | undefined {
    return this.#first && timeFromEpochMs(this.#first.wallMs);
  }

  /** The message of the last error; undefined after a success. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** `failingSince` and `reason`; undefined after a success. */
  get failure(): Failure | undefined {
    const { failingSince, reason = '' } = this;
    return failingSince === undefined ? undefined : { failingSince, reason };
  }

  failed(error: unknown, fields: object = {}, details: FailureDetails = {}): void {
    const { level = 'warn', key, tookMs = 0, afterMs = 0 } = details;
    const { clock, logger, fields: ownFields } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#first ??= { monotonicMs: nowMs - tookMs, wallMs: Math.round(clock.now() - tookMs) };
    this.#failures++;
    this.#reason = reasonOf(error);
    if (nowMs - this.#first.monotonicMs < afterMs || !this.#isDue(key ?? this.#reason, nowMs)) return;
    const { failingSince } = this;
    const described = { ...ownFields, ...fields, reason: this.#reason, failingSince, failures: this.#failures };
    logger[level](described, this.#message('failed'));
  }

  /** @param fields for the log, if the failure was logged */
  succeeded(fields: object = {}): void {
    if (this.#first === undefined) return;
    if (this.#loggedMs.size > 0) {
      const { clock, logger, fields: ownFields } = this.#options;
      const { failingSince } = this;
      const outageMs = Math.round(clock.monotonicMs() - this.#first.monotonicMs);
      logger.info(
        { ...ownFields, ...fields, failingSince, outageMs, failures: this.#failures },
        this.#message('recovered'),
      );
    }
    this.reset();
  }

  /** Forgets the failures without a log entry: the operation is no longer tried. */
  reset(): void {
    this.#first = undefined;
    this.#failures = 0;
    this.#reason = undefined;
    this.#loggedMs.clear();
  }

  #isDue(key: string, nowMs: number): boolean {
    const isNew = !this.#loggedMs.has(key);
    const knownKey = isNew && this.#loggedMs.size >= maxReasons ? '' : key;
    const loggedMs = this.#loggedMs.get(knownKey);
    if (loggedMs !== undefined && nowMs - loggedMs < reminderMs) return false;
    this.#loggedMs.set(knownKey, nowMs);
    return true;
  }

  #message(end: 'failed' | 'recovered'): string {
    const { what } = this.#options;
    if (typeof what !== 'string') return what[end];
    return end === 'failed' ? `${what} failed` : `${what} succeeded again`;
  }
}
