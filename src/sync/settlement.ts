import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { BackOff } from './back-off.ts';
import type { Outcomes, StatusOutcome } from './outcomes.ts';
import type { SyncResult } from './pod-syncer.ts';
import type { ClientLimiter } from './client-limiter.ts';
import { hotLoopThreshold } from './resend-detector.ts';

export interface SettlementOptions {
  readonly backOff: BackOff;
  readonly limiter: ClientLimiter;
  readonly outcomes: Outcomes;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Whose status, and which version of it. */
type OutcomeSubject = Pick<StatusOutcome, 'podUID' | 'podNamespace' | 'podName' | 'version'>;
type Failure = Pick<SyncResult & { kind: 'failed' }, 'verb' | 'failure' | 'error'>;

/** What follows from the way a sync ended: the pod's back-off, a pause for all, the outcome, the log. */
export class Settlement {
  readonly #options: SettlementOptions;

  constructor(options: SettlementOptions) {
    this.#options = options;
  }

  /** @returns in how many milliseconds a failed request is tried again; undefined: nothing has failed */
  settle(uid: string, { podNamespace, podName }: VersionedPodStatus, result: SyncResult): number | undefined {
    const subject = { podUID: uid, podNamespace, podName, version: result.version };
    const outcomes = this.#outcomesOf(subject, result);
    this.#options.outcomes.report(...outcomes);
    const last = outcomes.at(-1);
    return last !== undefined && 'nextTryInMs' in last ? last.nextTryInMs : undefined;
  }

  /** Back-off and pause are set before anybody hears of the outcomes: a listener may drop the status. */
  #outcomesOf(subject: OutcomeSubject, result: SyncResult): StatusOutcome[] {
    switch (result.kind) {
      case 'failed':
        return this.#failed(subject, result);
      case 'gone':
        this.#options.backOff.release(subject.podUID);
        // Whoever removed it has said so.
        return result.reason === 'removed' ? [] : [{ ...subject, outcome: 'gone', reason: result.reason }];
      default:
        return this.#written(subject, result);
    }
  }

  #written(
    subject: OutcomeSubject,
    { kind, timesSent, deletion }: SyncResult & { kind: 'written' | 'unchanged' },
  ): StatusOutcome[] {
    const { backOff, clock, limiter } = this.#options;
    const { podUID, version } = subject;
    if (kind === 'written') limiter.noteWritten();
    if (timesSent >= hotLoopThreshold && deletion !== 'done') {
      const why = 'The API server does not keep what is written';
      backOff.hold(podUID, 'hot-loop', version, clock.monotonicMs(), why);
    } else backOff.release(podUID);
    const written: StatusOutcome = { ...subject, outcome: kind };
    if (deletion === 'none') return [written];
    if (deletion === 'done') return [written, { ...subject, outcome: 'deleted' }];
    // There is nothing unsent, so only a full batch tries again.
    return [written, ...this.#failed(subject, { verb: 'delete', ...deletion })];
  }

  #failed(subject: OutcomeSubject, { verb, failure, error }: Failure): StatusOutcome[] {
    if (failure === 'aborted') return [];
    const { backOff, clock, limiter, logger } = this.#options;
    const { podUID, podNamespace, podName, version } = subject;
    const nextTryInMs = Math.ceil(
      backOff.hold(podUID, failure, version, clock.monotonicMs(), error.message, error.retryAfterMs),
    );
    if (failure === 'throttled') limiter.noteThrottled(podUID, error.retryAfterMs);
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
    const kind = failure === 'refused' ? { outcome: failure } : { outcome: 'retried' as const, failure };
    return [{ ...subject, ...kind, error, nextTryInMs }];
  }
}
