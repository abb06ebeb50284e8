import type { PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';

/**
 * Passes a generated status to the status manager, and returns the status that was set. If a container that has ended for
 * good would run again, it keeps its end, and the phase may differ from that of `status`.
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
