import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const bugsFolder = join(root, 'test', 'simulation', 'bugs');
/** Below dist, so that packages are found, and that the files are modules. */
const copiesFolder = join(root, 'dist', '.bugs');

/** A file in `bugs`: a patch, whose text before the first diff names the setting and says what the bug is. */
interface Bug {
  readonly name: string;
  readonly patch: string;
  readonly setting: string;
  readonly files: readonly string[];
}

/**
 * Runs the seeds with one bug after the other in a copy of the library, until one fails.
 * @param names of files in `bugs`; default all
 * @returns the exit code: 0 if all are found
 */
export async function findBugs(names: readonly string[], [first, last]: readonly [number, number]): Promise<number> {
  const all = readdirSync(bugsFolder).filter((file) => file.endsWith('.patch'));
  const chosen = all.filter((file) => names.length === 0 || names.includes(basename(file, '.patch')));
  const missing: string[] = [];
  for (const file of chosen) {
    const bug = readBug(file);
    const copy = copyWith(bug);
    const found = await findingSeed(bug, copy, first, last);
    rmSync(copy, { recursive: true });
    process.stdout.write(
      `${bug.name}: ${found === undefined ? 'not found' : `seed ${found.seed}, ${found.invariants.join('; ')}`}\n`,
    );
    if (found === undefined) missing.push(bug.name);
  }
  process.stdout.write(`${chosen.length - missing.length} of ${chosen.length} found in seeds ${first}-${last}\n`);
  return missing.length === 0 && chosen.length > 0 ? 0 : 1;
}

function readBug(file: string): Bug {
  const patch = join(bugsFolder, file);
  const text = readFileSync(patch, 'utf8');
  const [, setting] = /^Setting: (\S+)$/m.exec(text) ?? [];
  if (setting === undefined) throw new Error(`${file} does not name its setting: Setting: NAME`);
  const files = [...text.matchAll(/^\+\+\+ b\/(\S+)$/gm)].map(([, path]) => path!);
  return { name: basename(file, '.patch'), patch, setting, files };
}

/** A copy of the compiled library with the bug. Only what it changes is compiled again, without a check of types. */
function copyWith({ name, patch, files }: Bug): string {
  const copy = join(copiesFolder, name);
  const sources = mkdtempSync(join(tmpdir(), 'bug-'));
  try {
    rmSync(copy, { recursive: true, force: true });
    for (const folder of ['src', 'test']) cpSync(join(root, 'dist', folder), join(copy, folder), { recursive: true });
    for (const file of files) {
      mkdirSync(dirname(join(sources, file)), { recursive: true });
      cpSync(join(root, file), join(sources, file));
    }
    const { status, stderr } = spawnSync('git', ['apply', patch], { cwd: sources, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${name} cannot be applied any more: ${stderr}`);
    for (const file of files) {
      const { code } = transformSync(readFileSync(join(sources, file), 'utf8'), {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
        module: { type: 'es6' },
      });
      const compiled = code.replaceAll(/(from\s*['"]\.[^'"]+)\.ts(['"])/g, '$1.js$2');
      writeFileSync(join(copy, file.replace(/\.ts$/, '.js')), compiled);
    }
    return copy;
  } finally {
    rmSync(sources, { recursive: true });
  }
}

interface Failure {
  readonly seed: number;
  readonly invariants: readonly string[];
}

/** By setting and seed: what fails without a bug, which tells nothing about one. */
const withoutBug = new Map<string, readonly string[]>();

/** The first seed that fails, and would not without the bug. */
async function findingSeed(bug: Bug, copy: string, first: number, last: number): Promise<Failure | undefined> {
  for (let seed = first; seed <= last; seed++) {
    const failure = await firstFailure(bug, copy, seed, last);
    if (failure === undefined) return undefined;
    seed = failure.seed;
    const key = `${bug.setting} ${seed}`;
    if (!withoutBug.has(key)) {
      const { invariants = [] } = (await firstFailure(bug, join(root, 'dist'), seed, seed)) ?? {};
      withoutBug.set(key, invariants);
    }
    const invariants = failure.invariants.filter((invariant) => !withoutBug.get(key)!.includes(invariant));
    if (invariants.length > 0) return { seed, invariants };
  }
  return undefined;
}

async function firstFailure(
  { name, setting }: Bug,
  dist: string,
  first: number,
  last: number,
): Promise<Failure | undefined> {
  const main = join(dist, 'test', 'simulation', 'main.js');
  const options = ['--setting', setting, '--seeds', `${first}-${last}`, '--stop', '--no-shrink', '--every', '1000'];
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
