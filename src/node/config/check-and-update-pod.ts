import { configMirrorAnnotation } from '../../kube/pods/static-pods.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { isSameJSON } from '../../shared/json.ts';

export const configSourceAnnotation = 'kubernetes.io/config.source';
export const configSeenAnnotation = 'kubernetes.io/config.seen';

/** Annotations that the agent adds to a pod. Source: kubelet `localAnnotations`. */
const localAnnotations = new Set([configSourceAnnotation, configMirrorAnnotation, configSeenAnnotation]);

type Annotations = Readonly<Record<string, string>>;

const annotationsOf = (pod: ValidPod): Annotations => pod.metadata.annotations ?? {};

export function withAnnotations(pod: ValidPod, annotations: Annotations): ValidPod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...annotationsOf(pod), ...annotations } } };
}

export interface CheckedPod {
  /** The pod to keep: `existing` itself when nothing changed. */
  readonly pod: ValidPod;
  readonly op: 'UPDATE' | 'DELETE' | 'RECONCILE' | undefined;
}

/**
 * What changed from `existing` to `candidate`, which has the same UID. The annotations that the agent
 * added to `existing` are kept, and those of `candidate` with the same names dropped. Source: kubelet `checkAndUpdatePod`.
 *
 * Divergence: the kubelet copies only the compared fields into the existing pod, so the rest of the metadata, such as
 * the resourceVersion, keeps its first value. Here the candidate's metadata is used.
 */
export function checkAndUpdatePod(existing: ValidPod, candidate: ValidPod): CheckedPod {
  const kept = Object.fromEntries(Object.entries(annotationsOf(existing)).filter(([key]) => localAnnotations.has(key)));
  const updated = (): ValidPod => ({
    ...candidate,
    metadata: { ...candidate.metadata, annotations: { ...foreignAnnotations(candidate), ...kept } },
  });
  if (!podsDifferSemantically(existing, candidate)) {
    if (isSameJSON(existing.status, candidate.status)) return { pod: existing, op: undefined };
    return { pod: updated(), op: 'RECONCILE' };
  }
  return { pod: updated(), op: candidate.metadata.deletionTimestamp == null ? 'UPDATE' : 'DELETE' };
}

/** Source: kubelet `podsDifferSemantically`. */
function podsDifferSemantically(existing: ValidPod, candidate: ValidPod): boolean {
  const { metadata: a } = existing;
  const { metadata: b } = candidate;
  return !(
    isSameJSON(existing.spec, candidate.spec) &&
    isSameJSON(a.labels, b.labels) &&
    a.deletionTimestamp === b.deletionTimestamp &&
    a.deletionGracePeriodSeconds === b.deletionGracePeriodSeconds &&
    isSameJSON(foreignAnnotations(existing), foreignAnnotations(candidate))
  );
}

/** The annotations that others have given the pod. */
export function foreignAnnotations(pod: ValidPod): Annotations {
  return Object.fromEntries(Object.entries(annotationsOf(pod)).filter(([key]) => !localAnnotations.has(key)));
}
