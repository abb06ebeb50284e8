import type { Pod } from '../types.ts';

export { isMirrorPod, isStaticPod } from '../status/pod-source.ts';

/** `name_namespace`, which a static pod shares with its mirror. kubelet: `GetPodFullName`. */
export function getPodFullName(pod: Pod): string {
  return `${pod.metadata?.name ?? ''}_${pod.metadata?.namespace ?? ''}`;
}
