import type { PodStatus } from '../../kube/objects/types.ts';

/**
 * Ownership of the parts of a pod status. The single source for merge, equality, transition times,
 * sync and the test server's NodeRestriction.
 */

interface ConditionOwnership {
  /** `shared`: the kubelet is one of several writers. Types that are not listed are foreign: the kubelet never writes them. */
  readonly owner: 'kubelet' | 'shared';
  /** True when the status manager keeps the transition time itself. */
  readonly timed: boolean;
}

/** The condition that a component sets on a pod which it evicts or preempts. */
export const disruptionTarget = 'DisruptionTarget';

/** Source: kubelet `PodConditionByKubelet`, `PodConditionSharedByKubelet`, `updateStatusInternal`. */
const conditionOwnership: ReadonlyMap<string, ConditionOwnership> = new Map([
  ['PodScheduled', { owner: 'kubelet', timed: true }],
  ['Ready', { owner: 'kubelet', timed: true }],
  ['Initialized', { owner: 'kubelet', timed: true }],
  ['ContainersReady', { owner: 'kubelet', timed: true }],
  ['PodReadyToStartContainers', { owner: 'kubelet', timed: true }],
  ['AllContainersRestarting', { owner: 'kubelet', timed: true }],
  // The times of the resize conditions come from the table of resize conditions.
  ['PodResizePending', { owner: 'kubelet', timed: false }],
  ['PodResizeInProgress', { owner: 'kubelet', timed: false }],
  [disruptionTarget, { owner: 'shared', timed: true }],
]);

/**
 * Foreign fields of a pod status: the API server's values are kept. A node's own user is not allowed
 * to change them. Source: kubelet `mergePodStatus`, `isPodStatusByKubeletEqual`.
 */
export const foreignStatusFields = [
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
] as const satisfies readonly (keyof PodStatus)[];

export type ForeignStatusField = (typeof foreignStatusFields)[number];

/** True when conditions of this type are the kubelet's alone. Source: kubelet `PodConditionByKubelet`. */
export function podConditionByKubelet(type: string): boolean {
  return conditionOwnership.get(type)?.owner === 'kubelet';
}

/** True when the kubelet is one of several writers of this type. Source: kubelet `PodConditionSharedByKubelet`. */
export function podConditionSharedByKubelet(type: string): boolean {
  return conditionOwnership.get(type)?.owner === 'shared';
}

/** True when the kubelet writes conditions of this type, alone or with others. */
export function isWrittenByKubelet(type: string): boolean {
  return conditionOwnership.has(type);
}

/** The condition types whose transition time the status manager keeps. */
export const timedConditionTypes: readonly string[] = [...conditionOwnership]
  .filter(([, { timed }]) => timed)
  .map(([type]) => type);
