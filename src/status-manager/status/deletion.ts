import type { Pod } from '../../kube/objects/types.ts';
import { isPodPhaseTerminal } from './phase.ts';
import { isMirrorPod } from '../../kube/pods/static-pods.ts';

/** The deletion of the pod's API object has been requested. */
export function isBeingDeleted(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp != null;
}

/**
 * True when the API object may be removed: its deletion was requested, its own phase is terminal, and
 * its containers have stopped. Source: kubelet `canBeDeleted`.
 */
export function canBeDeleted(pod: Pod, podIsFinished: boolean): boolean {
  return podIsFinished && isBeingDeleted(pod) && !isMirrorPod(pod) && isPodPhaseTerminal(pod.status?.phase);
}
