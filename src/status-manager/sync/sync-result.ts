import type { APIError } from '../../kube/client/api-error.ts';
import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import type { APIPod } from './decide.ts';
import type { RetriedFailureClass } from './failure-classes.ts';

/** What one sync of a pod did. `gone`: the status was dropped, so there is nothing to sync. */
export type SyncResult = SentResult | { readonly kind: 'gone' } | SyncFailure | AbortedSync;

/** The API server shows the status. */
export interface SentResult {
  /** `written`: the API server took a PATCH. `unchanged`: it already had the status. */
  readonly kind: 'written' | 'unchanged';
  readonly versioned: VersionedPodStatus;
  /** The terminal phase is not written, because containers could be running. */
  readonly isHeldBack: boolean;
  /** The API server has not kept this patch before. */
  readonly isHotLoop: boolean;
  /** The API object to delete now; undefined if none is. */
  readonly deletionDue: APIPod | undefined;
}

/** The manager has stopped, which says nothing about the API server. */
export interface AbortedSync {
  readonly kind: 'failed';
  readonly failure: 'aborted';
}

/** A request failed. */
export interface SyncFailure {
  readonly kind: 'failed';
  /** The cached status that was synced. */
  readonly versioned: VersionedPodStatus;
  readonly verb: RequestVerb;
  readonly failure: RetriedFailureClass;
  readonly error: APIError;
  /** How long the request took. */
  readonly tookMs: number;
}

/** The API server accepted the DELETE. */
export interface DeletedResult {
  /** `deletion-requested`: accepted, but finalizers keep the object. */
  readonly kind: 'deleted' | 'deletion-requested';
  readonly versioned: VersionedPodStatus;
  readonly finalizers: readonly string[];
}

/** The full batch has found nothing to send for the pod. */
export interface InSyncResult {
  readonly kind: 'in-sync';
  readonly versioned: VersionedPodStatus;
}

/** A result from which something follows (`consequences.ts`). */
export type Result = SentResult | SyncFailure | DeletedResult | InSyncResult;
