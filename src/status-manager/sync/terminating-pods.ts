import { podFields } from '../../shared/log-fields.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { terminationsOf, terminationWaitOf } from '../pod-deletion-safety.ts';
import { epochMsOf, type MonotonicTimes, timeFromEpochMs } from '../../shared/time.ts';
import type { PodRecord, TerminationWait } from './pod-records.ts';
import type { OutcomeSubject } from './status-outcome.ts';
import type { StatusEvents } from './status-events.ts';
import type { SyncPorts } from './sync-ports.ts';

/** Pods that wait longer than this are logged. */
const stuckAfterMs = 60_000;
/** After the end of the grace period. */
const stuckContainersAfterMs = 30_000;

const stuckMessages = {
  containers: 'Pod is stuck terminating: its containers still run after the grace period',
  sandbox: 'Pod is stuck terminating: its containers have stopped, but its sandbox cannot be stopped',
} as const;

/** A pod whose DELETE the API server has accepted and that finalizers keep. */
export interface RequestedDeletion {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  /** The finalizers on the pod manager's pod. */
  readonly finalizers: readonly string[];
  /** When the DELETE was accepted (RFC 3339). */
  readonly since: string;
}

export interface TerminatingPodsOptions extends Pick<
  SyncPorts,
  'clock' | 'logger' | 'podDeletionSafety' | 'podManager' | 'records'
> {
  readonly statusEvents: StatusEvents;
}

/**
 * Pods whose termination is blocked: `podCouldHaveRunningContainers` returns true, or the API server
 * has accepted the DELETE and finalizers keep the object. A full batch logs each once at warn after a
 * minute.
 *
 * Only the pod manager shows when an object kept by finalizers is gone, so pods unknown to it are not
 * recorded.
 */
export class TerminatingPods {
  readonly #options: TerminatingPodsOptions;

  constructor(options: TerminatingPodsOptions) {
    this.#options = options;
  }

  /** Sets whether the terminal phase of this pod is held back. */
  setHeldBack(record: PodRecord, subject: OutcomeSubject, isHeldBack: boolean): void {
    record.heldBack = isHeldBack ? (record.heldBack ?? this.#wait(subject, [])) : undefined;
  }

  /** The API server has accepted the DELETE; these finalizers keep the object. */
  addRequested(subject: OutcomeSubject, finalizers: readonly string[]): void {
    const { podManager, records } = this.#options;
    if (podManager.getPodByUID(subject.podUID) === undefined) return;
    records.of(subject.podUID).requestedDeletion = this.#wait(subject, finalizers);
  }

  /** Removes and returns the requested deletions whose pods the pod manager no longer has. */
  takeGone(): OutcomeSubject[] {
    const { podManager, records } = this.#options;
    const gone: OutcomeSubject[] = [];
    for (const record of records.values()) {
      if (record.requestedDeletion === undefined || podManager.getPodByUID(record.uid) !== undefined) continue;
      gone.push(record.requestedDeletion.subject);
      record.requestedDeletion = undefined;
      record.recordedEvents = undefined;
      records.release(record.uid);
    }
    return gone;
  }

  requestedDeletions(times: MonotonicTimes): RequestedDeletion[] {
    return Array.from(this.#options.records.values(), (record) => this.requestedDeletionOf(record, times)).filter(
      (requested) => requested !== undefined,
    );
  }

  requestedDeletionOf(record: PodRecord | undefined, times: MonotonicTimes): RequestedDeletion | undefined {
    if (record?.requestedDeletion === undefined) return undefined;
    const { requestedDeletion } = record;
    const { subject, sinceMs } = requestedDeletion;
    const { podUID, podNamespace, podName } = subject;
    const finalizers = this.#finalizersOf(requestedDeletion);
    return { podUID, podNamespace, podName, finalizers, since: times.format(sinceMs) };
  }

  logStuck(): void {
    this.#logStuckTerminations();
    for (const record of this.#options.records.values()) {
      const { heldBack, requestedDeletion } = record;
      if (heldBack !== undefined) {
        this.#logIfStuck(
          record,
          heldBack,
          {},
          'Pod is stuck terminating: the manager holds its terminal phase back while podCouldHaveRunningContainers returns true',
          'Pod has not terminated for a minute: its containers could still be running',
        );
      }
      if (requestedDeletion !== undefined) {
        const finalizers = this.#finalizersOf(requestedDeletion);
        this.#logIfStuck(
          record,
          requestedDeletion,
          { finalizers },
          'Pod is stuck terminating: it has finalizers',
          `Pod has terminated and waits for finalizers: ${finalizers.join(', ')}`,
        );
      }
    }
  }

  /** Containers that run longer than their grace period, and sandboxes that outlive it. */
  #logStuckTerminations(): void {
    const { clock, logger, podDeletionSafety, podManager, records } = this.#options;
    const terminations = terminationsOf(podDeletionSafety);
    for (const record of records.values()) {
      if (record.stuckTermination === undefined || terminations.has(record.uid)) continue;
      const { fields } = record.stuckTermination;
      record.stuckTermination = undefined;
      records.release(record.uid);
      // The pod may be gone.
      logger.info(fields, 'The containers of the pod have stopped');
    }
    for (const [uid, termination] of terminations) {
      const { since, gracePeriodSeconds, gracePeriodEndsAt, lastError: reason } = termination;
      if (clock.now() - epochMsOf(gracePeriodEndsAt) < stuckContainersAfterMs) continue;
      const record = records.of(uid);
      const waitsFor = terminationWaitOf(termination);
      if (record.stuckTermination?.waitsFor === waitsFor) continue;
      const pod = podManager.getPodByUID(uid);
      const fields = record.stuckTermination?.fields ?? (pod === undefined ? { podUID: uid } : podFieldsOf(pod));
      record.stuckTermination = { fields, waitsFor };
      logger.warn({ ...fields, since, gracePeriodSeconds, reason }, stuckMessages[waitsFor]);
    }
  }

  #logIfStuck(record: PodRecord, wait: TerminationWait, fields: object, message: string, eventMessage: string): void {
    const { clock, logger, statusEvents } = this.#options;
    const forMs = clock.monotonicMs() - wait.sinceMs;
    if (wait.isLogged || forMs < stuckAfterMs) return;
    wait.isLogged = true;
    const { subject } = wait;
    const since = timeFromEpochMs(clock.now() - forMs);
    logger.warn({ ...podFields(subject.podUID, subject), ...fields, since }, message);
    statusEvents.record(record, subject, { reason: 'StuckTerminating', message: eventMessage, condition: message });
  }

  #wait(subject: OutcomeSubject, finalizers: readonly string[]): TerminationWait {
    return { subject, sinceMs: this.#options.clock.monotonicMs(), finalizers: [...finalizers], isLogged: false };
  }

  #finalizersOf({ subject, finalizers }: TerminationWait): readonly string[] {
    const pod = this.#options.podManager.getPodByUID(subject.podUID);
    return [...(pod?.metadata?.finalizers ?? finalizers)];
  }
}
