import type { Difference } from './compare.ts';

/** A difference that is deliberate, or that chance decides on both sides. */
export interface Declaration {
  readonly reason: string;
  /** Default: of every shape. */
  readonly shapes?: readonly string[];
  readonly in: Difference['in'];
  readonly shownBy: Difference['shownBy'];
  /** Each path of the difference matches it. */
  readonly paths: RegExp;
}

export const declarations: readonly Declaration[] = [];

export function declarationOf(difference: Omit<Difference, 'declared'>): Declaration | undefined {
  return declarations.find(
    ({ shapes, in: where, shownBy, paths }) =>
      (shapes === undefined || shapes.includes(difference.shape)) &&
      where === difference.in &&
      shownBy === difference.shownBy &&
      difference.paths.every(({ path }) => paths.test(path)),
  );
}
