import { isBeingDeleted } from '../status/deletion.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';
import { isMirrorPod, isStaticPod } from '../status/static-pods.ts';
import type { Pod, PodStatus } from '../types.ts';

/**
 * Whether containers of the pod may be started: it has not ended, as far as the cached status and
 * the API server's know, and nobody has asked for its deletion.
 *
 * A static pod with restart policy Always runs after any end, as under the kubelet: it may have been
 * ended by a shutdown of the node, and nobody would make it again. A mirror pod never runs.
 * Source: kubelet `podWorkers.UpdatePod`, `filterOutInactivePods`.
 *
 * @param apiPod the API object: the mirror of a static pod
 */
export function canPodRun(pod: Pod, apiPod: Pod | undefined, cached: CachedEnd | undefined): boolean {
  if (isMirrorPod(pod) || isBeingDeleted(pod)) return false;
  if (isStaticPod(pod) && (pod.spec?.restartPolicy ?? 'Always') === 'Always') return true;
  if (cached?.podIsFinished || isPodPhaseTerminal(cached?.status.phase)) return false;
  return !isPodPhaseTerminal(apiPod?.status?.phase);
}

interface CachedEnd {
  readonly status: PodStatus;
  readonly podIsFinished: boolean;
}
