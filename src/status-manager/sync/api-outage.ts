import type { RequestVerb } from '../../kube/client/pod-client.ts';
import { Alarm } from '../../shared/alarm.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { type MonotonicTimes, timeFromEpochMs } from '../../shared/time.ts';
import { failureClassTable, type RetriedFailureClass } from './failure-classes.ts';

/** Minimum duration of an outage. */
const outageAfterMs = 30_000;

/** A failed request of a sync. */
export interface FailedRequest {
  readonly verb: RequestVerb;
  readonly failure: RetriedFailureClass;
  readonly statusCode: number | undefined;
  readonly message: string;
  /** How long the request took. */
  readonly tookMs: number;
}

/** Since when no status can be written, and how the last request failed. */
export interface OutageInspection {
  /** When the first of the requests failed (RFC 3339), at least 30 s ago. */
  readonly since: string;
  readonly verb: RequestVerb;
  readonly failure: RetriedFailureClass;
  /** Undefined when there was no response. */
  readonly statusCode: number | undefined;
  readonly message: string;
}

export interface APIOutageOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly countUnsent: () => number;
}

/**
 * Detects outages: times in which no status can be written. An outage begins after 30 s in which
 * requests failed for reasons unrelated to the pod (`isOutage` in the table of failure classes), and
 * either requests of two pods failed and nothing was written, or no request of any verb succeeded. A
 * single pod whose PATCH fails after a successful GET is not an outage.
 *
 * A timer logs the beginning at warn after 30 s, because the next failure may come much later. The end
 * is logged at warn too, so that the default logger shows both. `inspect()` and metrics show an outage
 * only once it is logged.
 */
export class APIOutage {
  readonly #options: APIOutageOptions;
  /** Pod UID → time of its first failed sync in a row, oldest first. */
  readonly #failingSinceMs = new Map<string, number>();
  /** The first failed GET since a request succeeded. Only GETs count: each PATCH or DELETE that fails is followed by one. */
  #noResponseSinceMs: number | undefined;
  #last: FailedRequest | undefined;
  /** Start of the outage that was logged. */
  #loggedSinceMs: number | undefined;
  /** Logs the beginning without waiting for another failure. */
  readonly #alarm: Alarm;
  #isStarted = false;

  constructor(options: APIOutageOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.#update());
  }

  /** From now on, an outage is logged without waiting for another failure. */
  start(): void {
    this.#isStarted = true;
    this.#update();
  }

  /** Leaves no timer. */
  stop(): void {
    this.#isStarted = false;
    this.#alarm.stop();
  }

  /** Undefined while there is no outage. */
  inspect(times: MonotonicTimes): OutageInspection | undefined {
    if (this.#last === undefined || this.#loggedSinceMs === undefined) return undefined;
    const { verb, failure, statusCode, message } = this.#last;
    return { since: times.format(this.#loggedSinceMs), verb, failure, statusCode, message };
  }

  get isDown(): boolean {
    return this.#loggedSinceMs !== undefined;
  }

  /** A sync failed. */
  failed(uid: string, request: FailedRequest): void {
    const { verb, failure, tookMs } = request;
    if (!failureClassTable[failure].isOutage) {
      // The API server has processed the request.
      if (verb !== 'get') return this.written();
      this.requestSucceeded();
      return this.podSucceeded(uid);
    }
    this.#last = request;
    const sinceMs = this.#options.clock.monotonicMs() - tookMs;
    if (!this.#failingSinceMs.has(uid)) this.#failingSinceMs.set(uid, sinceMs);
    if (verb === 'get') this.#noResponseSinceMs ??= sinceMs;
    this.#update();
  }

  /** A request of any verb succeeded; how its sync ends is reported by the other methods. */
  requestSucceeded(): void {
    this.#noResponseSinceMs = undefined;
  }

  /** The API server has processed a PATCH or DELETE. */
  written(): void {
    this.#failingSinceMs.clear();
    this.#update();
  }

  /** The API server shows what is cached of this pod. */
  podSucceeded(uid: string): void {
    if (this.#failingSinceMs.delete(uid)) this.#update();
  }

  /** The pod's status was dropped. This does not mean that the API server has recovered. */
  forget(uid: string): void {
    if (this.#failingSinceMs.delete(uid)) this.#update('The outage of the API server no longer affects any pod');
  }

  /** When the outage began; undefined without one. */
  #sinceMs(): number | undefined {
    const [first, second] = this.#failingSinceMs.values();
    if (first === undefined) this.#noResponseSinceMs = undefined;
    if (second === undefined) return this.#noResponseSinceMs;
    return Math.min(Math.max(first!, second), this.#noResponseSinceMs ?? Infinity);
  }

  #update(endMessage = 'Pod statuses can be written again: the API server has recovered'): void {
    const sinceMs = this.#sinceMs();
    if (sinceMs === undefined) {
      this.#alarm.stop();
      if (this.#loggedSinceMs !== undefined) this.#logEnd(this.#loggedSinceMs, endMessage);
    } else if (this.#loggedSinceMs === undefined) {
      const remainingMs = outageAfterMs - this.#forMs(sinceMs);
      if (remainingMs <= 0) this.#logBeginning(sinceMs);
      else if (this.#isStarted) this.#alarm.arm(remainingMs);
    }
  }

  #logBeginning(sinceMs: number): void {
    const { countUnsent, logger } = this.#options;
    const { verb, failure, statusCode, message: reason } = this.#last!;
    this.#alarm.stop();
    this.#loggedSinceMs = sinceMs;
    logger.warn(
      { since: this.#wallTime(sinceMs), unsent: countUnsent(), verb, failure, statusCode, reason },
      'Pod statuses cannot be written: requests to the API server fail',
    );
  }

  #logEnd(sinceMs: number, message: string): void {
    const { countUnsent, logger } = this.#options;
    this.#loggedSinceMs = undefined;
    logger.warn(
      { since: this.#wallTime(sinceMs), outageMs: Math.round(this.#forMs(sinceMs)), unsent: countUnsent() },
      message,
    );
  }

  #forMs(sinceMs: number): number {
    return this.#options.clock.monotonicMs() - sinceMs;
  }

  #wallTime(sinceMs: number): string {
    return timeFromEpochMs(this.#options.clock.now() - this.#forMs(sinceMs));
  }
}
