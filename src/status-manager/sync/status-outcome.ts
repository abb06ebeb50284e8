import type { APIError, FailureClass } from '../../kube/client/api-error.ts';

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
  | { readonly outcome: 'refused'; readonly error: APIError; readonly nextTryInMs: number }
  /** The API server forbids the request (403); it is tried again. */
  | { readonly outcome: 'forbidden'; readonly error: APIError; readonly nextTryInMs: number }
  /** A request failed and is tried again. */
  | {
      readonly outcome: 'retried';
      readonly failure: FailureClass;
      readonly error: APIError;
      readonly nextTryInMs: number;
    }
);

/** Is called with outcomes. */
export interface OutcomeListener {
  /** Something happened to one version of a pod's status. Called after the fact, never inside a setter. */
  onOutcome?(outcome: StatusOutcome): void;
}
