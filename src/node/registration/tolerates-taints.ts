import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { Taint } from './node-types.ts';

/** Source: component-helpers `FindMatchingUntoleratedTaint`. */
export function toleratesTaints(pod: Pod, taints: readonly Taint[]): boolean {
  const { tolerations = [] } = podSpecOf(pod);
  return taints.every((taint) => tolerations.some((toleration) => toleratesTaint(toleration, taint)));
}

/** Source: `v1.Toleration.ToleratesTaint`. */
function toleratesTaint({ key, operator, value, effect }: KubeObject<'Toleration'>, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  return operator === 'Exists' || ((!operator || operator === 'Equal') && (value ?? '') === (taint.value ?? ''));
}
