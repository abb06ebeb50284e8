import { canonicalPodStatus } from '../status/canonical.ts';
import type { Pod, PodStatus } from '../../kube/types.ts';

/** A pod as the API server shows it, or is trusted to show it. */
export interface APIPod {
  readonly pod: Pod;
  readonly uid: string;
  /** Of `pod`, in canonical form. */
  readonly status: PodStatus;
  /** Set when the object was not read in this sync: the pod manager's pod, complete, for the safety provider. */
  readonly trustedAs?: Pod;
}

/** The pod in a response of the API server. */
export function apiPodOf(pod: Pod): APIPod {
  return { pod, uid: pod.metadata?.uid ?? '', status: canonicalPodStatus(pod.status, { strict: false }) };
}
