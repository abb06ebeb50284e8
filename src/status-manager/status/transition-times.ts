import type { PodCondition, PodStatus } from '../../kube/objects/types.ts';
import { timedConditionTypes } from './ownership.ts';

/**
 * `condition` with the old condition's transition time (possibly none) if its status is unchanged,
 * otherwise with `now`. Source: kubelet `updateLastTransitionTime`.
 */
export function refreshLastTransitionTime(oldStatus: PodStatus, condition: PodCondition, now: string): PodCondition {
  const old = oldStatus.conditions?.find(({ type }) => type === condition.type);
  const lastTransitionTime = old !== undefined && old.status === condition.status ? old.lastTransitionTime : now;
  return lastTransitionTime === condition.lastTransitionTime ? condition : { ...condition, lastTransitionTime };
}

/** The conditions of a new status, each timed one with its transition time refreshed; the same list when none changes. */
export function refreshLastTransitionTimes(
  oldStatus: PodStatus,
  conditions: readonly PodCondition[] | undefined,
  now: string,
): readonly PodCondition[] | undefined {
  if (conditions === undefined) return undefined;
  let refreshed: PodCondition[] | undefined;
  for (const timedType of timedConditionTypes) {
    const i = conditions.findIndex(({ type }) => type === timedType);
    if (i < 0) continue;
    const timed = refreshLastTransitionTime(oldStatus, conditions[i]!, now);
    if (timed === conditions[i]) continue;
    refreshed ??= [...conditions];
    refreshed[i] = timed;
  }
  return refreshed ?? conditions;
}
