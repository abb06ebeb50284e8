import { getPodFullName } from '../../kube/static-pods.ts';
import type { Pod } from '../../kube/types.ts';

/** On a static pod: a hash that changes with its manifest. */
export const configHashAnnotation = 'kubernetes.io/config.hash';
/** On a mirror pod: the hash of the static pod that it was created for. */
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

/** Source: kubelet `getPodHash`. */
export function podHash(pod: Pod): string {
  return pod.metadata?.annotations?.[configHashAnnotation] ?? '';
}

/** True when the mirror pod was created for this static pod as it is now. Source: kubelet `IsMirrorPodOf`. */
export function isMirrorPodOf(mirrorPod: Pod, pod: Pod): boolean {
  if (getPodFullName(mirrorPod) !== getPodFullName(pod)) return false;
  return mirrorPod.metadata?.annotations?.[configMirrorAnnotation] === podHash(pod);
}
