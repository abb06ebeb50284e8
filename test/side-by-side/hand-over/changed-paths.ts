import { isDeclaredForEveryShape } from '../compare/declared.ts';
import { removeMasked } from '../compare/masks.ts';
import { differingPaths, type PathDifference } from '../compare/paths.ts';
import type { Json } from '../../support/kube-http.ts';
import type { HandOverPod } from './pods.ts';

/**
 * What the next agent changed: the paths below `status` at which a later status differs from the one before,
 * without what is masked or declared. IDs, addresses and times are compared: they must stay.
 */
export function changedPaths(
  { changes, changesByKubelet }: Pick<HandOverPod, 'changes' | 'changesByKubelet'>,
  to: 'agent' | 'kubelet',
  before: Json,
  after: readonly Json[],
): PathDifference[] {
  const expected = [changes, to === 'kubelet' ? changesByKubelet : undefined];
  return after
    .flatMap((pod) => differingPaths(removeMasked(before).status, removeMasked(pod).status))
    .filter(({ path }) => !isDeclaredForEveryShape(`status.${path}`))
    .filter(({ path }) => !expected.some((paths) => paths?.test(path)));
}
