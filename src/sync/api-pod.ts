import { canonicalPodStatus } from '../status/canonical.ts';
import type { Pod, PodStatus } from '../types.ts';

/** A pod as the API server shows it. */
export interface ApiPod {
  readonly pod: Pod;
  readonly uid: string;
  /** Of `pod`, in canonical form. */
  readonly status: PodStatus;
  /** What the safety provider is asked about, where `pod` is not whole. */
  readonly podOfManager?: Pod;
}

export function apiPodOf(pod: Pod): ApiPod {
  return { pod, uid: pod.metadata?.uid ?? '', status: canonicalPodStatus(pod.status, { strict: false }) };
}
