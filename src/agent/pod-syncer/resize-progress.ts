import type { ValidPod } from '../../kube/objects/types.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import type { ActuatedResources } from '../allocation/actuated-resources.ts';
import {
  type PodEventRecorder,
  resizeMessage,
  type RuntimePodStatus,
  type SyncActionResult,
} from '../../node/index.ts';

export interface ResizeProgressParts {
  readonly statusManager: Pick<
    StatusManagerLike,
    'getPodStatus' | 'setPodResizeInProgressCondition' | 'clearPodResizeInProgressCondition'
  >;
  /** Undefined if the runtime cannot resize containers; then no resize is ever in progress. */
  readonly actuatedResources: ActuatedResources | undefined;
  readonly eventRecorder: PodEventRecorder;
}

/**
 * Updates the condition PodResizeInProgress, and records an Event when the resize is completed. Call it at the start of a
 * pod's sync, before its status is generated. Source: kubelet `SyncPod`.
 */
export function updateResizeProgress(
  pod: ValidPod,
  runtimeStatus: RuntimePodStatus,
  { statusManager, actuatedResources, eventRecorder }: ResizeProgressParts,
): void {
  const { uid, generation = 0 } = pod.metadata;
  // Divergence: the kubelet does this when the volumes are mounted. Until then, a pod that an earlier
  // agent started would show PodResizeInProgress.
  actuatedResources?.initialize(pod, statusManager.getPodStatus(uid) ?? pod.status);
  if (actuatedResources?.isPodResizeInProgress(pod, runtimeStatus) === true) {
    statusManager.setPodResizeInProgressCondition(uid, '', '', generation);
    return;
  }
  const { changed, observedGeneration } = statusManager.clearPodResizeInProgressCondition(uid);
  if (!changed) return;
  const message = resizeMessage('Pod resize completed', pod, observedGeneration);
  eventRecorder.event({ pod, type: 'Normal', reason: 'ResizeCompleted', message });
}

/** Shows a failed resize in the condition, with an Event. Call it with the result of the pod's sync. */
export function reportResizeErrors(
  pod: ValidPod,
  results: readonly SyncActionResult[],
  { statusManager, eventRecorder }: ResizeProgressParts,
): void {
  const { uid, generation = 0 } = pod.metadata;
  for (const { action, failure } of results) {
    if (action !== 'ResizePodInPlace' || failure === undefined) continue;
    const error = failure.message;
    const { changed, observedGeneration } = statusManager.setPodResizeInProgressCondition(
      ...([uid, 'Error', error, generation] as const),
    );
    if (!changed) continue;
    const message = resizeMessage('Pod resize error', pod, observedGeneration, error);
    eventRecorder.event({ pod, type: 'Warning', reason: 'ResizeError', message });
  }
}
