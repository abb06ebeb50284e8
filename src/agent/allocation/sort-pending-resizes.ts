import { computePodQOS, type Pod, podRequests } from '../../index.ts';
import { amountOf, compareAmounts } from './container-resources.ts';

/** A pod whose resize is pending, and what decides when it has its turn. */
export interface PendingResize {
  readonly pod: Pod;
  /** The pod with the resources that it has. */
  readonly allocatedPod: Pod;
  /** When its PodResizePending condition was set last; undefined: it has none. */
  readonly pendingSince: string | null | undefined;
}

/**
 * First those that ask for no more than they have, then by priority, then Guaranteed pods, and at
 * last those that have waited longest. Source: kubelet `sortPendingResizes`.
 */
export function sortPendingResizes(resizes: readonly PendingResize[]): PendingResize[] {
  return resizes.toSorted((a, b) => {
    const byIncrease = Number(isResizeIncreasingRequests(a)) - Number(isResizeIncreasingRequests(b));
    if (byIncrease !== 0) return byIncrease;
    const byPriority = (b.pod.spec?.priority ?? 0) - (a.pod.spec?.priority ?? 0);
    if (byPriority !== 0) return byPriority;
    const byQOS = Number(isGuaranteed(b.pod)) - Number(isGuaranteed(a.pod));
    if (byQOS !== 0) return byQOS;
    if (a.pendingSince == null || b.pendingSince == null) {
      return Number(a.pendingSince == null) - Number(b.pendingSince == null);
    }
    if (a.pendingSince === b.pendingSince) return 0;
    return a.pendingSince < b.pendingSince ? -1 : 1;
  });
}

/** Source: kubelet `isResizeIncreasingRequests`. */
function isResizeIncreasingRequests({ pod, allocatedPod }: Pick<PendingResize, 'pod' | 'allocatedPod'>): boolean {
  return compareRequests(pod, allocatedPod).includes('more');
}

/** Whether a pod requests more or less than another one, of memory and of cpu. */
export function compareRequests(after: Pod, before: Pod): ('less' | 'same' | 'more')[] {
  const requestedAfter = podRequests(after);
  const requestedBefore = podRequests(before);
  return (['memory', 'cpu'] as const).map((name) => {
    const change = compareAmounts(requestedAfter[name], amountOf(requestedBefore, name));
    if (change === 0) return 'same';
    return change < 0 ? 'less' : 'more';
  });
}

function isGuaranteed(pod: Pod): boolean {
  return computePodQOS(pod) === 'Guaranteed';
}
