import type { Pod, PodStatus } from '../../kube/types.ts';

/**
 * Called for every accepted status change, right after it; listeners are called in order of
 * subscription. Their arguments are frozen. When a listener throws, or its promise rejects, that is
 * logged and has no other effect.
 * Source: kubelet `PodUpdateNotifier`.
 */
export interface PodStatusListener {
  /**
   * The status of a pod was accepted and differs from the cached one.
   * @param pod a copy of the pod with its new status
   * @param isAdded the pod had no cached status before and is not being deleted
   */
  onPodUpdated?(pod: Pod, status: PodStatus, isAdded: boolean): void;
  /** An update of a pod was accepted after `terminatePod`: all its containers have stopped. */
  onPodRemoved?(pod: Pod): void;
}
