import type { Pod } from '../types.ts';

/**
 * Answers whether a pod may still have containers running.
 * Source: kubelet `PodDeletionSafetyProvider`.
 */
export interface PodDeletionSafety {
  /**
   * True while a container of `pod` runs or may start. While it is true, a pod's phase is not
   * moved from non-terminal to terminal. Must be cheap and synchronous, and must not throw; when
   * it throws, the answer counts as true.
   */
  podCouldHaveRunningContainers(pod: Pod): boolean;
}
