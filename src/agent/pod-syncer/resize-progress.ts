import type { ValidPod } from '../../kube/objects/types.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import type { ActuatedResources } from '../allocation/actuated-resources.ts';
import {
  type PodEventRecorder,
  resizeMessage,
  type RuntimePodStatus,
  type SyncActionResult,
} from '../../node/index.ts';

export interface ResizeProgressOptions {
  readonly statusManager: Pick<
    StatusManagerLike,
    'getPodStatus' | 'setPodResizeInProgressCondition' | 'clearPodResizeInProgressCondition'
  >;
  /** Undefined if the runtime cannot resize containers; then no resize is ever in progress. */
  readonly actuatedResources: ActuatedResources | undefined;
  readonly eventRecorder: PodEventRecorder;
}

/** Updates the condition PodResizeInProgress, and records events about it. Source: kubelet `SyncPod`. */
export class ResizeProgress {
  readonly #options: ResizeProgressOptions;

  constructor(options: ResizeProgressOptions) {
    this.#options = options;
  }

  /** Call it at the start of a pod's sync, before its status is generated. */
  update(pod: ValidPod, runtimeStatus: RuntimePodStatus): void {
    const { statusManager, actuatedResources, eventRecorder } = this.#options;
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

  /** Call it with the result of the pod's sync. */
  reportErrors(pod: ValidPod, results: readonly SyncActionResult[]): void {
    const { statusManager, eventRecorder } = this.#options;
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
}
