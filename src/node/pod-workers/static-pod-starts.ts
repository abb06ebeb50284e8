import { isStaticPod } from '../../kube/pods/static-pods.ts';
import { isFinished, type PodSyncStatus } from './pod-sync-status.ts';

/**
 * True if a static pod may start, or has started. Of the static pods with one full name, only one runs at a time, in the
 * order in which they became known. Pods that ended before they could start are skipped. Source: kubelet
 * `allowStaticPodStart`.
 */
export function allowStaticPodStart(status: PodSyncStatus, statuses: readonly PodSyncStatus[]): boolean {
  const rivals = statuses.filter((each) => each.fullName === status.fullName && isStatic(each));
  return (rivals.find(isStartedStaticPod) ?? rivals.find(isSyncing)) === status;
}

/** True from its first sync until all of its resources have been cleaned up. Source: kubelet `startedStaticPodsByFullname`. */
export function isStartedStaticPod(status: PodSyncStatus): boolean {
  return status.hasStarted && !isFinished(status) && isStatic(status);
}

function isStatic({ activeUpdate, pendingUpdate }: PodSyncStatus): boolean {
  return isStaticPod(activeUpdate?.pod ?? pendingUpdate?.pod ?? {});
}

function isSyncing({ lifecycle }: PodSyncStatus): boolean {
  return lifecycle.state === 'syncing';
}
