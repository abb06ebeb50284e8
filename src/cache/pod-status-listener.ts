import type { Pod, PodStatus } from '../types.ts';

/**
 * Told of every accepted status change, in order of subscription, right after the change. What it
 * is given is frozen. A listener that throws, or whose promise rejects, is logged; nothing else is affected.
 * Source: kubelet `PodUpdateNotifier`.
 */
export interface PodStatusListener {
  /**
   * @param pod the pod with its new status
   * @param isAdded the pod had no cached status before and is not being deleted
   */
  onPodUpdated?(pod: Pod, status: PodStatus, isAdded: boolean): void;
  /** An update was accepted of a pod whose containers have all stopped for good. */
  onPodRemoved?(pod: Pod): void;
}
