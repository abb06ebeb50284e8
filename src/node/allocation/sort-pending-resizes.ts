import sortBy from 'lodash/sortBy.js';
import { computePodQOS } from '../../status-manager/status/qos.ts';
import type { Pod, ValidPod } from '../../kube/objects/types.ts';
import { podRequests } from '../../status-manager/status/pod-resources.ts';
import { amountOf, compareAmounts } from './container-resources.ts';

/** A pod whose resize is pending, and what its position in the queue depends on. */
export interface PendingResize {
  readonly pod: ValidPod;
  /** The pod with its allocated resources. */
  readonly allocatedPod: ValidPod;
  /** When its PodResizePending condition was last set; undefined if it has none. */
  readonly pendingSince: string | null | undefined;
}

/**
 * Sorts resizes that do not increase requests first; then by priority, by QoS class (Guaranteed first),
 * and by waiting time (longest first). Source: kubelet `sortPendingResizes`.
 */
export function sortPendingResizes(resizes: readonly PendingResize[]): PendingResize[] {
  return sortBy(resizes, [
    isResizeIncreasingRequests,
    ({ pod }) => -(pod.spec?.priority ?? 0),
    ({ pod }) => computePodQOS(pod) !== 'Guaranteed',
    ({ pendingSince }) => pendingSince == null,
    ({ pendingSince }) => pendingSince ?? '',
  ]);
}

/** Source: kubelet `isResizeIncreasingRequests`. */
function isResizeIncreasingRequests({ pod, allocatedPod }: Pick<PendingResize, 'pod' | 'allocatedPod'>): boolean {
  return compareRequests(pod, allocatedPod).includes('more');
}

/** Compares the memory and the cpu that two pods request. */
export function compareRequests(after: Pod, before: Pod): ('less' | 'same' | 'more')[] {
  const requestedAfter = podRequests(after);
  const requestedBefore = podRequests(before);
  return (['memory', 'cpu'] as const).map((name) => {
    const change = compareAmounts(requestedAfter[name], amountOf(requestedBefore, name));
    if (change === 0) return 'same';
    return change < 0 ? 'less' : 'more';
  });
}
