import type { Pod } from '../../kube/objects/types.ts';
import type { Taint } from './node-types.ts';

/** Source: `v1.Toleration`. */
interface Toleration {
  readonly key?: string | undefined;
  readonly operator?: string | undefined;
  readonly value?: string | undefined;
  readonly effect?: string | undefined;
}

/** Source: component-helpers `FindMatchingUntoleratedTaint`. */
export function toleratesTaints({ spec }: Pod, taints: readonly Taint[]): boolean {
  const { tolerations = [] } = (spec ?? {}) as { readonly tolerations?: readonly Toleration[] };
  return taints.every((taint) => tolerations.some((toleration) => toleratesTaint(toleration, taint)));
}

/** Source: `v1.Toleration.ToleratesTaint`. */
function toleratesTaint({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  return operator === 'Exists' || ((!operator || operator === 'Equal') && (value ?? '') === (taint.value ?? ''));
}
