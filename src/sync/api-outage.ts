import type { FailureClass } from '../client/api-error.ts';
import type { RequestVerb } from '../client/pod-client.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { timeFromEpochMs } from '../status/canonical-time.ts';

/** After this time without a success an outage is logged. */
const outageAfterMs = 30_000;
/** As long as a pod is unsent it is tried more often than this, so after a longer time the last failure says nothing. */
const maxGapMs = 900_000;

const failuresOfOutage: ReadonlySet<FailureClass> = new Set(['transient', 'throttled']);

/** A request that failed, as far as an outage is concerned. */
export interface FailedRequest {
  readonly verb: RequestVerb;
  readonly failure: FailureClass;
  readonly statusCode: number | undefined;
  readonly message: string;
  /** How long the request took. */
  readonly tookMs: number;
}

/** Since when nothing can be written, and how the last request failed. */
export interface OutageInspection {
  readonly forMs: number;
  readonly verb: RequestVerb;
  readonly failure: FailureClass;
  /** Undefined when there was no response. */
  readonly statusCode: number | undefined;
  readonly message: string;
}

export interface ApiOutageOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly countUnsent: () => number;
}

/**
 * Whether statuses can be written at all. Three states: **up**; **failing** since a request failed
 * without one success afterwards; **down**, when that has lasted 30 s. Going down and coming back are
 * logged once each, at warn, so that the default logger shows both.
 *
 * A failure is what says nothing about the pod: no response, 401, 429, 5xx. Every other end of a sync
 * is a success, for the API server has processed the request. A successful GET is none when the
 * PATCH after it fails.
 */
export class ApiOutage {
  readonly #options: ApiOutageOptions;
  #state: 'up' | 'failing' | 'down' = 'up';
  #sinceMs = 0;
  #lastFailureMs = 0;
  #last: FailedRequest | undefined;

  constructor(options: ApiOutageOptions) {
    this.#options = options;
  }

  /** Undefined while the API server is up. */
  inspect(): OutageInspection | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#last === undefined || this.#isOutdated(nowMs)) return undefined;
    const { verb, failure, statusCode, message } = this.#last;
    return { forMs: nowMs - this.#sinceMs, verb, failure, statusCode, message };
  }

  /** Logged as an outage: one pod that fails is not worth a line of its own. */
  get isDown(): boolean {
    return this.#state === 'down';
  }

  failed(request: FailedRequest): void {
    if (!failuresOfOutage.has(request.failure)) {
      this.succeeded();
      return;
    }
    const { clock, countUnsent, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#state === 'up' || this.#isOutdated(nowMs)) {
      this.#state = 'failing';
      this.#sinceMs = nowMs - request.tookMs;
    }
    this.#lastFailureMs = nowMs;
    this.#last = request;
    if (this.#state === 'down' || nowMs - this.#sinceMs < outageAfterMs) return;
    this.#state = 'down';
    const { verb, failure, statusCode, message: reason } = request;
    logger.warn(
      { since: this.#since(nowMs), unsent: countUnsent(), verb, failure, statusCode, reason },
      'Pod statuses cannot be written: all requests to the API server fail',
    );
  }

  succeeded(): void {
    if (this.#state === 'up') return;
    const { clock, countUnsent, logger } = this.#options;
    const wasDown = this.#state === 'down';
    this.#state = 'up';
    this.#last = undefined;
    if (!wasDown) return;
    const nowMs = clock.monotonicMs();
    const fields = { since: this.#since(nowMs), outageMs: Math.round(nowMs - this.#sinceMs), unsent: countUnsent() };
    logger.warn(fields, 'Pod statuses can be written again: the API server has recovered');
  }

  #isOutdated(nowMs: number): boolean {
    return nowMs - this.#lastFailureMs > maxGapMs;
  }

  #since(nowMs: number): string {
    return timeFromEpochMs(this.#options.clock.now() - (nowMs - this.#sinceMs));
  }
}
