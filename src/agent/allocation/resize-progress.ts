import type { Pod, StatusManagerLike } from '../../index.ts';
import type { PodEventRecorder } from '../pod-workers/pod-event-recorder.ts';
import type { SyncResult } from '../pod-workers/sync-result.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';
import type { ActuatedResources } from './actuated-resources.ts';
import { resizeMessage } from './resize-events.ts';

export interface ResizeProgressOptions {
  readonly statusManager: Pick<
    StatusManagerLike,
    'setPodResizeInProgressCondition' | 'clearPodResizeInProgressCondition'
  >;
  /** undefined: the runtime cannot resize containers, so that no resize is ever in progress. */
  readonly actuatedResources: ActuatedResources | undefined;
  readonly eventRecorder: PodEventRecorder;
}

/** Keeps PodResizeInProgress in line with what the containers have, and tells of it. Source: kubelet `SyncPod`. */
export class ResizeProgress {
  readonly #options: ResizeProgressOptions;

  constructor(options: ResizeProgressOptions) {
    this.#options = options;
  }

  /** For a pod that is to be synced, before its status is made. */
  update(pod: Pod, runtimeStatus: RuntimePodStatus): void {
    const { statusManager, actuatedResources, eventRecorder } = this.#options;
    const { uid = '', generation = 0 } = pod.metadata ?? {};
    // Divergence: the kubelet does so when the volumes are mounted. A pod that an earlier agent has started
    // would show PodResizeInProgress until then.
    actuatedResources?.initialize(pod);
    if (actuatedResources?.isPodResizeInProgress(pod, runtimeStatus) === true) {
      statusManager.setPodResizeInProgressCondition(uid, '', '', generation);
      return;
    }
    const { changed, observedGeneration } = statusManager.clearPodResizeInProgressCondition(uid);
    if (!changed) return;
    const message = resizeMessage('Pod resize completed', pod, observedGeneration);
    eventRecorder.event({ pod, type: 'Normal', reason: 'ResizeCompleted', message });
  }

  /** For what the sync of the pod did. */
  reportErrors(pod: Pod, results: readonly SyncResult[]): void {
    const { statusManager, eventRecorder } = this.#options;
    const { uid = '', generation = 0 } = pod.metadata ?? {};
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
