import type { Pod, PodStatusInput } from '../../kube/types.ts';
import { timeFromEpochMs } from '../../shared/time.ts';

/** Adds a DisruptionTarget condition with the kubelet's reason. Source: `podutil.UpdatePodCondition`. */
export function withDisruptionTarget(
  status: PodStatusInput,
  { metadata }: Pod,
  message: string,
  nowMs: number,
): PodStatusInput {
  const conditions = status.conditions ?? [];
  const earlier = conditions.find(({ type }) => type === 'DisruptionTarget');
  const now = timeFromEpochMs(nowMs);
  const condition = {
    type: 'DisruptionTarget',
    ...(metadata?.generation && { observedGeneration: metadata.generation }),
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: earlier?.status === 'True' ? (earlier.lastTransitionTime ?? now) : now,
    reason: 'TerminationByKubelet',
    message,
  };
  return { ...status, conditions: [...conditions.filter((other) => other !== earlier), condition] };
}
