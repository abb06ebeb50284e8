import { isBeingDeleted } from '../status/deletion.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';
import { isMirrorPod, isOutdatedMirror, isStaticPod } from '../../kube/pods/static-pods.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { VersionedPodStatus } from './pod-status-cache.ts';

/**
 * Whether containers of the pod may be started: neither the cached status nor the API object has a
 * terminal phase, and the pod is not being deleted. A mirror pod never runs.
 *
 * A static pod with restart policy Always may run after any terminal phase, as in the kubelet: a
 * node shutdown may have set that phase, and nothing recreates a static pod.
 * Source: kubelet `podWorkers.UpdatePod`, `filterOutInactivePods`.
 *
 * @param apiPod the API object: the mirror of a static pod, or of an earlier one of the same name
 */
export function canPodRun(pod: Pod, apiPod: Pod | undefined, cached: VersionedPodStatus | undefined): boolean {
  if (isMirrorPod(pod) || isBeingDeleted(pod)) return false;
  if (isStaticPod(pod) && (pod.spec?.restartPolicy ?? 'Always') === 'Always') return true;
  if (cached?.podIsFinished || isPodPhaseTerminal(cached?.status.phase)) return false;
  if (apiPod === undefined || isOutdatedMirror(apiPod, pod)) return true;
  return !isPodPhaseTerminal(apiPod.status?.phase);
}
