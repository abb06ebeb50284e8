import { styleText } from 'node:util';
import type { RunResult } from './run.ts';

const shownViolations = 20;

/** Prints one line for people, and one line of JSON if stdout is not a terminal. Violations go to stderr. Returns their number. */
export function printResults(agent: string, seed: string, forMs: number, results: readonly RunResult[]): number {
  const violations = results.flatMap(({ server, violations }) =>
    violations.map((violation) => ({ server, ...violation })),
  );
  for (const { server, invariant, details } of violations.slice(0, shownViolations)) {
    const title = process.stderr.isTTY ? styleText('red', invariant) : invariant;
    process.stderr.write(`violation on ${server}: ${title}: ${details}\n`);
  }
  const sum = (read: (result: RunResult) => number): number =>
    results.reduce((total, result) => total + read(result), 0);
  const faults = total(results.map(({ faults }) => faults));
  const settled = results.map(({ settledAfterMs }) => settledAfterMs);
  const parts = [
    `${agent}, seed ${seed}`,
    `${results.map(({ server }) => server).join(' and ')} for ${forMs / 1000} s`,
    `${sum(({ calls }) => calls)} calls`,
    `${sum(({ faults }) => count(faults))} faults (${describe(faults)})`,
    `${sum(({ pods }) => pods)} pods`,
    ...Object.entries(total(results.map(({ counts }) => counts))).map(([what, times]) => `${times} ${what}`),
    `${sum(({ agents }) => agents.started)} agents (${sum(({ agents }) => agents.killed)} killed)`,
    settled.includes(undefined)
      ? 'not settled'
      : `settled after ${settled.map((ms) => `${((ms ?? 0) / 1000).toFixed(1)} s`).join(' and ')}`,
    `${violations.length} violations`,
  ];
  process.stdout.write(`${parts.join(', ')}\n`);
  if (!process.stdout.isTTY) {
    process.stdout.write(`${JSON.stringify({ agent, seed, forMs, violations: violations.length, runs: results })}\n`);
  }
  return violations.length;
}

function total(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [kind, count] of counts.flatMap(Object.entries)) sums[kind] = (sums[kind] ?? 0) + count;
  return sums;
}

function count(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0);
}

function describe(counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return entries.map(([kind, times]) => `${kind} ×${times}`).join(', ');
}
