import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { isUnrelatedToNode } from '../../kube/access/node-authorizer.ts';
import type { APIError } from '../../kube/client/api-error.ts';
import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { Clock } from '../../shared/clock.ts';
import { podFieldsOf } from '../../kube/log-fields.ts';
import { statusFields } from '../../shared/log-fields.ts';
import type { Logger } from '../../shared/logger.ts';
import type { PodManager } from '../../kube/pod-manager.ts';
import { isBeingDeleted } from '../status/deletion.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';
import type { APIOutage } from './api-outage.ts';
import type { BackOff, BackOffCause, BackOffEntry } from './back-off.ts';
import type { ClientLimiter } from './client-limiter.ts';
import {
  type FailureClassRow,
  type FailureEvent,
  type FailureLogEntry,
  failureClassTable,
  unknownError,
} from './failure-classes.ts';
import { ForbiddenPods } from './forbidden-pods.ts';
import { type Outcomes, type OutcomeSubject, subjectOf } from './outcomes.ts';
import { type DeletionResult, isHeldBack, type SyncFailure, type SyncResult } from './pod-syncer.ts';
import { hotLoopThreshold, type ResendDetector } from './resend-detector.ts';
import type { StatusEvents } from './status-events.ts';
import type { TerminatingPods } from './terminating-pods.ts';

export interface SyncResultHandlerOptions {
  readonly backOff: BackOff;
  readonly limiter: ClientLimiter;
  readonly apiOutage: APIOutage;
  readonly outcomes: Outcomes;
  readonly terminatingPods: TerminatingPods;
  readonly statusEvents: StatusEvents;
  readonly resendDetector: ResendDetector;
  readonly podManager: PodManager;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A pod that fails this long while others are written is logged once at warn. */
const lastingAfterMs = 60_000;

/**
 * Handles sync results: sets back-off, pauses the client, logs, and reports non-final outcomes. Each
 * method first updates the back-off and then calls listeners, because a listener may drop the status.
 */
export class SyncResultHandler {
  readonly #options: SyncResultHandlerOptions;
  readonly #forbiddenPods: ForbiddenPods;

  constructor(options: SyncResultHandlerOptions) {
    this.#options = options;
    this.#forbiddenPods = new ForbiddenPods(options);
  }

  handleSync(uid: string, result: Exclude<SyncResult, { readonly kind: 'gone' }>): void {
    const { apiOutage, limiter, terminatingPods } = this.#options;
    if (result.kind === 'failed') {
      this.#handleFailure(uid, result);
      return;
    }
    if (result.kind === 'written') apiOutage.written();
    else apiOutage.podSucceeded(uid);
    this.#forbiddenPods.permitted(uid);
    this.#options.statusEvents.ended(uid, 'FailedStatusUpdate');
    if (result.kind === 'written') limiter.onWritten();
    terminatingPods.setHeldBack(subjectOf(uid, result.versioned), isHeldBack(result));
    // After a failed DELETE, the pod counts as failed until a DELETE succeeds.
    if (result.deletionDue !== undefined) return;
    if (result.timesSent >= hotLoopThreshold) this.#handleHotLoop(uid, result.versioned);
    else this.#endBackOff(uid);
  }

  handleDeletion(uid: string, versioned: VersionedPodStatus, result: DeletionResult): void {
    const { apiOutage, outcomes, terminatingPods } = this.#options;
    if (result.kind === 'failed') {
      this.#handleFailure(uid, result);
      return;
    }
    apiOutage.written();
    this.#endBackOff(uid);
    const subject = subjectOf(uid, versioned);
    if (result.kind === 'requested') terminatingPods.addRequested(subject, result.finalizers);
    outcomes.report({ ...subject, outcome: result.kind === 'requested' ? 'deletion-requested' : 'deleted' });
  }

  /** Reports API objects that finalizers had kept and that are gone now. */
  reportGoneObjects(): void {
    const { outcomes, terminatingPods } = this.#options;
    for (const subject of terminatingPods.takeGone()) outcomes.reportLater({ ...subject, outcome: 'deleted' });
  }

  /** The pod is in sync: ends its wait. */
  inSync(uid: string): void {
    this.#endBackOff(uid);
    this.#options.apiOutage.podSucceeded(uid);
  }

  /** The pod's last failure may mean that it is gone, and the pod manager does not have it either. */
  isGone(uid: string): boolean {
    const reason = this.#options.backOff.get(uid)?.reason ?? 'hot-loop';
    if (reason === 'hot-loop' || !failureClassTable[reason].mayMeanGone) return false;
    return this.#options.podManager.getPodByUID(uid) === undefined;
  }

  /** The pod's status was dropped. */
  forget(uid: string): void {
    this.#options.backOff.forget(uid);
    this.#options.apiOutage.forget(uid);
    this.#options.terminatingPods.forget(uid);
    this.#forbiddenPods.forget(uid);
    this.#options.statusEvents.forget(uid);
  }

  #endBackOff(uid: string): void {
    const { backOff, clock, logger, podManager } = this.#options;
    const entry = backOff.get(uid);
    backOff.forget(uid);
    if (entry?.isLoggedAtWarn !== true) return;
    const { verb, reason: failure, sinceMs, tries } = entry;
    const failedForMs = Math.round(clock.monotonicMs() - sinceMs);
    logger.warn(
      {
        ...podFieldsOf(podManager.getPodByUID(uid) ?? { metadata: { uid } }),
        verb,
        failure,
        failures: tries,
        failedForMs,
      },
      'Requests for the pod succeed again',
    );
  }

