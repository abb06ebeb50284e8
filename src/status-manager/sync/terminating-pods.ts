import type { Clock } from '../../shared/clock.ts';
import { podFields } from '../../shared/log-fields.ts';
import type { Logger } from '../../shared/logger.ts';
import { podFieldsOf } from '../../kube/log-fields.ts';
import { type PodDeletionSafety, terminationsOf } from '../pod-deletion-safety.ts';
import type { PodManager } from '../../kube/pod-manager.ts';
import { epochMsOf, type MonotonicTimes, timeFromEpochMs } from '../../shared/time.ts';
import type { OutcomeSubject } from './outcomes.ts';
import type { StatusEvents } from './status-events.ts';

/** Pods that wait longer than this are logged. */
const stuckAfterMs = 60_000;
/** After the end of the grace period. */
const stuckContainersAfterMs = 30_000;

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

interface Entry {
  readonly subject: OutcomeSubject;
  readonly sinceMs: number;
  readonly finalizers: readonly string[];
  isLogged: boolean;
}

export interface TerminatingPodsOptions {
  readonly podManager: PodManager;
  readonly podDeletionSafety: PodDeletionSafety;
  readonly statusEvents: StatusEvents;
  readonly clock: Clock;
  readonly logger: Logger;
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
  readonly #heldBack = new Map<string, Entry>();
  readonly #requested = new Map<string, Entry>();
  /** UIDs of pods whose containers do not stop, which have been logged → what names them in the log. */
  readonly #stuck = new Map<string, object>();

  constructor(options: TerminatingPodsOptions) {
    this.#options = options;
  }

  /** Sets whether the terminal phase of this pod is held back. */
  setHeldBack(subject: OutcomeSubject, isHeldBack: boolean): void {
    if (!isHeldBack) this.#heldBack.delete(subject.podUID);
    else if (!this.#heldBack.has(subject.podUID)) this.#heldBack.set(subject.podUID, this.#entry(subject, []));
  }

  /** The API server has accepted the DELETE; these finalizers keep the object. */
  addRequested(subject: OutcomeSubject, finalizers: readonly string[]): void {
    if (this.#options.podManager.getPodByUID(subject.podUID) === undefined) return;
    this.#requested.set(subject.podUID, this.#entry(subject, finalizers));
  }

  /** The pod's status was dropped. */
  forget(uid: string): void {
    this.#heldBack.delete(uid);
  }

  heldBackUIDs(): IterableIterator<string> {
    return this.#heldBack.keys();
  }

  heldBackSinceMs(uid: string): number | undefined {
    return this.#heldBack.get(uid)?.sinceMs;
  }

  /** Removes and returns the requested deletions whose pods the pod manager no longer has. */
  takeGone(): OutcomeSubject[] {
    const gone = [...this.#requested.values()]
      .map(({ subject }) => subject)
      .filter(({ podUID }) => this.#options.podManager.getPodByUID(podUID) === undefined);
    for (const { podUID } of gone) {
      this.#requested.delete(podUID);
      this.#options.statusEvents.forget(podUID);
    }
    return gone;
  }

  requestedDeletions(times: MonotonicTimes): RequestedDeletion[] {
    return Array.from(this.#requested.values(), (entry) => {
      const { podUID, podNamespace, podName } = entry.subject;
      return {
        podUID,
        podNamespace,
        podName,
        finalizers: this.#finalizersOf(entry),
        since: times.format(entry.sinceMs),
      };
    });
  }

  logStuck(): void {
    this.#logStuckContainers();
    for (const entry of this.#heldBack.values()) {
      this.#logIfStuck(
        entry,
        {},
        'Pod is stuck terminating: its terminal phase is held back while podCouldHaveRunningContainers returns true',
        'Pod has not terminated for a minute: its containers could still be running',
      );
    }
    for (const entry of this.#requested.values()) {
      const finalizers = this.#finalizersOf(entry);
      this.#logIfStuck(
        entry,
        { finalizers },
        'Pod is stuck terminating: it has finalizers',
        `Pod has terminated and waits for finalizers: ${finalizers.join(', ')}`,
      );
    }
  }

  /** Containers that run longer than their grace period. */
  #logStuckContainers(): void {
    const { clock, logger, podDeletionSafety, podManager } = this.#options;
    const terminations = terminationsOf(podDeletionSafety);
    for (const [uid, fields] of this.#stuck) {
      if (terminations.has(uid)) continue;
      this.#stuck.delete(uid);
      // The pod may be gone.
      logger.warn(fields, 'The containers of the pod have stopped');
    }
    for (const [uid, { since, gracePeriodSeconds, gracePeriodEndsAt, lastError: reason }] of terminations) {
      if (this.#stuck.has(uid) || clock.now() - epochMsOf(gracePeriodEndsAt) < stuckContainersAfterMs) continue;
      const pod = podManager.getPodByUID(uid);
      const fields = pod === undefined ? { podUID: uid } : podFieldsOf(pod);
      this.#stuck.set(uid, fields);
      logger.warn(
        { ...fields, since, gracePeriodSeconds, reason },
        'Pod is stuck terminating: its containers still run after the grace period',
      );
    }
  }

  #logIfStuck(entry: Entry, fields: object, message: string, eventMessage: string): void {
    const { clock, logger, statusEvents } = this.#options;
    const forMs = clock.monotonicMs() - entry.sinceMs;
    if (entry.isLogged || forMs < stuckAfterMs) return;
    entry.isLogged = true;
    const { subject } = entry;
    const since = timeFromEpochMs(clock.now() - forMs);
    logger.warn({ ...podFields(subject.podUID, subject), ...fields, since }, message);
    statusEvents.record(subject, 'StuckTerminating', eventMessage, message);
  }

  #entry(subject: OutcomeSubject, finalizers: readonly string[]): Entry {
    return { subject, sinceMs: this.#options.clock.monotonicMs(), finalizers: [...finalizers], isLogged: false };
  }

  #finalizersOf({ subject, finalizers }: Entry): readonly string[] {
    const pod = this.#options.podManager.getPodByUID(subject.podUID);
    return [...(pod?.metadata?.finalizers ?? finalizers)];
  }
}
