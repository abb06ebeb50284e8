import type { PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';

/**
 * Passes what was generated of a pod to the status manager, and returns what it has been set to: if a container that has
 * ended for good would run again, it keeps its end, and the pod may have another phase than `status`.
 */
export function setGeneratedStatus(
  statusManager: Pick<StatusManagerLike, 'setPodStatus'>,
  pod: ValidPod,
  status: PodStatusInput,
): PodStatusInput {
  const result = statusManager.setPodStatus(pod, status, { keepTerminated: true, keepInvalid: true });
  const isEndKept = result.rejected !== undefined && (result.changed || result.ignored !== undefined);
  return isEndKept ? result.status : status;
}
