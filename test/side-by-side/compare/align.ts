import type { Json } from '../../support/kube-http.ts';
import { differingPaths } from './paths.ts';
import { isSame } from './steps.ts';

/** The places of an alignment of two sequences; one of the indexes is undefined where only one side has a step. */
export interface AlignedPair {
  readonly kubelet: number | undefined;
  readonly agent: number | undefined;
}

/** Pairs the steps of two sequences such that as few paths as possible differ. */
export function align(kubelet: readonly Json[], agent: readonly Json[]): AlignedPair[] {
  const [rows, columns] = [kubelet.length, agent.length];
  const cost = Array.from({ length: rows + 1 }, () => Array.from<number>({ length: columns + 1 }).fill(0));
  // A pair that differs costs less than two steps that only one side shows.
  const pairCost = (row: number, column: number): number =>
    isSame(kubelet[row], agent[column])
      ? 0
      : Math.min(1.9, 1 + differingPaths(kubelet[row], agent[column]).length / 10);
  const costs = kubelet.map((_, row) => agent.map((_, column) => pairCost(row, column)));
  for (let row = rows; row >= 0; row--) {
    for (let column = columns; column >= 0; column--) {
      if (row === rows && column === columns) continue;
      cost[row]![column] = Math.min(
        row < rows ? cost[row + 1]![column]! + 1 : Infinity,
        column < columns ? cost[row]![column + 1]! + 1 : Infinity,
        row < rows && column < columns ? cost[row + 1]![column + 1]! + costs[row]![column]! : Infinity,
      );
    }
  }
  const pairs: AlignedPair[] = [];
  for (let row = 0, column = 0; row < rows || column < columns;) {
    const here = cost[row]![column]!;
    if (row < rows && column < columns && here === cost[row + 1]![column + 1]! + costs[row]![column]!) {
      pairs.push({ kubelet: row++, agent: column++ });
    } else if (row < rows && here === cost[row + 1]![column]! + 1) {
      pairs.push({ kubelet: row++, agent: undefined });
    } else {
      pairs.push({ kubelet: undefined, agent: column++ });
    }
  }
  return pairs;
}
