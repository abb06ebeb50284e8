import type { Json } from '../../support/kube-http.ts';
import type { Difference } from './compare.ts';
import { differingPaths, type PathDifference } from './paths.ts';

/** A difference that is deliberate, or that chance decides on both sides. */
export interface Declaration {
  readonly reason: string;
  /** Default: of every shape. */
  readonly shapes?: RegExp;
  readonly in: Difference['in'];
  /** Default: any. */
  readonly shownBy?: Difference['shownBy'];
  /** Default: every path. */
  readonly paths?: RegExp;
  /** Only fields that the kubelet does not show. */
  readonly absentInKubelet?: boolean;
  /** Further conditions on the step; on the agent's, if both show it. */
  readonly step?: (step: Json) => boolean;
  /** Any shape may show it, but only few of them do: see `tooManyByChance`. */
  readonly isByChance?: boolean;
}

const coalesced: Declaration = {
  reason: 'Of two statuses in quick succession, the status manager may write only the second.',
  in: 'statuses',
  isByChance: true,
};

export const declarations: readonly Declaration[] = [
  {
    reason:
      'Housekeeping in the kubelet removes the cgroup of a pod that has ended, by chance before its last status is generated (kubelet: cleanupOrphanedPodCgroups).',
    in: 'statuses',
    paths: /^status\.resources\.(limits|requests)\.(cpu|memory)$/,
    absentInKubelet: true,
    step: ({ status }) => ['Succeeded', 'Failed'].includes(status?.phase),
  },
  {
    reason:
      'Housekeeping in the kubelet drops the status of a static pod that no source has, also while its worker ends it; the agent shows how it ended (kubelet: removeOrphanedPodStatuses; docs/parity.md).',
    shapes: /^static-pod(-changed)?$/,
    in: 'statuses',
    step: ({ status }) => status?.containerStatuses?.[0]?.state.terminated !== undefined,
  },
  {
    reason:
      'The statuses of a static pod are written once its mirror pod is known, which is made while the pod starts (kubelet: tryReconcileMirrorPods, syncBatch; docs/parity.md).',
    shapes: /^static-pod/,
    in: 'statuses',
    step: ({ status }) => status?.phase === 'Pending',
  },
];

export interface StepContext {
  /** As the side has it that shows it; the agent's, if both do. */
  readonly step: Json;
  /** The steps before and after it on the same side. */
  readonly between: readonly [Json, Json];
}

/** Why a difference is no defect; undefined if one of its paths is not declared. */
export function declarationOf(
  difference: Omit<Difference, 'declared'>,
  { step, between }: StepContext,
): Declaration | undefined {
  const { shape, in: where, shownBy, paths } = difference;
  const matching = declarations.filter(
    (declaration) =>
      declaration.shapes?.test(shape) !== false &&
      declaration.in === where &&
      declaration.step?.(step) !== false &&
      (declaration.shownBy === undefined || declaration.shownBy === shownBy),
  );
  const first = matching.find((declaration) => paths.some((path) => covers(declaration, path)));
  if (first !== undefined && paths.every((path) => matching.some((one) => covers(one, path)))) return first;
  return where === 'statuses' && shownBy !== 'both' && isOnTheWay(step, between) ? coalesced : undefined;
}

/** True for a path that may differ in the statuses of every shape. */
export function isDeclaredForEveryShape(path: string): boolean {
  return declarations.some(
    ({ shapes, in: where, shownBy, paths }) =>
      where === 'statuses' && (shapes ?? shownBy) === undefined && paths?.test(path) === true,
  );
}

function covers({ paths, absentInKubelet }: Declaration, { path, kubelet }: PathDifference): boolean {
  if (absentInKubelet === true && kubelet !== undefined) return false;
  return paths === undefined || paths.test(path);
}

/** True if each field of a step has the value of the step before or of the step after it. */
function isOnTheWay(step: Json, [before, after]: readonly [Json, Json]): boolean {
  if (before === undefined || after === undefined) return false;
  const fromBefore = new Set(differingPaths(before, step).map(({ path }) => path));
  return differingPaths(step, after).every(({ path }) => !fromBefore.has(path));
}
