import type { PodStatusPatch } from '../../kube/client/pod-client.ts';
import { type Adopted, adoptedFrom } from '../cache/adopted-status.ts';
import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { createStatusJSONPatch } from '../status/json-patch.ts';
import { mergePodStatus } from '../status/merge.ts';
import { isServerNewer } from '../status/server-newer.ts';
import { isMirrorPod, isStaticPod } from '../../kube/pods/static-pods.ts';
import { createStatusPatch, diffPodStatus } from '../status/strategic-merge.ts';
import { terminatedPodStatus } from '../status/terminate.ts';
import type { DropReason } from './status-outcome.ts';
import type { Pod, PodCondition, PodStatus } from '../../kube/objects/types.ts';
import { canonicalPodStatus } from '../status/canonical.ts';

/** A pod as the API server shows it. */
export interface APIPod {
  readonly pod: Pod;
  readonly uid: string;
  /** The status of `pod`, in canonical form. */
  readonly status: PodStatus;
  /** The pod for the safety provider, if `pod` has only the fields that a sync needs. */
  readonly completePod?: Pod;
}

/** The pod in a response of the API server. */
export function apiPodOf(pod: Pod): APIPod {
  return { pod, uid: pod.metadata?.uid ?? '', status: canonicalPodStatus(pod.status, { strict: false }) };
}

/** How a status is patched: see the option `patchStrategy`. */
export type PatchStrategy = 'strategic-merge' | 'json-patch';

/** The node's view of the pod. */
export interface NodeFacts {
  /** UID of the pod whose status is cached. */
  readonly uid: string;
  /** UID of the pod that the API object represents: its own, or for a mirror pod its static pod's. */
  readonly translatedUID: string;
  /** The pod manager's pod; undefined if it has none. */
  readonly pod: Pod | undefined;
  /** Set if the cached status is of an earlier run. */
  readonly adopted: Adopted | undefined;
  /** `terminatePod` was called. */
  readonly podIsFinished: boolean;
  readonly podCouldHaveRunningContainers: (pod: Pod) => boolean;
  readonly patchStrategy: PatchStrategy;
  /** A canonical time. */
  readonly now: string;
}

/** The action of a sync for one pod. */
export type Decision =
  /**
   * The status has no API object. `recreated`: the object belongs to another pod. `outdated`: the
   * status is from the journal and the API server has a newer one.
   */
  | { readonly kind: 'gone'; readonly reason: Exclude<DropReason, 'removed'> }
  /** The object is a mirror pod that the pod manager does not know yet: retry. */
  | { readonly kind: 'unknown-mirror' }
  /** The API server already has the status. */
  | ({ readonly kind: 'unchanged' } & Merged)
  | ({ readonly kind: 'patch'; readonly patch: PodStatusPatch } & Merged);

interface Merged {
  /** The status to write. */
  readonly merged: PodStatus;
  /** Replaces the cached status: that is of an earlier run, and the API object has, or may have, a newer one. */
  readonly adopt: Pick<VersionedPodStatus, 'adopted' | 'status'> | undefined;
  /** The DisruptionTarget condition with the transition time that the merge gave it. */
  readonly disruptionTarget: PodCondition | undefined;
}

/**
 * Compares a cached status with the API object and returns the action. Has no side effects except
 * calling the safety provider.
 * Source: the first half of kubelet `syncPod`.
 */
export function decide(status: PodStatus, api: APIPod, facts: NodeFacts): Decision {
  if (facts.translatedUID !== '' && facts.translatedUID !== facts.uid) {
    // Divergence: the kubelet drops the status of a static pod whose mirror it does not know yet.
    return isOfStaticPod(api, facts) ? { kind: 'unknown-mirror' } : { kind: 'gone', reason: 'recreated' };
  }
  const { adopted, podIsFinished } = facts;
  let adopt: Merged['adopt'];
  if (adopted?.from === 'api-server') {
    adopt = adoptedFrom(api.pod);
    if (!podIsFinished) return { kind: 'unchanged', merged: api.status, adopt, disruptionTarget: undefined };
    const pod = facts.pod ?? api.pod;
    adopt = { ...adopt, status: terminatedPodStatus(pod, api.status, adopt.status, isStaticPod(pod)) };
  } else if (adopted !== undefined && isServerNewer(api.status, status, adopted.acceptedAt)) {
    return { kind: 'gone', reason: 'outdated' };
  }
  const couldHaveRunningContainers = facts.podCouldHaveRunningContainers(api.completePod ?? api.pod);
  const { status: merged, disruptionTarget } = mergePodStatus(
    api.pod,
    api.status,
    adopt?.status ?? status,
    couldHaveRunningContainers,
    facts.now,
  );
  const patch = createPatch(api, merged, facts.patchStrategy);
  return patch === undefined
    ? { kind: 'unchanged', merged, adopt, disruptionTarget }
    : { kind: 'patch', patch, merged, adopt, disruptionTarget };
}

/**
 * A status from the journal may belong to a static pod that the pod manager does not know yet and
 * whose UID it cannot translate.
 */
function isOfStaticPod(api: APIPod, { pod, adopted, translatedUID }: NodeFacts): boolean {
  if (pod !== undefined) return isStaticPod(pod);
  return adopted?.from === 'journal' && translatedUID === api.uid && isMirrorPod(api.pod);
}

function createPatch(api: APIPod, merged: PodStatus, patchStrategy: PatchStrategy): PodStatusPatch | undefined {
  if (patchStrategy === 'json-patch') {
    // A JSON patch compares text; differences in format alone are not sent.
    if (diffPodStatus(api.status, merged) === undefined) return undefined;
    const body = createStatusJSONPatch(api.uid, api.pod.status, merged);
    return body && { type: 'application/json-patch+json', body };
  }
  const body = createStatusPatch(api.uid, api.status, merged);
  return body && { type: 'application/strategic-merge-patch+json', body };
}
