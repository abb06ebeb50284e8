import type { SentAs } from '../cache/pod-status-cache.ts';
import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { BackOffReason } from '../sync/back-off.ts';
import type { HotLoop } from '../sync/resend-detector.ts';
import type { UnreadyCause } from './unready-causes.ts';

/**
 * Why a pod shows what it shows, and what happens next. All times are RFC 3339 in UTC, in whole
 * seconds. A snapshot: it does not change afterwards.
 */
export interface PodExplanation {
  /** The pod's own UID, also when that of its mirror pod was asked for. */
  readonly podUID: string;
  /** Undefined for an unknown pod. */
  readonly podNamespace: string | undefined;
  /** Undefined for an unknown pod. */
  readonly podName: string | undefined;
  /** All of this in one plain sentence, for people. Its times are in UTC; its wording may change. */
  readonly sentence: string;
  /** Of the cached status; of the API object when no status is cached. */
  readonly phase: string | undefined;
  /** Of the same status; undefined without a condition Ready. */
  readonly ready: ReadyExplanation | undefined;
  /** The cached version; undefined when no status is cached. */
  readonly version: number | undefined;
  /** The version that the API object shows, as in `inspect()`. */
  readonly sentVersion: number | undefined;
  /** How and when the newest sent version was confirmed, as in `inspect()`. */
  readonly sentAs: SentAs | undefined;
  /** When that was; undefined when none was sent. */
  readonly sentAt: string | undefined;
  /** Since when a change is unsent; undefined when none is. */
  readonly unsentSince: string | undefined;
  /** When an earlier run accepted the status; undefined unless it came from the journal and is still unsent. */
  readonly recoveredAt: string | undefined;
  /** What keeps the API server from showing the cached status, or the pod from ending. */
  readonly cause: PodCause;
  /** When the next request is due; undefined when that depends on something else. */
  readonly nextTryAt: string | undefined;
  /** False: the status stays cached until `removeOrphanedStatuses` is called, or the API server shows that the pod is gone. */
  readonly isShownByPodManager: boolean;
  /** Undefined unless requests of several pods, or all requests, have failed for 30 s. */
  readonly outage: OutageExplanation | undefined;
  /** The sentence: `console.log(`${manager.explain(podUID)}`)`. Not enumerable. */
  toString(): string;
}

/** The condition Ready. */
export interface ReadyExplanation {
  /** `True`, `False` or `Unknown`; `False` for a terminal phase, whatever the cached status says. */
  readonly status: string;
  /** Its last transition; undefined when the status does not say. */
  readonly since: string | undefined;
  /** Empty when the pod is ready. */
  readonly causes: readonly UnreadyCause[];
}

/** No status could be written since then, which is 30 s ago at least. */
export interface OutageExplanation {
  /** When the first of the requests failed. */
  readonly since: string;
  /** How the last one failed. */
  readonly message: string;
}

/** `since`: when it began. */
export type PodCause =
  /** Neither is a status cached nor does the pod manager show the pod. */
  | { readonly kind: 'unknown-pod' }
  /** The pod manager shows the pod, and no status was set. */
  | { readonly kind: 'not-set' }
  /** There is nothing to do: the API server shows the cached status. */
  | { readonly kind: 'up-to-date' }
  | ({ readonly since: string } & WaitCause);

type WaitCause =
  | {
      /**
       * `no-client`: the manager has none. `not-started`: `start()` was not called. `stopped`: `stop()`
       * was called. `mirror-pod`: the
       * pod manager does not show the mirror of this static pod. `limiter`: `qps` and `burst` are used
       * up. `turn`: as many pods as allowed are in flight. `next-batch`: the next wake-up or full batch.
       * `containers`: the pod is being deleted, and `terminatePod` was not called yet.
       * `pod-deletion-safety`: the terminal phase is held back because containers could be running.
       * `retry-after`: the API server has asked this client to pause.
       */
      readonly kind:
        | 'no-client'
        | 'not-started'
        | 'stopped'
        | 'mirror-pod'
        | 'limiter'
        | 'retry-after'
        | 'turn'
        | 'next-batch'
        | 'containers'
        | 'pod-deletion-safety';
    }
  | {
      /** A request waits for a connection or for its response. */
      readonly kind: 'connection' | 'response';
      readonly verb: RequestVerb;
      /** Why the request before it failed; undefined when it did not. */
      readonly lastError: string | undefined;
    }
  | {
      /** The last request for this pod failed. */
      readonly kind: 'back-off';
      readonly class: Exclude<BackOffReason, 'hot-loop'>;
      readonly verb: RequestVerb;
      /** Undefined without a response. */
      readonly statusCode: number | undefined;
      readonly message: string;
      /** Failures in a row. */
      readonly tries: number;
    }
  /** The API server takes the patch and shows the old status again. */
  | ({ readonly kind: 'hot-loop' } & HotLoop)
  /** The API server has accepted the DELETE, and these keep the object. */
  | { readonly kind: 'finalizers'; readonly finalizers: readonly string[] };
