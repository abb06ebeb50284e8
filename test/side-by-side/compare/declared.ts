import type { Json } from '../../support/kube-http.ts';
import type { Difference } from './compare.ts';
import { differingPaths } from './paths.ts';

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
  /** Further conditions on the agent's step. */
  readonly agent?: (step: Json) => boolean;
}

const coalesced: Declaration = {
  reason: 'Of two statuses in quick succession, the status manager may write only the second.',
  in: 'statuses',
};

export const declarations: readonly Declaration[] = [
  {
    reason:
      'The kubelet reads the resources of a pod from its cgroup, the agent takes them from the spec (docs/parity.md).',
    in: 'statuses',
    paths: /^status\.resources\b/,
  },
  {
    reason: 'Addresses stay when the sandbox has been removed (docs/parity.md).',
    in: 'statuses',
    paths: /^status\.podIPs?\b/,
  },
  {
    reason:
      'The kubelet drops the status of a static pod that no source has; the agent shows how it ended (docs/parity.md).',
    shapes: /^static-pod/,
    in: 'statuses',
    agent: ({ status }) => status?.containerStatuses?.[0]?.state.terminated !== undefined,
  },
  {
    reason: 'A mirror pod is made while the pod starts, so it may be there before the sandbox is (docs/parity.md).',
    shapes: /^static-pod/,
    in: 'statuses',
    shownBy: 'agent',
    agent: ({ status }) => status?.conditions?.[0]?.message === 'no pod sandbox exists',
  },
  {
    reason: 'The agent may have begun to make the sandbox when the DELETE arrives.',
    shapes: /^deleted-immediately$/,
    in: 'statuses',
    shownBy: 'agent',
  },
  {
    reason: 'The runtime decides whether a memory limit is below the usage (docs/parity.md).',
    shapes: /^resize-below-usage$/,
    in: 'statuses',
    paths: /^status\.conditions\[PodResizeInProgress\]\.message$/,
  },
  {
    reason: 'The runtime decides whether a memory limit is below the usage (docs/parity.md).',
    shapes: /^resize-below-usage$/,
    in: 'events',
    shownBy: 'both',
    paths: /^message$/,
  },
];

export interface StepContext {
  /** As the side has it that shows it; the agent's, if both do. */
  readonly step: Json;
  /** The agent's step; undefined if only the kubelet shows one. */
  readonly agent: Json;
  /** The steps before and after it on the same side. */
  readonly between: readonly [Json, Json];
}

/** Why a difference is no defect; undefined if one of its paths is not declared. */
export function declarationOf(
  difference: Omit<Difference, 'declared'>,
  { step, agent, between }: StepContext,
): Declaration | undefined {
  const { shape, in: where, shownBy, paths } = difference;
  const matching = declarations.filter(
    (declaration) =>
      declaration.shapes?.test(shape) !== false &&
      declaration.in === where &&
      declaration.agent?.(agent ?? {}) !== false &&
      (declaration.shownBy === undefined || declaration.shownBy === shownBy),
  );
  const first = matching.find((declaration) => paths.some(({ path }) => covers(declaration, path)));
  if (first !== undefined && paths.every(({ path }) => matching.some((one) => covers(one, path)))) return first;
  return where === 'statuses' && shownBy !== 'both' && isOnTheWay(step, between) ? coalesced : undefined;
}

/** True for a path that may differ in the statuses of every shape. */
export function isDeclaredForEveryShape(path: string): boolean {
  return declarations.some(
    ({ shapes, in: where, shownBy, agent, paths }) =>
      where === 'statuses' && (shapes ?? shownBy ?? agent) === undefined && paths?.test(path) === true,
  );
}

function covers({ paths }: Declaration, path: string): boolean {
  return paths === undefined || paths.test(path);
}

/** True if each member of a step has the value of the step before or of the step after it. */
function isOnTheWay(step: Json, [before, after]: readonly [Json, Json]): boolean {
  if (before === undefined || after === undefined) return false;
  const fromBefore = new Set(differingPaths(before, step).map(({ path }) => path));
  return differingPaths(step, after).every(({ path }) => !fromBefore.has(path));
}
