import { channel } from 'node:diagnostics_channel';
import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import type { ApiError, FailureClass } from '../client/api-error.ts';
import { runInMicrotask } from '../clock.ts';
import type { Metrics } from '../metrics.ts';
import type { Subscribers } from '../subscribers.ts';
import { type WrittenResult, WrittenWaiters } from './written-waiters.ts';

/**
 * What happened to one version of a pod's status.
 *
 * Each accepted version gets exactly one **final** outcome: `written`, `unchanged`, `superseded` or
 * `gone`; only those that are unsent when the manager stops get none, and without a client nothing
 * is reported but `superseded` and `gone`. The others say more about a version: `refused`,
 * `forbidden` and `retried` come before its final outcome, `reconciled`, `hot-loop`,
 * `deletion-requested` and `deleted` after it. Versions of a pod start at 1 again after its status was dropped.
 */
export type StatusOutcome = {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly version: number;
} & (
  | {
      /**
       * Final. `written`: the API server took it. `unchanged`: the API server showed it already.
       * `superseded`: a newer version was accepted before this one was sent.
       */
      readonly outcome: 'written' | 'unchanged' | 'superseded';
    }
  /**
   * Final: the status was dropped before it was sent. `removed`: by `removeOrphanedStatuses`, or with
   * its API object. `recreated`: the API object belongs to another pod now. `outdated`: it came from
   * the journal, and the API server shows something newer.
   */
  | { readonly outcome: 'gone'; readonly reason: 'removed' | 'recreated' | 'outdated' }
  | {
      /**
       * After `written` or `unchanged`. `reconciled`: it was written again, because the API object
       * no longer showed it, or because a terminal phase that was held back could follow.
       * `deletion-requested`: the API server accepted the DELETE of the pod, and finalizers keep the
       * object. `deleted`: the API object is gone. After `deletion-requested` it is reported when the
       * pod manager no longer shows the pod.
       */
      readonly outcome: 'reconciled' | 'deletion-requested' | 'deleted';
    }
  /** The same patch was sent again and again, because somebody undoes it; the next one waits. */
  | { readonly outcome: 'hot-loop'; readonly nextTryInMs: number }
  /** The API server does not take it, or does not delete the pod; it is tried again, but rarely. */
  | { readonly outcome: 'refused'; readonly error: ApiError; readonly nextTryInMs: number }
  /** The API server forbids the request (403); it is tried again. */
  | { readonly outcome: 'forbidden'; readonly error: ApiError; readonly nextTryInMs: number }
  /** A request failed and is tried again. */
  | {
      readonly outcome: 'retried';
      readonly failure: FailureClass;
      readonly error: ApiError;
      readonly nextTryInMs: number;
    }
);

/** Is called with outcomes. */
export interface OutcomeListener {
  /** Something happened to one version of a pod's status. Called after the fact, never inside a setter. */
  onOutcome?(outcome: StatusOutcome): void;
}

/** Whose status, and which version of it. */
export type OutcomeSubject = Pick<StatusOutcome, 'podUID' | 'podNamespace' | 'podName' | 'version'>;

/** Name of the diagnostics channel on which every outcome of every manager is published. */
export const outcomeChannelName = 'kubelet-status-manager:outcome';

/**
 * Reports what happens to each version: to listeners, on `node:diagnostics_channel`, to those who
 * wait, and as a metric. Ensures that each version gets one final outcome: a version is open from
 * its acceptance until it is superseded, sent or dropped; at most two versions of a pod are open,
 * the newest one and the one in a PATCH under way.
 */
export class Outcomes {
  readonly #channel = channel(outcomeChannelName);
  readonly #waiters = new WrittenWaiters();
  /** The open version that a PATCH under way carries, by pod UID; none once the status was dropped. */
  readonly #sending = new Map<string, VersionedPodStatus>();
  readonly #metrics: Metrics;
  readonly #subscribers: Subscribers<OutcomeListener>;

  constructor(metrics: Metrics, subscribers: Subscribers<OutcomeListener>) {
    this.#metrics = metrics;
    this.#subscribers = subscribers;
  }

