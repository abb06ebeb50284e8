import '../support/ignore-closed-output.ts';
import { Command, InvalidArgumentError, Option } from 'commander';
import { runWithCoverage } from './coverage.ts';
import { checkFoundBugs, findBugs, readBugNames } from './find-bugs.ts';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import { checkSameHistory, runSeed, type SeedResult, shrink } from './run-seed.ts';
import type { Setting } from './setting.ts';
import { settings } from './settings.ts';
import type { WorldOptions, WorldSize } from './world.ts';

interface Options {
  readonly seeds?: readonly [first: number, last: number];
  readonly minutes?: number;
  readonly setting: readonly string[];
  readonly every: number;
  readonly pods?: number;
  readonly seconds?: number;
  readonly only?: ReadonlySet<string>;
  readonly stop: boolean;
  readonly trace: boolean;
  readonly shrink: boolean;
  readonly bugs?: true | readonly string[];
  readonly again: boolean;
  readonly coverage: boolean;
}

const maxSeed = 0xffff_ffff;
/** How long a failing seed is made smaller. */
const shrinkMs = 60_000;
const maxShrunk = 3;
const maxShownViolations = 5;
const maxShownCharacters = 1_000;

const program = new Command('npm run simulate --')
  .description(
    'Runs simulated worlds, in which one seed decides everything: no socket, no file, no real time. Checks guarantees at each step.',
  )
  .option('--seeds <first-last>', 'which seeds to run, for example 1-100 or 17; default: 100 random ones', readSeeds)
  .option('--minutes <n>', 'end each setting after this time, at the latest', readPositive)
  .addOption(
    new Option('--setting <names...>', 'what is simulated').choices([...settings.keys()]).default([...settings.keys()]),
  )
  .option('--every <n>', 'run each n-th seed twice, to check that its history is the same', readPositive, 10)
  .option('--pods <n>', 'pods at a time; default: as the seed says', readPositive)
  .option('--seconds <n>', 'simulated time with users and faults; default: as the seed says', readPositive)
  .option(
    '--only <events>',
    'of what need not happen only this, as a failing world that was made smaller says',
    readOnly,
  )
  .option('--stop', 'end at the first seed that fails', false)
  .option('--trace', 'print all that happens', false)
  .option('--no-shrink', 'do not make failing seeds smaller')
  .option(
    '--coverage',
    'say which share of the statements of each area have run; alone, it runs some seeds of all settings',
    false,
  )
  .option(
    '--bugs [names...]',
    'with bugs put into the library, tell which seed finds each: those of test/simulation/bugs; names are separated by spaces or commas',
    readBugNames,
  )
  .option('--again', 'with --bugs, run only the seed that found each last, and say which no longer does', false)
  .addHelpText('after', '\nExit code: 0 no violations, 1 some violations or a bug that is not found, 2 wrong usage.')
  .exitOverride(exitAfterUsage);

/** What all seeds of a setting did. */
class Summary {
  readonly counts: Record<string, number> = {};
  readonly byInvariant: Record<string, number> = {};
  readonly failed: string[] = [];
  readonly startedAtMs = performance.now();
  readonly #cpu = process.cpuUsage();
  seeds = 0;
  simulatedMs = 0;
  events = 0;

  add({ seed, simulatedMs, events, counts, violations }: SeedResult): void {
    this.seeds++;
    this.simulatedMs += simulatedMs;
    this.events += events;
    for (const [what, count] of Object.entries(counts)) this.counts[what] = (this.counts[what] ?? 0) + count;
    if (violations.length > 0) this.failed.push(seed);
    for (const invariant of new Set(violations.map((violation) => violation.invariant))) {
      this.byInvariant[invariant] = (this.byInvariant[invariant] ?? 0) + 1;
    }
  }

