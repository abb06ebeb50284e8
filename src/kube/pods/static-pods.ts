import type { Pod } from '../objects/types.ts';

const configSourceAnnotation = 'kubernetes.io/config.source';
/** On a static pod: a hash that changes with its manifest. */
export const configHashAnnotation = 'kubernetes.io/config.hash';
/** On a mirror pod: the hash of the static pod that it was created for. */
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

function annotation(pod: Pod, name: string): string | undefined {
  const annotations = pod.metadata?.annotations;
  return annotations && Object.hasOwn(annotations, name) ? annotations[name] : undefined;
}

/**
 * True for a pod that does not come from the API server. kubelet: `kubetypes.IsStaticPod`.
 *
 * Divergence: a pod with a resourceVersion comes from the API server, whatever its annotation says. Anyone who may create
 * a pod can set the annotation, and the kubelet would then neither run nor report the pod.
 */
export function isStaticPod(pod: Pod): boolean {
  const source = annotation(pod, configSourceAnnotation);
  return source !== undefined && source !== 'api' && !pod.metadata?.resourceVersion;
}

/**
 * True for a mirror pod, the API server's object for a static pod. kubelet: `kubetypes.IsMirrorPod`.
 *
 * @example
 * ```ts
 * import { isMirrorPod } from 'kubelet-status-manager';
 *
 * const podsToRun = podManager.getPods().filter((pod) => !isMirrorPod(pod));
 * ```
 */
export function isMirrorPod(pod: Pod): boolean {
  return annotation(pod, configMirrorAnnotation) !== undefined;
}

/** On a static pod, a hash of its manifest; empty if it has none. kubelet: `getPodHash`. */
export function configHash(pod: Pod): string {
  return annotation(pod, configHashAnnotation) ?? '';
}

/** Whether the mirror pod was created for this version of the static pod. kubelet: `IsMirrorPodOf`. */
export function isMirrorPodOf(mirrorPod: Pod, pod: Pod): boolean {
  return (
    getPodFullName(mirrorPod) === getPodFullName(pod) &&
    annotation(mirrorPod, configMirrorAnnotation) === configHash(pod)
  );
}

/** Whether a mirror pod was created for another version of the static pod. Without a hash, none is known to be outdated. */
export function isOutdatedMirror(mirrorPod: Pod, pod: Pod): boolean {
  return isStaticPod(pod) && configHash(pod) !== '' && !isMirrorPodOf(mirrorPod, pod);
}

/** `name_namespace`, which a static pod shares with its mirror. kubelet: `GetPodFullName`. */
export function getPodFullName(pod: Pod): string {
  return `${pod.metadata?.name ?? ''}_${pod.metadata?.namespace ?? ''}`;
}
