import groupBy from 'lodash/groupBy.js';
import type { SpecResult } from './ginkgo-report.ts';
import type { Spec } from './spec-list.ts';

/** What one spec of the list did here. */
export interface Outcome extends Spec {
  /** `excused`: failed, and the list says why it cannot pass. `missing`: no such spec in the e2e tests. */
  readonly outcome: 'passed' | 'failed' | 'excused' | 'missing';
  readonly seconds: number;
  readonly message?: string;
}

/** Compares what ran with what had to pass. */
export function compare(
  specs: readonly Spec[],
  results: readonly SpecResult[],
  reasons: Readonly<Record<string, string>>,
): Outcome[] {
  const resultOf = new Map(results.map((result) => [result.name, result]));
  return specs.map(({ group, name }): Outcome => {
    const result = resultOf.get(name);
    if (result === undefined) return { group, name, outcome: 'missing', seconds: 0, message: 'It did not run' };
    const { seconds, state, message } = result;
    if (state === 'passed') return { group, name, outcome: 'passed', seconds };
    const reason = reasons[name];
    if (reason !== undefined) return { group, name, outcome: 'excused', seconds, message: reason };
    return { group, name, outcome: 'failed', seconds, message: `${state}: ${message ?? 'no message'}` };
  });
}

/** Whether the run is as good as the kubelet's, except for what the list excuses. */
export function isConformant(outcomes: readonly Outcome[]): boolean {
  return outcomes.length > 0 && outcomes.every(({ outcome }) => outcome === 'passed' || outcome === 'excused');
}

/** The cells of the table of a run, the header first and the sums last; numbers are strings. */
export function tableOf(outcomes: readonly Outcome[]): string[][] {
  const row = (title: string, group: readonly Outcome[]): string[] => {
    const count = (...kinds: Outcome['outcome'][]): string =>
      String(group.filter(({ outcome }) => kinds.includes(outcome)).length);
    const longest = Math.max(0, ...group.map(({ seconds }) => seconds));
    return [title, String(group.length), count('passed'), count('failed', 'missing'), count('excused'), `${longest} s`];
  };
  return [
    ['Group', 'kubelet', 'passed', 'failed', 'excused', 'longest'],
    ...Object.entries(groupBy(outcomes, 'group')).map(([title, group]) => row(title, group)),
    row('all', outcomes),
  ];
}
