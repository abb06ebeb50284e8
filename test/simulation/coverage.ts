import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from '@swc/core';

const dist = fileURLToPath(new URL('../../', import.meta.url));
const main = fileURLToPath(new URL('main.js', import.meta.url));

/** What runs if nothing else is asked for: small worlds. */
const plan: readonly string[] = [
  '--setting manager --seeds 1-90 --pods 3 --seconds 30',
  '--setting agent --seeds 1-20 --pods 3 --seconds 30',
  '--setting cri --seeds 1-20 --pods 3 --seconds 30',
  '--setting virtual-nodes --seeds 1-80 --pods 3 --seconds 60',
];
/** Each seed of the plan runs once. */
const planOptions: readonly string[] = ['--every', '1000', '--no-shrink'];

/** What the simulation must reach, and where it is. A file counts for the first area that it is in. */
const areas: Readonly<Record<string, readonly string[]>> = {
  sync: ['src/status-manager/sync'],
  cache: ['src/status-manager/cache'],
  journal: ['src/status-manager/journal'],
  informer: ['src/kube/informer'],
  'pod workers': ['src/node/pod-workers', 'src/agent/pod-syncer'],
  volumes: ['src/agent/volumes', 'src/node/volumes'],
  'image pulls': ['src/agent/image-pulls'],
  cri: ['src/cri'],
  replicas: ['src/virtual-nodes/replicas'],
  'virtual nodes': ['src/virtual-nodes'],
};

/** What a port is on a real machine: sockets, processes, the kernel's own files. A simulation is in its place. */
const ofRealMachines = new Set(
  [
    'cri/cri-client',
    'cri/cri-host',
    'cri/message-codec',
    'cri/cgroup-files',
    'cri/run-command',
    'cri/machine-resources',
    'cri/huge-pages',
    'cri/id-range',
  ].map((file) => join(dist, 'src', `${file}.js`)),
);

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}
interface Script {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

interface FileCoverage {
  readonly file: string;
  readonly statements: number;
  readonly covered: number;
  /** Of statements that have not run, in the compiled file. */
  readonly missedLines: readonly number[];
}

/**
 * Runs the simulation in processes of its own, and prints which share of the statements of each area have run in any of them.
 * @param args of the simulation; none: the plan
 * @returns the exit code: 0 if no seed has failed
 */
export async function runWithCoverage(args: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'simulation-coverage-'));
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: folder };
    let code = 0;
    for (const each of args.length > 0 ? [args] : plan.map((line) => [...line.split(' '), ...planOptions])) {
      const child = spawn(process.execPath, [main, ...each], { stdio: 'inherit', env });
      const [exitCode] = (await once(child, 'close')) as [number | null];
      code = Math.max(code, exitCode ?? 2);
    }
    const scripts = readdirSync(folder).flatMap((name) => {
      return (JSON.parse(readFileSync(join(folder, name), 'utf8')) as { readonly result: readonly Script[] }).result;
    });
    print(coverageOf(scripts));
    return code;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function coverageOf(scripts: readonly Script[]): Map<string, FileCoverage[]> {
  const byArea = new Map<string, FileCoverage[]>(Object.keys(areas).map((area) => [area, []]));
  const seen = new Set<string>();
  const pathsIn = (folder: string): string[] =>
    readdirSync(join(dist, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(dist, folder, path));
  for (const [area, folders] of Object.entries(areas)) {
    for (const file of folders.flatMap(pathsIn)) {
      if (!file.endsWith('.js') || seen.has(file) || ofRealMachines.has(file)) continue;
      seen.add(file);
      const runs = scripts.filter(({ url }) => url === `file://${file}`);
      const covered = fileCoverage(file, runs);
      if (covered.statements > 0) byArea.get(area)!.push(covered);
    }
  }
  return byArea;
}

function fileCoverage(file: string, runs: readonly Script[]): FileCoverage {
  const code = readFileSync(file, 'utf8');
  const offsets = statementsOf(code);
  const ranges = runs.map(({ functions }) => functions.flatMap((one) => one.ranges));
  const missed = offsets.filter((offset) => !ranges.some((ofRun) => countAt(ofRun, offset) > 0));
  return {
    file: relative(dist, file).replace(/\.js$/, '.ts'),
    statements: offsets.length,
    covered: offsets.length - missed.length,
    missedLines: [...new Set(missed.map((offset) => code.slice(0, offset).split('\n').length))],
  };
}

/** How often the code at the offset has run: the innermost range says it. */
function countAt(ranges: readonly Range[], offset: number): number {
  let innermost: Range | undefined;
  for (const range of ranges) {
    if (range.startOffset > offset || range.endOffset <= offset) continue;
    const length = range.endOffset - range.startOffset;
    if (innermost === undefined || length <= innermost.endOffset - innermost.startOffset) innermost = range;
  }
  return innermost?.count ?? 0;
}

/** Where the statements begin, and the expressions that functions return. */
function statementsOf(code: string): number[] {
  // The parser counts bytes, and from where it ended the last time: an empty statement says from where.
  const { body } = parseSync(`;${code}`, { syntax: 'ecmascript', target: 'es2022' });
  const base = body[0]!.span.start + 1;
  const bytes: number[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const start = startOfStatement(value);
    if (start !== undefined) bytes.push(start - base);
    Object.values(value).forEach(visit);
  };
  visit(body.slice(1));
  const text = Buffer.from(code);
  return bytes.map((offset) => text.subarray(0, offset).toString().length);
}

interface Node {
  readonly type?: string;
  readonly span?: { readonly start: number };
  readonly init?: Node | null;
  readonly value?: Node | null;
  readonly body?: Node;
}

const simpleStatements = /^(?!Block|Empty).*Statement$/;

function startOfStatement({ type = '', span, init, value, body }: Node): number | undefined {
  if (simpleStatements.test(type)) return span!.start;
  if (type === 'VariableDeclarator' && init) return span!.start;
  if ((type === 'ClassProperty' || type === 'PrivateProperty') && value) return span!.start;
  if (type === 'ArrowFunctionExpression' && body?.type !== 'BlockStatement') return body?.span?.start;
  return undefined;
}

function print(byArea: ReadonlyMap<string, readonly FileCoverage[]>): void {
  const rows = [...byArea].map(([area, files]) => {
    const statements = sum(files.map((file) => file.statements));
    const covered = sum(files.map((file) => file.covered));
    return { area, statements, covered, percent: Math.round((1000 * covered) / statements) / 10, files };
  });
  if (!process.stdout.isTTY) {
    process.stdout.write(`${JSON.stringify({ coverage: rows })}\n`);
    return;
  }
  for (const { area, statements, covered, percent } of rows)
    process.stdout.write(`${area.padEnd(12)} ${percent.toFixed(1).padStart(5)} %  ${covered} of ${statements}\n`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
