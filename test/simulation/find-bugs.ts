import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { InvalidArgumentError } from 'commander';
import { repository } from '../support/repository.ts';
import { plant, type PlantedBug, readPlantedBugs } from './planted-bug.ts';

const bugsFolder = join(repository, 'test', 'simulation', 'bugs');
/** Below dist, so that packages are found, and that the files are modules. */
const copiesFolder = join(repository, 'dist', '.bugs');

/** Where each bug was found last, by name: setting, seed, and what it violates. Written by `findBugs`. */
const tablePath = join(bugsFolder, 'found.json');

/**
 * For commander: the names of an argument, separated by commas, after those of earlier ones.
 * @throws InvalidArgumentError that names what is no bug
 */
export function readBugNames(text: string, earlier: true | readonly string[] = []): string[] {
  const known = readPlantedBugs(bugsFolder).map(({ name }) => name);
  const names = text.replace(/,$/, '').split(',');
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new InvalidArgumentError(`test/simulation/bugs has no ${unknown.map((name) => `${name}.patch`).join(', ')}.`);
  }
  return [...(earlier === true ? [] : earlier), ...names];
}

/**
 * Runs the seeds with one bug after the other in a copy of the library, until one fails, and writes `found.json`.
 * @param names of files in `bugs`; default all
 * @param size options that fix the size of the worlds
 * @returns the exit code: 0 if all are found
 */
export async function findBugs(
  names: readonly string[],
  [first, last]: readonly [number, number],
  size: readonly string[],
): Promise<number> {
  const all = readPlantedBugs(bugsFolder);
  const chosen = all.filter(({ name }) => names.length === 0 || names.includes(name));
  const missing: string[] = [];
  for (const bug of chosen) {
    const { name } = bug;
    const found = await find(bug, [first, last], size);
    process.stdout.write(`${name}: ${found ?? 'not found'}\n`);
    if (found === undefined) missing.push(name);
    const table = JSON.parse(readFileSync(tablePath, 'utf8')) as Record<string, string>;
    const rows = all.map(({ name: row }) => [row, row === name ? (found ?? 'not found') : table[row]]);
    writeFileSync(tablePath, `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`);
  }
  process.stdout.write(`${chosen.length - missing.length} of ${chosen.length} found in seeds ${first}-${last}\n`);
  return missing.length === 0 && chosen.length > 0 ? 0 : 1;
}

/**
 * Runs each bug with the seed and the size of its row in `found.json`, which stays as it is.
 * @returns the exit code: 0 if each row still holds
 */
export async function checkFoundBugs(names: readonly string[]): Promise<number> {
  const table = JSON.parse(readFileSync(tablePath, 'utf8')) as Record<string, string>;
  const chosen = readPlantedBugs(bugsFolder).filter(({ name }) => names.length === 0 || names.includes(name));
  let stale = 0;
  for (const bug of chosen) {
    const row = table[bug.name] ?? 'not found';
    const [, seed, size = ''] = /^\S+ seed (\d+)((?: --\w+ \d+)*): /.exec(row) ?? [];
    const seeds = [Number(seed), Number(seed)] as const;
    if (seed !== undefined && (await find(bug, seeds, size.split(' ').filter(Boolean))) !== undefined) continue;
    stale++;
    process.stdout.write(`${bug.name}: no longer ${row}\n`);
  }
  process.stdout.write(`${chosen.length - stale} of ${chosen.length} found by the seed of found.json\n`);
  return stale === 0 && chosen.length > 0 ? 0 : 1;
}

/** @returns the row of `found.json` */
async function find(
  bug: PlantedBug,
  seeds: readonly [number, number],
  size: readonly string[],
): Promise<string | undefined> {
  const copy = copyWith(bug);
  const failure = await findingSeed(bug, copy, seeds, size);
  rmSync(copy, { recursive: true });
  return failure && `${[bug.setting, `seed ${failure.seed}`, ...size].join(' ')}: ${failure.invariants.join('; ')}`;
}

/** A copy of the compiled library with the bug. Only what it changes is compiled again, without a check of types. */
function copyWith(bug: PlantedBug): string {
  const copy = join(copiesFolder, bug.name);
  rmSync(copy, { recursive: true, force: true });
  for (const folder of ['src', 'test'])
    cpSync(join(repository, 'dist', folder), join(copy, folder), { recursive: true });
  for (const file of bug.files) {
    const { code } = transformSync(plant(bug, file, readFileSync(join(repository, file.path), 'utf8')), {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'es6' },
    });
    const compiled = code.replaceAll(/(from\s*['"]\.[^'"]+)\.ts(['"])/g, '$1.js$2');
    writeFileSync(join(copy, file.path.replace(/\.ts$/, '.js')), compiled);
  }
  return copy;
}

interface Failure {
  readonly seed: number;
  readonly invariants: readonly string[];
}

/** By setting, seed and size: what fails without a bug, which tells nothing about one. */
const withoutBug = new Map<string, readonly string[]>();

/** The first seed that fails, and would not without the bug. */
async function findingSeed(
  bug: PlantedBug,
  copy: string,
  [first, last]: readonly [number, number],
  size: readonly string[],
): Promise<Failure | undefined> {
  for (let seed = first; seed <= last; seed++) {
    const failure = await firstFailure(bug, copy, [seed, last], size);
    if (failure === undefined) return undefined;
    seed = failure.seed;
    const key = [bug.setting, seed, ...size].join(' ');
    if (!withoutBug.has(key)) {
      const { invariants = [] } = (await firstFailure(bug, join(repository, 'dist'), [seed, seed], size)) ?? {};
      withoutBug.set(key, invariants);
    }
    const invariants = failure.invariants.filter((invariant) => !withoutBug.get(key)!.includes(invariant));
    if (invariants.length > 0) return { seed, invariants };
  }
  return undefined;
}

async function firstFailure(
  { name, setting }: PlantedBug,
  dist: string,
  [first, last]: readonly [number, number],
  size: readonly string[],
): Promise<Failure | undefined> {
  const main = join(dist, 'test', 'simulation', 'main.js');
  const options = [
    '--setting',
    setting,
    '--seeds',
    `${first}-${last}`,
    '--stop',
    '--no-shrink',
    '--every',
    '1000',
    ...size,
  ];
  const child = spawn(process.execPath, [main, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (text.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text.stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (text.stdout === '') throw new Error(`The library does not run with ${name}: exit code ${code}\n${text.stderr}`);
  const summary = JSON.parse(text.stdout) as Record<string, { failed: string[]; byInvariant: object }>;
  const { failed, byInvariant } = summary[setting]!;
  return failed.length === 0 ? undefined : { seed: Number(failed[0]), invariants: Object.keys(byInvariant) };
}
