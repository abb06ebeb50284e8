import type { Pod, PodStatusInput } from '../../kube/objects/types.ts';

/** The first condition of that type. Source: kubelet `GetPodConditionFromList`. */
export function getPodCondition<Condition extends { readonly type?: string | null | undefined }>(
  conditions: readonly Condition[] | null | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * Replaces the first condition of the same type, or appends `condition`. Source: kubelet
 * `ReplaceOrAppendPodCondition`.
 */
export function replaceOrAppendPodCondition<Condition extends { readonly type?: string | null | undefined }>(
  conditions: Condition[],
  condition: Condition,
): void {
  const i = conditions.findIndex(({ type }) => type === condition.type);
  if (i < 0) conditions.push(condition);
  else conditions[i] = condition;
}

/**
 * The generation that a new condition of the pod refers to: the pod's, or 0 when no earlier
 * status is known. Source: kubelet `CalculatePodConditionObservedGeneration`.
 */
export function podConditionObservedGeneration(pod: Pod, oldPodStatus: PodStatusInput | null | undefined): number {
  return oldPodStatus == null ? 0 : (pod.metadata?.generation ?? 0);
}
