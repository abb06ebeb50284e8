import type { RejectionInspection } from '../sync/rejected-updates.ts';
import type { WaitingFor } from '../sync/waiting-for.ts';
import type { PodTermination } from '../pod-deletion-safety.ts';
import type { UnreadyCause } from './unready-causes.ts';

/**
 * Explains a pod's current status and what happens next. An immutable snapshot. All times are RFC 3339
 * in UTC, in whole seconds.
 */
export interface PodExplanation {
  /** The pod's own UID, even if called with that of its mirror pod. */
  readonly podUID: string;
  /** Undefined for an unknown pod. */
  readonly podNamespace: string | undefined;
  /** Undefined for an unknown pod. */
  readonly podName: string | undefined;
  /** The explanation as one sentence. Times are in UTC; the wording may change. */
  readonly sentence: string;
  /** Phase of the cached status, or of the API object if no status is cached. */
  readonly phase: string | undefined;
  /** In one word, as on the status page: kubectl's STATUS, but a failed pod's own reason comes before that of its containers. */
  readonly status: string | undefined;
  /** Readiness in the same status; undefined without a Ready condition. */
  readonly ready: ReadyExplanation | undefined;
  /** The cached version, or the last one of a pod that is gone (cause `dropped`); undefined when there is none. */
  readonly version: number | undefined;
  /** The previous version, if it was never sent because this one replaced it. */
  readonly supersedes: number | undefined;
  /** The version that the API object shows, as in `inspect()`. */
  readonly sentVersion: number | undefined;
  /** How and when the newest sent version was confirmed, as in `inspect()`. */
  readonly sentAs: 'written' | 'unchanged' | 'adopted' | undefined;
  /** When it was confirmed; undefined if none was sent. */
  readonly sentAt: string | undefined;
  /** When the oldest unsent change was accepted; undefined if nothing is unsent. */
  readonly unsentSince: string | undefined;
  /** When an earlier run accepted the status; undefined unless it came from the journal and is still unsent. */
  readonly recoveredAt: string | undefined;
  /** Why the API server does not have the cached status, or why the pod has not terminated. */
  readonly cause: PodCause;
  /** Why the last request failed, as in `inspect()`. */
  readonly lastError: string | undefined;
  /** Why the status that was set last, or a container of it, was rejected, as in `inspect()`. */
  readonly rejected: RejectionInspection | undefined;
  /** When the next request is due; undefined if that depends on another event. */
  readonly nextTryAt: string | undefined;
  /**
   * If false, the status stays cached until `removeOrphanedStatuses` is called, or the API server
   * reports that the pod is gone.
   */
  readonly isShownByPodManager: boolean;
  /** Undefined unless requests of several pods, or all requests, have failed for 30 s. */
  readonly outage: OutageExplanation | undefined;
  /** The sentence: `console.log(`${manager.explain(podUID)}`)`. Not enumerable. */
  toString(): string;
}

/** The Ready condition. */
export interface ReadyExplanation {
  /** `True`, `False` or `Unknown`; `False` for a terminal phase, whatever the cached status says. */
  readonly status: string;
  /** Its last transition time; undefined if the status has none. */
  readonly since: string | undefined;
  /** Empty when the pod is ready. */
  readonly causes: readonly UnreadyCause[];
}

/** An outage: no status could be written for at least 30 s. */
export interface OutageExplanation {
  /** When the first request failed. */
  readonly since: string;
  /** How the last request failed. */
  readonly message: string;
}

/** What the pod waits for, or what else is known of it. `since`: when it began. */
export type PodCause =
  | WaitingFor
  /** No status is cached, the pod manager does not have the pod, and none was dropped in the last minutes. */
  | { readonly kind: 'unknown-pod' }
  /** The pod manager has the pod, but no status was set. */
  | { readonly kind: 'not-set' }
  /** The API server has the cached status. */
  | { readonly kind: 'up-to-date' }
  | {
      /**
       * The status of the pod was dropped, at most ten minutes ago: after its deletion on the API server, by
       * `removeOrphanedStatuses` (`removed`; `deleting`: before the response to its DELETE), or because the API object belongs
       * to another pod now.
       */
      readonly kind: 'dropped';
      readonly reason: 'deleted' | 'deleting' | 'removed' | 'recreated';
      /** The API server had this status. */
      readonly isSent: boolean;
      readonly since: string;
    }
  | {
      /** The pod is being deleted, and its containers have not stopped yet, or `terminatePod` was not called. */
      readonly kind: 'containers';
      /** Undefined unless `podDeletionSafety` reports how the containers are being stopped. */
      readonly termination: PodTermination | undefined;
      readonly since: string;
    }
  /** The API server has accepted the DELETE, and these finalizers keep the object. */
  | { readonly kind: 'finalizers'; readonly finalizers: readonly string[]; readonly since: string };
