import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import type { APIError, FailureClass } from '../../kube/client/api-error.ts';

/**
 * What happened to one version of a pod's status.
 *
 * Each accepted version gets exactly one **final** outcome: `written`, `unchanged`, `superseded` or
 * `gone`; except those still unsent when the manager stops. Without a client, only `superseded` and
 * `gone` are reported. The other outcomes are intermediate (`refused`, `forbidden`, `retried`) or come
 * after the final one (`reconciled`, `hot-loop`, `deletion-requested`, `deleted`). Versions of a pod
 * restart at 1 after its status was dropped.
 */
export type StatusOutcome = {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly version: number;
} & (
  | {
      /**
       * Final. `written`: the API server accepted it. `unchanged`: the API server already had it.
       * `superseded`: a newer version was accepted before this one was sent.
       */
      readonly outcome: 'written' | 'unchanged' | 'superseded';
    }
  /**
   * Final: the status was dropped before it was sent. `removed`: by `removeOrphanedStatuses`, or with
   * its API object. `recreated`: the API object belongs to another pod now. `outdated`: it came from
   * the journal, and the API server has a newer status.
   */
  | { readonly outcome: 'gone'; readonly reason: 'removed' | 'recreated' | 'outdated' }
  | {
      /**
       * After `written` or `unchanged`. `reconciled`: it was written again, because the API object no
       * longer had it, or to add a terminal phase that was held back. `deletion-requested`: the API
       * server accepted the DELETE of the pod, and finalizers keep the object. `deleted`: the API
       * object is gone. After `deletion-requested` it is reported once the pod manager no longer has
       * the pod.
       */
      readonly outcome: 'reconciled' | 'deletion-requested' | 'deleted';
    }
  /** The same patch was sent repeatedly because another writer undoes it; the next one is delayed. */
  | { readonly outcome: 'hot-loop'; readonly nextTryInMs: number }
  /** The API server refuses the status or the DELETE; retried rarely. */
  | { readonly outcome: 'refused'; readonly error: APIError; readonly nextTryInMs: number }
  /** The API server returned 403; retried. */
  | { readonly outcome: 'forbidden'; readonly error: APIError; readonly nextTryInMs: number }
  /** A request failed; retried. */
  | {
      readonly outcome: 'retried';
      readonly failure: FailureClass;
      readonly error: APIError;
      readonly nextTryInMs: number;
    }
);

/** Why a status was dropped. */
export type DropReason = Extract<StatusOutcome, { readonly outcome: 'gone' }>['reason'];

/** A pod and a version of its status. */
export type OutcomeSubject = Pick<StatusOutcome, 'podUID' | 'podNamespace' | 'podName' | 'version'>;

/** What happened to it. */
export type OutcomeDetails = StatusOutcome extends infer O
  ? O extends StatusOutcome
    ? Omit<O, keyof OutcomeSubject>
    : never
  : never;

export function subjectOf(podUID: string, { podNamespace, podName, version }: VersionedPodStatus): OutcomeSubject {
  return { podUID, podNamespace, podName, version };
}

/** Result of `whenWritten`. */
export type WrittenResult =
  | { readonly written: true; readonly version: number }
  | {
      readonly written: false;
      /**
       * `not-cached`: the pod has no cached status. `removed`, `recreated`, `outdated`: as the outcome
       * `gone`. `refused`: the API server refuses it; `error` says why. `stopped`: the manager
       * stopped. `no-client`: the manager has no client.
       */
      readonly reason: 'not-cached' | 'no-client' | DropReason | 'refused' | 'stopped';
      readonly error?: APIError;
    };

/** Receives outcomes. */
export interface OutcomeListener {
  /** Something happened to one version of a pod's status. Called after the fact, never inside a setter. */
  onOutcome?(outcome: StatusOutcome): void;
}
