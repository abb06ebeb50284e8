import { withDeadline } from '../agent/deadline.ts';
import type { APIRequests } from '../kube/client/api-requests.ts';
import type { Clock } from '../shared/clock.ts';
import { FailureLog } from '../shared/failure-log.ts';
import type { Logger } from '../shared/logger.ts';

/** Creates a review on the API server, and resolves with it. */
export type Review = (path: string, body: object) => Promise<unknown>;

export interface ReviewOptions {
  /** Undefined without an API server: then a review rejects. */
  readonly requests: APIRequests | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts reviews in progress. */
  readonly signal: AbortSignal;
}

const timeoutMs = 10_000;

/**
 * Reviews of one kind; logs when they begin to fail and when they succeed again. A request that is admitted by an earlier
 * review says nothing about that.
 *
 * @param what for the log: `Reviewing a token`
 */
export function createReview(what: string, { requests, clock, logger, signal: stopSignal }: ReviewOptions): Review {
  const failures = new FailureLog({ logger, clock, what });
  return async (path, body) => {
    try {
      const response = await withDeadline(clock, timeoutMs, stopSignal, ({ signal }) =>
        requests!.request('POST', path, { body, signal }),
      );
      const review = response.json();
      failures.succeeded();
      return review;
    } catch (error) {
      failures.failed(error);
      throw error;
    }
  };
}
