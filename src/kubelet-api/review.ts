import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { Metrics } from '../status-manager/metrics.ts';
import { withDeadline } from '../shared/deadline.ts';
import type { APIRequests, APIResponse } from '../kube/client/api-requests.ts';
import type { Clock } from '../shared/clock.ts';
import { FailureLog } from '../shared/failure-log.ts';
import type { Logger } from '../shared/logger.ts';
import { PeriodicWarning } from '../shared/periodic-warning.ts';
import { Semaphore } from '../shared/semaphore.ts';
import { guardedRecordMetric } from '../node/index.ts';
import { HTTPError } from './http-error.ts';

/**
 * Creates a review on the API server, and resolves with it. Rejects with an `HTTPError` 429 if too many wait.
 * @param isKnown there is no such limit: others may not keep a known user out
 */
export type Review = (path: string, body: object, isKnown: boolean) => Promise<unknown>;

export interface ReviewOptions {
  /** Undefined without an API server: then a review rejects. */
  readonly requests: APIRequests | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Partial<Metrics & AgentMetrics> | undefined;
  /** Aborts reviews in progress. */
  readonly signal: AbortSignal;
}

const timeoutMs = 10_000;
/** Unauthenticated clients cause reviews, so these must not use up the agent's connections. */
const maxInFlight = 8;
/** In flight or queued. */
const maxPending = 72;

/**
 * Reviews of one kind. Logs when they begin to fail and when they succeed again.
 *
 * Divergence: while too many reviews are pending, requests get 429. The kubelet's reviews share the limit of its client
 * (kubeAPIQPS).
 *
 * @param kind `what` is for the log: `Reviewing a token`
 */
export function createReview(
  { resource, what }: { readonly resource: string; readonly what: string },
  { requests, clock, logger, metrics, signal: stopSignal }: ReviewOptions,
): Review {
  const failures = new FailureLog({ logger, clock, what });
  const recordMetric = guardedRecordMetric(metrics, logger);
  const tooMany = new PeriodicWarning('Too many reviews for the kubelet API: requests get 429', { clock, logger });
  const slots = new Semaphore({ size: maxInFlight, clock, warning: { option: 'maxInFlight', logger } });
  let pending = 0;
  const reject = (): HTTPError => {
    tooMany.warn({ resource, maxPending });
    recordMetric('node_agent_rejected_reviews_total', 1, resource);
    return new HTTPError(429, 'Too many requests: reviews by the API server are pending');
  };
  const create = async (path: string, body: object, signal: AbortSignal): Promise<APIResponse> => {
    await slots.acquire(signal);
    try {
      return await requests!.request('POST', path, { body, signal });
    } finally {
      slots.release();
    }
  };
  return async (path, body, isKnown) => {
    if (pending >= maxPending && !isKnown) throw reject();
    pending++;
    try {
      const response = await withDeadline(clock, timeoutMs, stopSignal, ({ signal }) => create(path, body, signal));
      const review = response.json();
      failures.succeeded();
      return review;
    } catch (error) {
      failures.failed(error);
      throw error;
    } finally {
      pending--;
    }
  };
}
