import type { FailureClass } from '../../kube/client/api-error.ts';
import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { Outage } from '../../shared/outage.ts';
import { failureClassTable, type RetriedFailureClass } from './failure-classes.ts';

/** As long as a pod is unsent it is tried more often than this, so after a longer time the last failure says nothing. */
const maxGapMs = 900_000;

/** A request that failed, as far as an outage is concerned. */
export interface FailedRequest {
  readonly verb: RequestVerb;
  readonly failure: RetriedFailureClass;
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

export interface APIOutageOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly countUnsent: () => number;
}

/**
 * Whether statuses can be written at all. When requests have failed for 30 s without one success, the
 * API server is down. That and its recovery are logged once each, at warn, so that the default logger
 * shows both.
 *
 * Only what says nothing about the pod counts as a failure: no response, 401, 429, 5xx. Every other end
 * of a sync counts as a success, because the API server has processed the request. A successful GET
 * does not count if the PATCH after it fails.
 */
export class APIOutage {
  readonly #options: APIOutageOptions;
  readonly #outage: Outage;
  #lastFailureMs = 0;
  #last: FailedRequest | undefined;

  constructor(options: APIOutageOptions) {
    this.#options = options;
    this.#outage = new Outage(options.clock);
  }

  /** Undefined while the API server is up. */
  inspect(): OutageInspection | undefined {
    if (this.#last === undefined || this.#isOutdated) return undefined;
    const { verb, failure, statusCode, message } = this.#last;
    return { forMs: this.#outage.forMs!, verb, failure, statusCode, message };
  }

  /** Logged as an outage: one pod that fails is not worth a line of its own. */
  get isDown(): boolean {
    return this.#outage.isLogged;
  }

  failed(request: FailedRequest): void {
    const { verb, failure, statusCode, message: reason, tookMs } = request;
    if (!failureClassTable[failure].isOutage) {
      this.succeeded();
      return;
    }
    const { clock, countUnsent, logger } = this.#options;
    if (this.#isOutdated) this.#outage.ended();
    this.#lastFailureMs = clock.monotonicMs();
    this.#last = request;
    const fields = this.#outage.failed(tookMs);
    if (fields === undefined) return;
    logger.warn(
      { ...fields, unsent: countUnsent(), verb, failure, statusCode, reason },
      'Pod statuses cannot be written: all requests to the API server fail',
    );
  }

  succeeded(): void {
    this.#last = undefined;
    const fields = this.#outage.ended();
    if (fields === undefined) return;
    const { countUnsent, logger } = this.#options;
    const message = 'Pod statuses can be written again: the API server has recovered';
    logger.warn({ ...fields, unsent: countUnsent() }, message);
  }

  get #isOutdated(): boolean {
    return this.#options.clock.monotonicMs() - this.#lastFailureMs > maxGapMs;
  }
}