  /** A newer version than `old` was accepted. Listeners are called in a microtask. */
  accepted(uid: string, old: VersionedPodStatus | undefined): void {
    if (old?.unsentSinceMs === undefined) return;
    if (this.#isSending(uid, old)) return;
    // Written out, because setPodStatus comes here: a spread made it slower by a fifth.
    const { podNamespace, podName, version } = old;
    this.reportLater({ podUID: uid, podNamespace, podName, version, outcome: 'superseded' });
  }

  /** A PATCH with this version is sent. A version that is written again has its final outcome. */
  sending(uid: string, versioned: VersionedPodStatus): void {
    this.#closeSending(uid, versioned);
    if (versioned.unsentSinceMs !== undefined) this.#sending.set(uid, versioned);
  }

  /** This version has reached the API server. @param isAgain it had done so before */
  sent(uid: string, versioned: VersionedPodStatus, kind: 'written' | 'unchanged', isAgain: boolean): void {
    if (this.#isSending(uid, versioned)) this.#sending.delete(uid);
    this.#closeSending(uid, versioned);
    const subject = subjectOf(uid, versioned);
    if (!isAgain) this.report({ ...subject, outcome: kind });
    else if (kind === 'written') this.report({ ...subject, outcome: 'reconciled' });
  }

  /** The sync of this pod has ended; what it was sending and did not record as sent may be superseded. */
  syncEnded(uid: string, newest: VersionedPodStatus | undefined): void {
    if (newest === undefined) this.#sending.delete(uid);
    else this.#closeSending(uid, newest);
  }

  /** The status was dropped with this as the newest version. Listeners are called in a microtask. */
  dropped(uid: string, newest: VersionedPodStatus, reason: 'removed' | 'recreated' | 'outdated'): void {
    const sending = this.#sending.get(uid);
    this.#sending.delete(uid);
    if (sending !== undefined && sending.version < newest.version) {
      this.reportLater({ ...subjectOf(uid, sending), outcome: 'gone', reason });
    }
    if (newest.unsentSinceMs === undefined) return;
    this.reportLater({ ...subjectOf(uid, newest), outcome: 'gone', reason });
  }

  /** Reports an outcome that is not final, or one of the above. */
  report(outcome: StatusOutcome): void {
    this.#record(outcome);
    this.#publish(outcome);
  }

  /** As `report`, but listeners are called in a microtask: for what happens inside a setter. */
  reportLater(outcome: StatusOutcome): void {
    this.#record(outcome);
    if (!this.#subscribers.isEmpty || this.#channel.hasSubscribers) runInMicrotask(() => this.#publish(outcome));
  }

  /** Resolves when `version` or a newer one of this pod is written, or never will be. */
  whenWritten(uid: string, version: number): Promise<WrittenResult> {
    return this.#waiters.add(uid, version);
  }

  /** Tells all callers that still wait that nothing more is sent. */
  stop(): void {
    this.#waiters.stop();
  }

  #isSending(uid: string, { version }: VersionedPodStatus): boolean {
    return this.#sending.get(uid)?.version === version;
  }

  /** The PATCH under way is over without having been recorded as sent. */
  #closeSending(uid: string, newest: VersionedPodStatus): void {
    const sending = this.#sending.get(uid);
    if (sending === undefined) return;
    this.#sending.delete(uid);
    if (sending.version < newest.version) this.report({ ...subjectOf(uid, sending), outcome: 'superseded' });
  }

  /** Immediately, because later calls wait for a later version. */
  #record(outcome: StatusOutcome): void {
    this.#metrics.incOutcomes(outcome.outcome);
    this.#waiters.resolve(outcome);
  }

  #publish(outcome: StatusOutcome): void {
    this.#subscribers.notify((listener) => listener.onOutcome?.(outcome));
    if (this.#channel.hasSubscribers) this.#channel.publish(outcome);
  }
}

export function subjectOf(podUID: string, { podNamespace, podName, version }: VersionedPodStatus): OutcomeSubject {
  return { podUID, podNamespace, podName, version };
}
