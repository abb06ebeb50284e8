import type { Pod, PodStatus } from '../../kube/objects/types.ts';

/**
 * Called immediately after every accepted status change, in order of subscription. Arguments are
 * frozen. Errors and rejections of a listener are logged and ignored.
 * Source: kubelet `PodUpdateNotifier`.
 */
export interface PodStatusListener {
  /**
   * The status of a pod was accepted and differs from the cached one.
   * @param pod a copy of the pod with its new status
   * @param isAdded the pod had no cached status before and is not being deleted
   */
  onPodUpdated?(pod: Pod, status: PodStatus, isAdded: boolean): void;
  /** An update was accepted after `terminatePod`: all containers of the pod have stopped. */
  onPodRemoved?(pod: Pod): void;
}
