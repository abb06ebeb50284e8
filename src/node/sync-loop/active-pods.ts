import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { PodStatusProvider } from '../../status-manager/status-manager-like.ts';
import type { PodSyncStatuses } from '../pod-workers/pod-sync-statuses.ts';

export interface ActivePodsOptions {
  readonly statuses: Pick<PodSyncStatuses, 'isPodKnownTerminated' | 'isPodTerminationRequested'>;
  readonly podStatusProvider: PodStatusProvider;
}

/**
 * The pods that use resources of the node, or may do so soon. Excludes pods that are terminated, and
 * pods with a terminal phase (including rejected pods) unless they are still being terminated.
 * Source: kubelet `filterOutInactivePods`.
 */
export function filterOutInactivePods(pods: Iterable<ValidPod>, options: ActivePodsOptions): ValidPod[] {
  return [...pods].filter((pod) => !isPodInactive(pod, options));
}

/** Source: kubelet `isPodInactive`. */
function isPodInactive(pod: ValidPod, { statuses, podStatusProvider }: ActivePodsOptions): boolean {
  const uid = pod.metadata.uid;
  if (statuses.isPodKnownTerminated(uid)) return true;
  return isAdmittedPodTerminal(pod, podStatusProvider) && !statuses.isPodTerminationRequested(uid);
}

/** Source: kubelet `isAdmittedPodTerminal`. */
function isAdmittedPodTerminal({ metadata, status }: ValidPod, podStatusProvider: PodStatusProvider): boolean {
  const cached = podStatusProvider.getPodStatus(metadata.uid);
  return isPodPhaseTerminal(status?.phase) || isPodPhaseTerminal(cached?.phase);
}