  get figures(): object {
    const { user, system } = process.cpuUsage(this.#cpu);
    const cpuMinutes = (user + system) / 60e6;
    return {
      seeds: this.seeds,
      failed: this.failed,
      byInvariant: this.byInvariant,
      cpuSeconds: Math.round(cpuMinutes * 60),
      seedsPerCoreMinute: Math.round(this.seeds / cpuMinutes),
      simulatedMinutesPerCoreMinute: Math.round(this.simulatedMs / 60_000 / cpuMinutes),
      eventsPerCoreSecond: Math.round(this.events / cpuMinutes / 60),
      counts: Object.fromEntries(Object.entries(this.counts).sort(([a], [b]) => (a < b ? -1 : 1))),
    };
  }
}

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  if (options.bugs !== undefined) {
    const names = options.bugs === true ? [] : options.bugs;
    return options.again ? checkFoundBugs(names) : findBugs(names, options.seeds ?? [1, 300], sizeOptions(options));
  }
  if (options.coverage) return runWithCoverage(process.argv.slice(2).filter((argument) => argument !== '--coverage'));
  const seeds = options.seeds ?? randomSeeds();
  const summaries: Record<string, object> = {};
  let failed = 0;
  for (const name of options.setting) {
    const summary = await simulate(settings.get(name)!, { ...options, seeds });
    summaries[name] = summary.figures;
    failed += summary.failed.length;
  }
  process.stdout.write(`${JSON.stringify(summaries, null, process.stdout.isTTY ? 2 : 0)}\n`);
  return failed === 0 ? 0 : 1;
}

async function simulate(
  setting: Setting,
  options: Options & { readonly seeds: readonly [number, number] },
): Promise<Summary> {
  const [first, last] = options.seeds;
  const size: Partial<WorldSize> = {
    ...(options.pods !== undefined && { pods: options.pods }),
    ...(options.seconds !== undefined && { forMs: options.seconds * 1_000 }),
  };
  const world: WorldOptions = { size, only: options.only };
  const summary = new Summary();
  const endMs = summary.startedAtMs + (options.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  for (let seed = first; seed <= last && performance.now() < endMs; seed++) {
    showProgress(setting, seed - first, last - first + 1, summary);
    const result = await runSeed(setting, String(seed), { ...world, trace: options.trace });
    clearProgress();
    for (const line of result.history ?? []) process.stdout.write(`${line}\n`);
    const again = (seed - first + 1) % options.every === 0 ? await checkSameHistory(setting, result, world) : [];
    const checked = { ...result, violations: [...result.violations, ...again] };
    summary.add(checked);
    if (checked.violations.length === 0) continue;
    const command = commandOf(setting, checked, options);
    process.stderr.write(`${command}\n${textOf(checked)}`);
    if (options.shrink && result.violations.length > 0 && summary.failed.length <= maxShrunk) {
      const untilMs = performance.now() + shrinkMs;
      const smallest = await shrink(setting, result, world, () => performance.now() < untilMs);
      const { length } = result.happened;
      process.stderr.write(`with ${smallest.happened.length} of the ${length} events that need not happen:\n`);
      process.stderr.write(`${command} --only '${smallest.happened.join(',')}'\n${textOf(smallest)}`);
    }
    if (options.stop) break;
  }
  return summary;
}

function commandOf(setting: Setting, { seed }: SeedResult, options: Options): string {
  const size = sizeOptions(options);
  return ['npm run simulate --', `--setting ${setting.name}`, `--seeds ${seed}`, ...size, '--trace'].join(' ');
}

function sizeOptions({ pods, seconds }: Pick<Options, 'pods' | 'seconds'>): string[] {
  return [
    ...(pods === undefined ? [] : ['--pods', String(pods)]),
    ...(seconds === undefined ? [] : ['--seconds', String(seconds)]),
  ];
}

function textOf({ violations }: SeedResult): string {
  const lines = violations.slice(0, maxShownViolations).map(({ invariant, details, atMs }) => {
    return `  ${(atMs / 1_000).toFixed(1)} s ${invariant}: ${details.slice(0, maxShownCharacters)}\n`;
  });
  return lines.join('');
}

function showProgress({ name }: Setting, done: number, all: number, { failed }: Summary): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${name}: ${done} of ${all} seeds, ${failed.length} failed\u001B[K`);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001B[K');
}

function randomSeeds(): [number, number] {
  const first = Math.floor(Math.random() * (maxSeed - 1_000));
  return [first, first + 99];
}

function readSeeds(text: string): [number, number] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const seeds: [number, number] = [Number(first), Number(last)];
  if (!(seeds[0] <= seeds[1] && seeds[1] <= maxSeed))
    throw new InvalidArgumentError('Expected seeds such as 1-100 or 17.');
  return seeds;
}

function readOnly(text: string): ReadonlySet<string> {
  return new Set(text.split(','));
}

function readPositive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < 1e6)) throw new InvalidArgumentError('Expected a positive number.');
  return value;
}

process.exitCode = await main();
