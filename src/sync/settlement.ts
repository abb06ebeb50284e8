import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { BackOff } from './back-off.ts';
import type { Outcomes, StatusOutcome } from './outcomes.ts';
import type { SyncResult } from './pod-syncer.ts';
import type { RequestLimiter } from './request-limiter.ts';
import { hotLoopThreshold } from './resend-detector.ts';

export interface SettlementOptions {
  readonly backOff: BackOff;
  readonly limiter: RequestLimiter;
  readonly outcomes: Outcomes;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Whose status, and which version of it. */
type OutcomeSubject = Pick<StatusOutcome, 'podUID' | 'podNamespace' | 'podName' | 'version'>;
type Failure = Pick<SyncResult & { kind: 'failed' }, 'verb' | 'failure' | 'error'>;

/** How long all wait when the API server is overloaded and does not say for how long. */
const pauseMs = 1_000;

/** What follows from the way a sync ended: the pod's back-off, a pause for all, the outcome, the log. */
export class Settlement {
  readonly #options: SettlementOptions;

  constructor(options: SettlementOptions) {
    this.#options = options;
  }

  /** @returns in how many milliseconds a failed request is tried again; undefined: nothing has failed */
  settle(uid: string, { podNamespace, podName }: VersionedPodStatus, result: SyncResult): number | undefined {
    const subject = { podUID: uid, podNamespace, podName, version: result.version };
    switch (result.kind) {
      case 'failed':
        return this.#settleFailure(subject, result);
      case 'gone':
        this.#options.backOff.release(uid);
        // Whoever removed it has said so.
        if (result.reason !== 'removed')
          this.#options.outcomes.report({ ...subject, outcome: 'gone', reason: result.reason });
        return undefined;
      default:
        return this.#settleWritten(subject, result);
    }
  }

  #settleWritten(
    subject: OutcomeSubject,
    { kind, timesSent, deletion }: SyncResult & { kind: 'written' | 'unchanged' },
  ): number | undefined {
    const { backOff, clock, outcomes } = this.#options;
    const { podUID, version } = subject;
    if (timesSent >= hotLoopThreshold && deletion !== 'done') {
      const why = 'The API server does not keep what is written';
      backOff.hold(podUID, 'hot-loop', version, clock.monotonicMs(), why);
    } else backOff.release(podUID);
    outcomes.report({ ...subject, outcome: kind });
    if (deletion === 'none') return undefined;
    // There is nothing unsent, so only a full batch tries again.
    if (deletion !== 'done') return this.#settleFailure(subject, { verb: 'delete', ...deletion });
    outcomes.report({ ...subject, outcome: 'deleted' });
    return undefined;
  }

  #settleFailure(subject: OutcomeSubject, { verb, failure, error }: Failure): number | undefined {
    if (failure === 'aborted') return undefined;
    const { backOff, clock, limiter, logger, outcomes } = this.#options;
    const { podUID, podNamespace, podName, version } = subject;
    const nextTryInMs = Math.ceil(
      backOff.hold(podUID, failure, version, clock.monotonicMs(), error.message, error.retryAfterMs),
    );
    if (failure === 'throttled') limiter.pause(error.retryAfterMs ?? pauseMs);
    const fields = {
      pod: `${podNamespace}/${podName}`,
      podUID,
      statusVersion: version,
      verb,
      failure,
      nextTryInMs,
      reason: error.message,
    };
    if (failure === 'refused') logger.warn(fields, 'The API server refuses the status of a pod');
    else if (failure === 'not-visible') logger.debug(fields, 'Pod does not exist on the server');
    else logger.info(fields, 'Failed to update status for pod');
    outcomes.report({
      ...subject,
      ...(failure === 'refused' ? { outcome: 'refused' } : { outcome: 'retried', failure }),
      error,
      nextTryInMs,
    });
    return nextTryInMs;
  }
}
