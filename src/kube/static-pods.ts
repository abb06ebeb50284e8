import type { Pod } from './types.ts';

const configSourceAnnotation = 'kubernetes.io/config.source';
const configHashAnnotation = 'kubernetes.io/config.hash';
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

function annotation(pod: Pod, name: string): string | undefined {
  const annotations = pod.metadata?.annotations;
  return annotations && Object.hasOwn(annotations, name) ? annotations[name] : undefined;
}

/** A pod that does not come from the API server. kubelet: `kubetypes.IsStaticPod`. */
export function isStaticPod(pod: Pod): boolean {
  const source = annotation(pod, configSourceAnnotation);
  return source !== undefined && source !== 'api';
}

/** The API server's stand-in for a static pod. kubelet: `kubetypes.IsMirrorPod`. */
export function isMirrorPod(pod: Pod): boolean {
  return annotation(pod, configMirrorAnnotation) !== undefined;
}

/**
 * False for the mirror of an earlier static pod of the same name, which was changed since. True for a
 * static pod without a hash. kubelet: `IsMirrorPodOf`.
 */
export function isMirrorPodOf(mirrorPod: Pod, pod: Pod): boolean {
  const hash = annotation(pod, configHashAnnotation);
  return hash === undefined || annotation(mirrorPod, configMirrorAnnotation) === hash;
}

/** `name_namespace`, which a static pod shares with its mirror. kubelet: `GetPodFullName`. */
export function getPodFullName(pod: Pod): string {
  return `${pod.metadata?.name ?? ''}_${pod.metadata?.namespace ?? ''}`;
}
