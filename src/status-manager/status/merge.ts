import type { Mutable, Pod, PodCondition, PodStatus } from '../../kube/objects/types.ts';
import { replaceOrAppendPodCondition } from './conditions.ts';
import { foreignStatusFields, podConditionByKubelet, podConditionSharedByKubelet } from './ownership.ts';
import { isPodPhaseTerminal } from './phase.ts';
import { refreshLastTransitionTime } from './transition-times.ts';

/** What `mergePodStatus` returns. */
export interface MergedPodStatus {
  readonly status: PodStatus;
  /**
   * The merged DisruptionTarget condition with its new transition time; undefined unless it was merged.
   * kubelet: `mergePodStatus` also writes this time into the cached status.
   */
  readonly disruptionTarget: PodCondition | undefined;
}

/**
 * Merges our status with the API server's: foreign conditions and resource-claim fields keep the
 * server's values. Holds back a terminal phase while containers could be running. Sets Ready=False
 * with time `now` (canonical) on a terminal pod; as in the kubelet, this repeats at each sync while
 * the cached status says Ready. `HotLoops` bounds it.
 * Source: kubelet `mergePodStatus`.
 */
export function mergePodStatus(
  pod: Pod,
  oldPodStatus: PodStatus,
  newPodStatus: PodStatus,
  couldHaveRunningContainers: boolean,
  now: string,
): MergedPodStatus {
  const terminating = !isPodPhaseTerminal(oldPodStatus.phase) && isPodPhaseTerminal(newPodStatus.phase);
  let disruptionTarget: PodCondition | undefined;
  const conditions = (oldPodStatus.conditions ?? []).filter(({ type }) => !podConditionByKubelet(type));
  for (const condition of newPodStatus.conditions ?? []) {
    if (podConditionByKubelet(condition.type)) {
      conditions.push(condition);
    } else if (podConditionSharedByKubelet(condition.type) && terminating && !couldHaveRunningContainers) {
      disruptionTarget = refreshLastTransitionTime(oldPodStatus, condition, now);
      replaceOrAppendPodCondition(conditions, disruptionTarget);
    }
  }

  const status: Mutable<PodStatus> = { ...newPodStatus };
  for (const field of foreignStatusFields) inherit(status, oldPodStatus, field);
  if (terminating && couldHaveRunningContainers) {
    for (const field of ['phase', 'reason', 'message'] as const) inherit(status, oldPodStatus, field);
  }
  if (isPodPhaseTerminal(status.phase)) makeUnready(conditions, pod, status.phase, now);
  if (conditions.length === 0) delete status.conditions;
  else status.conditions = conditions;
  return { status, disruptionTarget };
}

function inherit(status: PodStatus, from: PodStatus, field: keyof PodStatus): void {
  if (from[field] === undefined) delete status[field];
  else Object.assign(status, { [field]: from[field] });
}

function makeUnready(conditions: PodCondition[], pod: Pod, phase: string, now: string): void {
  const isReady = conditions.some(
    ({ type, status }) => status === 'True' && (type === 'Ready' || type === 'ContainersReady'),
  );
  if (!isReady) return;
  const observedGeneration = pod.metadata?.generation ?? 0;
  for (const type of ['ContainersReady', 'Ready']) {
    const merged = conditions.find((condition) => condition.type === type);
    replaceOrAppendPodCondition(conditions, {
      type,
      ...(observedGeneration !== 0 && { observedGeneration }),
      status: 'False',
      lastProbeTime: null,
      lastTransitionTime: merged?.status === 'False' ? merged.lastTransitionTime : now,
      reason: phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed',
    });
  }
}
