import type { Difference } from './compare/compare.ts';
import type { Recording } from './recording.ts';

/** One shape on both agents. */
export interface ShapeResult {
  readonly shape: string;
  readonly result: 'same' | 'declared' | 'different' | 'failed';
  /** Watch events and Events of all its pods. */
  readonly watchEvents: { readonly kubelet: number; readonly agent: number };
  readonly events: { readonly kubelet: number; readonly agent: number };
  readonly seconds: { readonly kubelet: number; readonly agent: number };
  readonly differences: readonly Difference[];
  /** This is the result of the last try: see `needsAnotherTry`. */
  readonly tries: number;
  /** Why it could not be completed, by agent. */
  readonly errors: readonly string[];
}

export function shapeResult(
  kubelet: readonly Recording[],
  agent: Recording,
  differences: readonly Difference[],
  tries: number,
): ShapeResult {
  const first = kubelet.find(({ error }) => error === undefined) ?? kubelet[0]!;
  const errors = [
    ...(first.error === undefined ? [] : [`kubelet: ${first.error}`]),
    ...(agent.error === undefined ? [] : [`agent: ${agent.error}`]),
  ];
  const count = (lists: Readonly<Record<string, readonly unknown[]>>): number => Object.values(lists).flat().length;
  const isDeclared = differences.every(({ declared }) => declared !== undefined);
  return {
    shape: agent.shape,
    result: errors.length > 0 ? 'failed' : differences.length === 0 ? 'same' : isDeclared ? 'declared' : 'different',
    watchEvents: { kubelet: count(first.pods), agent: count(agent.pods) },
    events: { kubelet: count(first.events), agent: count(agent.events) },
    seconds: { kubelet: first.durationMs / 1000, agent: agent.durationMs / 1000 },
    differences,
    tries,
    errors,
  };
}

export function needsAnotherTry({ result, differences }: ShapeResult): boolean {
  return result === 'different' || result === 'failed' || differences.some(isByChance);
}

/**
 * Why the results cannot all be due to chance; undefined if they can. A status manager that always writes one status
 * more than the kubelet would otherwise pass, because each of its shapes has a declared difference only.
 */
export function tooManyByChance(results: readonly ShapeResult[]): string | undefined {
  const shapes = results.filter(({ differences }) => differences.some(isByChance)).map(({ shape }) => shape);
  const most = Math.ceil(results.length / 20);
  if (shapes.length <= most) return undefined;
  return `Statuses are joined in ${shapes.length} of ${results.length} shapes, also when they are tried again; chance does that in at most ${most}: ${shapes.join(', ')}`;
}

function isByChance({ declared }: Difference): boolean {
  return declared?.isByChance === true;
}
