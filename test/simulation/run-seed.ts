import type { Setting } from './setting.ts';
import { type Violation, World, type WorldOptions } from './world.ts';

/** What happened in the world of one seed. */
export interface SeedResult {
  readonly seed: string;
  /** Of the history. */
  readonly hash: string;
  readonly violations: readonly Violation[];
  readonly simulatedMs: number;
  readonly events: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly happened: readonly string[];
  readonly history: readonly string[] | undefined;
}

export async function runSeed(setting: Setting, seed: string, options: WorldOptions = {}): Promise<SeedResult> {
  const world = new World(`${setting.name} ${seed}`, options);
  // A rejection that nobody handles would end a real process.
  const onRejection = (error: unknown): void =>
    world.violate(
      'every rejection is handled',
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
  // Of listeners that are not removed, for example.
  const onWarning = (warning: Error): void => world.violate('Node.js warns of nothing', warning.message);
  process.on('unhandledRejection', onRejection);
  process.on('warning', onWarning);
  try {
    const hash = await world.run(() => setting.run(world));
    const { violations, nowMs: simulatedMs, events, counts, happened, history } = world;
    return { seed, hash, violations, simulatedMs, events, counts, happened, history };
  } finally {
    process.off('unhandledRejection', onRejection);
    process.off('warning', onWarning);
  }
}

/** Runs a seed again. @returns a violation if its history differs */
export async function checkSameHistory(
  setting: Setting,
  { seed, hash }: SeedResult,
  options: WorldOptions,
): Promise<Violation[]> {
  const again = await runSeed(setting, seed, options);
  if (again.hash === hash) return [];
  return [{ invariant: 'the same seed gives the same history', details: `${hash} and ${again.hash}`, atMs: 0 }];
}

const maxRunsToShrink = 400;

/**
 * Leaves out as much of what happened as possible, so that the first invariant is still violated: chunks of events, half as
 * large each time (delta debugging).
 */
export async function shrink(
  setting: Setting,
  failed: SeedResult,
  options: WorldOptions,
  mayGoOn: () => boolean,
): Promise<SeedResult> {
  const { invariant } = failed.violations[0]!;
  let smallest = failed;
  let runs = 0;
  for (let chunk = Math.ceil(failed.happened.length / 2); chunk >= 1 && runs < maxRunsToShrink && mayGoOn();) {
    const { length } = smallest.happened;
    for (let end = length; end > 0 && runs < maxRunsToShrink && mayGoOn(); end -= chunk) {
      const { happened } = smallest;
      const only = new Set([...happened.slice(0, Math.max(0, end - chunk)), ...happened.slice(end)]);
      runs++;
      const result = await runSeed(setting, failed.seed, { ...options, only });
      if (result.violations.some((violation) => violation.invariant === invariant)) smallest = result;
    }
    if (chunk === 1 && smallest.happened.length === length) break;
    chunk = Math.max(1, Math.floor(chunk / 2));
  }
  return smallest;
}
