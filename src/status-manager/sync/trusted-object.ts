import type { PodManager } from '../../kube/pod-manager/pod-manager.ts';
import { isNewer } from '../../kube/objects/is-newer.ts';
import type { PodStatus } from '../../kube/objects/types.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';
import { type APIPod, apiPodOf } from './decide.ts';
import { failureClassTable } from './failure-classes.ts';
import type { AbortedSync, SyncFailure } from './sync-result.ts';

/*
 * `readBeforePatch: 'when-stale'`: a pod is patched without a GET while nothing suggests that its API
 * object differs from our last response. An object is trusted for one sync, whose result decides
 * whether the next sync may trust the new object.
 * Divergence, opt-in: the kubelet reads before each patch.
 */

/** The object to trust, with only the fields that a sync needs. `merged` is its status. */
export function trustedObject({ pod, uid }: APIPod, merged: PodStatus, keepsRawStatus: boolean): APIPod {
  const { annotations, generation, deletionTimestamp, name, namespace, resourceVersion } = pod.metadata ?? {};
  const metadata = { name, namespace, uid, annotations, generation, deletionTimestamp, resourceVersion };
  // A JSON patch tests the status in the API server's own format.
  return { pod: { metadata, status: keepsRawStatus ? pod.status : undefined }, uid, status: merged };
}

/**
 * The object with the pod manager's pod for the safety provider; undefined if it must be read, because
 * another writer has, or may have, changed it.
 */
export function stillTrusted(uid: string, trusted: APIPod, podManager: PodManager): APIPod | undefined {
  const pod = podManager.getPodByUID(uid);
  if (pod === undefined) return undefined;
  const completePod = podManager.getMirrorPodByPod(pod) ?? pod;
  if (isNewer(completePod, trusted.pod.metadata?.resourceVersion)) return undefined;
  // Another writer may have reset the phase, on which the merge depends.
  if (isPodPhaseTerminal(completePod.status?.phase) !== isPodPhaseTerminal(trusted.status.phase)) return undefined;
  return { ...trusted, completePod };
}

/**
 * The pod manager's object if it is newer than `api`, which was read before a wait.
 * Divergence: the kubelet patches what it has read.
 */
export function newestObject(uid: string, api: APIPod, podManager: PodManager): APIPod {
  const pod = podManager.getPodByUID(uid);
  const shown = pod && (podManager.getMirrorPodByPod(pod) ?? pod);
  const isOfAPI = shown?.metadata?.uid === api.uid;
  return isOfAPI && isNewer(shown, api.pod.metadata?.resourceVersion) ? apiPodOf(shown) : api;
}

/** Whether a failed PATCH of a trusted object may succeed after a GET. */
export function isCuredByReading(result: SyncFailure | AbortedSync): boolean {
  return result.failure !== 'aborted' && failureClassTable[result.failure].isCuredByReading;
}

/** True if the patch replaces or removes the complete list of conditions, including foreign ones. */
export function replacesAllConditions(trusted: APIPod, merged: PodStatus): boolean {
  return (trusted.status.conditions === undefined) !== (merged.conditions === undefined);
}
