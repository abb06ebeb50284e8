import type { APIOutage } from './api-outage.ts';
import { consequencesOf } from './consequences.ts';
import type { FailureGroups } from './failure-groups.ts';
import type { StatusEvents } from './status-events.ts';
import { subjectOf } from './status-outcome.ts';
import type { SyncPorts } from './sync-ports.ts';
import type { Result } from './sync-result.ts';
import type { TerminatingPods } from './terminating-pods.ts';

export interface SyncResultHandlerOptions extends Pick<
  SyncPorts,
  'clock' | 'limiter' | 'logger' | 'outcomes' | 'podManager' | 'random' | 'records' | 'section'
> {
  readonly apiOutage: APIOutage;
  readonly failureGroups: FailureGroups;
  readonly terminatingPods: TerminatingPods;
  readonly statusEvents: StatusEvents;
}

/** Carries out what `consequencesOf` says. */
export class SyncResultHandler {
  readonly #options: SyncResultHandlerOptions;

  constructor(options: SyncResultHandlerOptions) {
    this.#options = options;
  }

  /** Precondition: the status was not dropped since it was synced, unless by the deletion of its pod. */
  handle(uid: string, result: Result): void {
    this.#options.section.run(() => this.#handle(uid, result));
  }

  #handle(uid: string, result: Result): void {
    const { apiOutage, clock, failureGroups, limiter, logger, outcomes, podManager, random, records } = this.#options;
    const { statusEvents, terminatingPods } = this.#options;
    const record = records.of(uid);
    const subject = subjectOf(uid, result.versioned);
    const isDeletionDue = 'deletionDue' in result && result.deletionDue !== undefined;
    if (!isDeletionDue) record.inFlight?.enter({ kind: 'ended' });
    apiOutage.ended(record, result);
    const pod = podManager.getPodByUID(uid);
    const { backOff, event, finalizers, group, isHeldBack, isPermitted, load, log, outcome } = consequencesOf(
      result,
      record,
      {
        nowMs: clock.monotonicMs(),
        random,
        pod,
        apiPod: (pod && podManager.getMirrorPodByPod(pod)) ?? pod,
        isOutage: apiOutage.isDown,
        isOneOfMany: (failure) => failureGroups.isOneOfMany(record, failure),
      },
    );
    record.backOff = backOff;
    if (group !== undefined) failureGroups.add(record, group.failure, group.verb, group.reason);
    if (isPermitted === true) {
      failureGroups.succeeded(record);
      statusEvents.ended(record, 'FailedStatusUpdate');
    }
    if (load === 'served') limiter.onWritten();
    else if (load !== undefined) limiter.onThrottled(uid, load.pauseMs);
    if (isHeldBack !== undefined) terminatingPods.setHeldBack(record, subject, isHeldBack);
    if (finalizers !== undefined) terminatingPods.addRequested(subject, finalizers);
    if (log !== undefined) logger[log.level](log.fields, log.message);
    if (event !== undefined) statusEvents.record(record, subject, event);
    if (outcome === undefined) return;
    // After `gone` of a newer version, which was dropped with the pod.
    if (outcome.outcome === 'deleted' || outcome.outcome === 'deletion-requested')
      outcomes.reportLater({ ...subject, ...outcome });
    else outcomes.report({ ...subject, ...outcome });
  }
}
