import { canonicalPodStatus } from '../status/canonical.ts';
import type { Pod, PodStatus } from '../../kube/types.ts';

/** A pod as the API server shows it. */
export interface APIPod {
  readonly pod: Pod;
  readonly uid: string;
  /** Of `pod`, in canonical form. */
  readonly status: PodStatus;
  /** For the safety provider, when `pod` has only the members that a sync needs. */
  readonly completePod?: Pod;
}

/** The pod in a response of the API server. */
export function apiPodOf(pod: Pod): APIPod {
  return { pod, uid: pod.metadata?.uid ?? '', status: canonicalPodStatus(pod.status, { strict: false }) };
}
