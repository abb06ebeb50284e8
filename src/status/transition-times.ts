import type { PodCondition, PodStatus } from '../types.ts';

/** Conditions whose transition time the status manager itself keeps; the resize conditions are not. */
const timedConditions: ReadonlySet<string> = new Set([
  'ContainersReady',
  'Ready',
  'Initialized',
  'PodReadyToStartContainers',
  'PodScheduled',
  'DisruptionTarget',
  'AllContainersRestarting',
]);

/**
 * `condition` with the old condition's transition time, even none, when the status is unchanged,
 * else with `now`. Source: kubelet `updateLastTransitionTime`.
 */
export function refreshLastTransitionTime(oldStatus: PodStatus, condition: PodCondition, now: string): PodCondition {
  const old = oldStatus.conditions?.find(({ type }) => type === condition.type);
  const lastTransitionTime = old !== undefined && old.status === condition.status ? old.lastTransitionTime : now;
  return lastTransitionTime === condition.lastTransitionTime ? condition : { ...condition, lastTransitionTime };
}

/** The conditions of a new status, each timed one with its transition time refreshed; the same list when none changes. */
export function refreshLastTransitionTimes(
  oldStatus: PodStatus,
  conditions: PodCondition[] | undefined,
  now: string,
): PodCondition[] | undefined {
  let refreshed = conditions;
  for (let i = 0; conditions !== undefined && i < conditions.length; i++) {
    const condition = conditions[i]!;
    if (!timedConditions.has(condition.type)) continue;
    const timed = refreshLastTransitionTime(oldStatus, condition, now);
    if (timed === condition) continue;
    if (refreshed === conditions) refreshed = [...conditions];
    refreshed![i] = timed;
  }
  return refreshed;
}
