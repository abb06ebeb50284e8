import type { Pod, PodStatus } from '../../kube/objects/types.ts';
import { canonicalPodStatus } from '../status/canonical.ts';
import { normalizeStatus } from '../status/normalize.ts';

/**
 * Where a status of an earlier run was found: on the API server (`seed`), or in the journal
 * (`recovered`). It counts as adopted until this run sets a status of the pod or, if it is from the
 * journal, has sent it and the pod manager shows the pod.
 */
export type Adopted = AdoptedFromServer | AdoptedFromJournal;

/**
 * The list that it came from may have been old, so it is never written, and a newer object of the API
 * server replaces it. After `terminatePod`, the terminal phase is added to the API server's status.
 */
export interface AdoptedFromServer {
  readonly from: 'api-server';
  /** The version of the API object that had it. */
  readonly resourceVersion: string | undefined;
}

/** It is written unless the API server has a newer one. */
export interface AdoptedFromJournal {
  readonly from: 'journal';
  /** When it was accepted: a canonical time. */
  readonly acceptedAt: string;
  /**
   * When `removeOrphanedStatuses` was first called without the pod, on the monotonic clock. The list may
   * lack a young pod, so the status is dropped only when a GET shows that the pod is gone.
   */
  readonly orphanedSinceMs: number | undefined;
}

/** The status of an API object, to be adopted. */
export function adoptedFrom(apiPod: Pod): { readonly status: PodStatus; readonly adopted: AdoptedFromServer } {
  const status = normalizeStatus(apiPod, canonicalPodStatus(apiPod.status, { strict: false, unique: true }));
  return { status, adopted: { from: 'api-server', resourceVersion: apiPod.metadata?.resourceVersion } };
}