  #handleHotLoop(uid: string, versioned: VersionedPodStatus): void {
    const message = 'The API server does not keep what is written';
    const entry = this.#delay(uid, { reason: 'hot-loop', version: versioned.version, message });
    const nextTryInMs = nextTryOf(entry);
    const { outcomes, statusEvents, resendDetector } = this.#options;
    const subject = subjectOf(uid, versioned);
    const { members = [], managers = [] } = resendDetector.hotLoopOf(uid) ?? {};
    const by = managers.length === 0 ? '' : ` by ${managers.join(', ')}`;
    statusEvents.record(subject, 'StatusContested', `Status fields ${members.join(', ')} keep being undone${by}`);
    outcomes.report({ ...subject, outcome: 'hot-loop', nextTryInMs });
  }

  #handleFailure(uid: string, { versioned, verb, failure, error, tookMs }: SyncFailure): void {
    if (failure === 'aborted') return;
    const { apiOutage, backOff, limiter, logger, outcomes } = this.#options;
    const subject = subjectOf(uid, versioned);
    const { message, statusCode, retryAfterMs } = error;
    const cause = { reason: failure, version: versioned.version, verb, statusCode, message, atLeastMs: retryAfterMs };
    const isRepeated = backOff.get(uid)?.reason === failure;
    const entry = this.#delay(uid, cause);
    const nextTryInMs = nextTryOf(entry);
    const row = failureClassTable[failure];
    if (row.pausesClient) limiter.onThrottled(uid, retryAfterMs);

    apiOutage.failed(uid, { verb, failure, statusCode, message, tookMs });
    const fields = { ...statusFields(uid, versioned), verb, failure, nextTryInMs, reason: message };
    const line = this.#lineOf(uid, row, error);
    // No permission is missing if the next try succeeds.
    const firstLevel = line === row && isUnrelatedToNode(message) ? line.repeatedLevel : line.level;
    const isOneOfMany = line === row && row.isLoggedOnceForManyPods && !this.#forbiddenPods.add(uid, verb, message);
    const lasts = firstLevel === 'info' && !isOneOfMany && this.#lasts(entry);
    const level = isRepeated || isOneOfMany ? line.repeatedLevel : firstLevel;
    const shownLevel = lasts ? 'warn' : level;
    if (shownLevel === 'warn') entry.isLoggedAtWarn = true;
    logger[shownLevel](fields, verb === 'delete' ? line.deletionMessage : line.message);
    if (entry.isShown || !row.mayMeanGone) this.#recordEvent(subject, verb, row.event, entry);
    const { outcome } = row;
    const kind = outcome === 'retried' ? { outcome, failure } : { outcome };
    outcomes.report({ ...subject, ...kind, error, nextTryInMs });
  }

  #recordEvent(subject: OutcomeSubject, verb: RequestVerb, event: FailureEvent | undefined, entry: BackOffEntry): void {
    const { statusEvents } = this.#options;
    const { message, failedAtMs, sinceMs } = entry;
    if (event === undefined || failedAtMs - sinceMs < event.afterMs) return;
    if (verb !== 'delete') statusEvents.record(subject, 'FailedStatusUpdate', `${event.message}: ${message}`);
    else if (event.deletionMessage !== undefined)
      statusEvents.record(subject, 'StuckTerminating', `${event.deletionMessage}: ${message}`, 'delete');
  }

  /** A node's user gets 403, not 404, for a deleted pod. */
  #lineOf(uid: string, row: FailureClassRow, error: APIError): FailureLogEntry {
    if (error.kind === 'unknown') return unknownError;
    if (!row.mayMeanGone || row.level === 'debug') return row;
    const { podManager } = this.#options;
    const pod = podManager.getPodByUID(uid);
    if (pod === undefined) return { ...row, level: 'debug', repeatedLevel: 'debug' };
    const apiPod = podManager.getMirrorPodByPod(pod) ?? pod;
    // The API server deletes a terminal pod without a grace period; the watch event follows shortly after.
    const isLeaving = isBeingDeleted(apiPod) || isPodPhaseTerminal(apiPod.status?.phase);
    return isLeaving ? { ...row, level: 'info', repeatedLevel: 'info' } : row;
  }

  /** The pod alone has failed for so long that it is logged at warn, once. */
  #lasts({ failedAtMs, sinceMs, isLoggedAtWarn }: BackOffEntry): boolean {
    return !isLoggedAtWarn && !this.#options.apiOutage.isDown && failedAtMs - sinceMs >= lastingAfterMs;
  }

  #delay(uid: string, cause: Omit<BackOffCause, 'isShown'>): BackOffEntry {
    const { backOff, clock, podManager } = this.#options;
    const isShown = podManager.getPodByUID(uid) !== undefined;
    return backOff.add(uid, { ...cause, isShown }, clock.monotonicMs());
  }
}

/** Milliseconds until the same version is retried. */
function nextTryOf({ dueMs, failedAtMs }: BackOffEntry): number {
  return Math.ceil(dueMs - failedAtMs);
}
