import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ControlPlane, startControlPlane } from '../../test/support/control-plane.ts';
import { KubeHTTP } from '../../test/support/kube-http.ts';
import { type Child, jsonLinesOf, startChild } from '../children.ts';
import type { Target, Figure, Report } from '../report.ts';
import type { Round } from './round.ts';

export interface APIOptions {
  readonly pods: number;
  readonly passes: number;
  readonly oracle: string | undefined;
  readonly progress: (text: string) => void;
}

const worker = fileURLToPath(new URL('worker.js', import.meta.url));

/** Rounds of a contestant on Node.js before it is measured, in which it opens its connections and V8 compiles it. */
const warmUpRounds = 4;
/** Measured rounds, in which the contestants take turns. */
const measuredRounds = 6;

/** In the order of the table. Each runs in its own process. */
const contestants = {
  raw: 'raw undici PATCH loop',
  'core-v1': 'CoreV1Api 1.4, defaults',
  http: 'createPodClient, defaults',
  'http-when-stale': 'createPodClient, when-stale',
  kubelet: 'kubelet (Go)',
  vk: 'virtual-kubelet, limits lifted',
} as const;
type Name = keyof typeof contestants;

/** The contestants that the oracle runs, with its subcommands. */
const subcommands: Partial<Record<Name, string>> = { kubelet: 'bench-api', vk: 'bench-vk' };
const onNode = (Object.keys(contestants) as Name[]).filter((name) => subcommands[name] === undefined);

interface Results {
  /** The version of the kube-apiserver. */
  readonly version: string;
  readonly rounds: Readonly<Record<Name, Round[]>>;
}

/** Runs all contestants in turns against one kube-apiserver. */
export async function benchAPI({ pods, passes, oracle, progress }: APIOptions): Promise<Report> {
  const { version, rounds } = await runAll({ pods, passes, oracle, progress });
  return {
    title: `Updates on a real kube-apiserver, ${pods.toLocaleString('en-US')} pods of two containers`,
    notes: [
      `Each contestant runs in its own process, and only one of them works at a time, all against the same kube-apiserver (${version}). A round is one update of every pod, and the numbers are medians of all rounds. The following is done ${passes} times, each time in new processes: the Go programs run for three rounds each, then the contestants on Node.js take turns for ${measuredRounds} rounds. Before that, the latter update every pod ${warmUpRounds} times to open their connections and to let V8 compile them, because an agent runs for weeks. The first of those rounds has its own rows.`,
      'CPU is the user and system time of the contestant alone. The raw loop sends the same patches over 8 connections without any logic; the kubelet works serially, as it does on a node; virtual-kubelet (v1.13) PUTs the complete pod, with 10 workers.',
    ],
    figures: figuresOf(rounds),
  };
}

async function runAll({ pods, passes, oracle, progress }: APIOptions): Promise<Results> {
  const rounds: Record<Name, Round[]> = {
    raw: [],
    'core-v1': [],
    http: [],
    'http-when-stale': [],
    kubelet: [],
    vk: [],
  };
  const controlPlane = await startControlPlane();
  try {
    const version = await prepare(controlPlane);
    const kubeConfig = path.join(controlPlane.dir, 'kubeconfig');
    writeFileSync(kubeConfig, JSON.stringify(controlPlane.kubeConfig('admin')), { mode: 0o600 });
    const setting = { pods: String(pods), env: { KUBECONFIG: kubeConfig }, rounds };
    for (let pass = 0; pass < passes; pass++) {
      const log = (what: string): void => progress(`api: pass ${pass + 1} of ${passes}, ${what}`);
      // First, because they would also see the pods of the others.
      if (oracle !== undefined) await runGo(oracle, setting, log);
      await runOnNode(pass, setting, log);
    }
    return { version, rounds };
  } finally {
    await controlPlane.stop();
  }
}

interface Setting {
  /** The number of pods, as a command-line argument. */
  readonly pods: string;
  readonly env: NodeJS.ProcessEnv;
  /** The results are added here. */
  readonly rounds: Results['rounds'];
}

async function runGo(oracle: string, { pods, env, rounds }: Setting, log: (what: string) => void): Promise<void> {
  for (const [name, subcommand] of Object.entries(subcommands) as [Name, string][]) {
    log(contestants[name]);
    rounds[name].push(...(await jsonLinesOf<Round>(oracle, [subcommand, pods], env)));
  }
}

/** Warms up all contestants before the first one is measured. Then they take turns. */
async function runOnNode(pass: number, { pods, env, rounds }: Setting, log: (what: string) => void): Promise<void> {
  const children = new Map<Name, Child<'update', Round>>();
  const update = async (name: Name): Promise<void> => void rounds[name].push(await children.get(name)!.ask('update'));
  for (const name of onNode) {
    log(`${contestants[name]}: warming up`);
    children.set(name, await startChild(worker, [name, pods], env));
    for (let round = 0; round < warmUpRounds; round++) await update(name);
  }
  for (let round = 0; round < measuredRounds; round++) {
    log(`round ${round + 1} of ${measuredRounds} on Node.js`);
    // A different one starts each round, because the server's store grows with every update.
    for (const name of rotated(onNode, pass + round)) await update(name);
  }
  for (const child of children.values()) await child.end();
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}

/** Creates the Node, and resolves with the version of the kube-apiserver. */
async function prepare({ url, adminToken, caData }: ControlPlane): Promise<string> {
  const http = new KubeHTTP({ url, token: adminToken, caData });
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } };
  const { status, body } = await http.request('POST', '/api/v1/nodes', { body: node });
  if (status !== 201) throw new Error(`Creating the Node failed with ${status}: ${JSON.stringify(body)}`);
  const version = await http.request('GET', '/version');
  await http.close();
  return version.body.gitVersion;
}

function figuresOf(all: Results['rounds']): Figure[] {
  const measured = (name: Name): Round[] =>
    all[name].filter(({ round }) => !onNode.includes(name) || round >= warmUpRounds);
  const first = (name: Name): Round[] => all[name].filter(({ round }) => round === 0);
  const speeds = (name: Name): number[] => measured(name).map((round) => round.per_s);
  const atLeast = (ratio: number): Target => ({ of: 'ratio', atLeast: ratio });
  const speed = (name: Name, beside?: Name, target?: Target): Figure => ({
    name: contestants[name],
    unit: 'updates/s',
    values: speeds(name),
    reference: beside && { name: contestants[beside], values: speeds(beside) },
    target,
  });
  const cpu = (name: Name, target?: Target): Figure => ({
    name: `${contestants[name]}: own CPU`,
    unit: 'µs/update',
    values: cpus(measured(name)),
    reference: name === 'kubelet' ? undefined : { name: contestants.kubelet, values: cpus(measured('kubelet')) },
    target,
  });
  const firstRound = (name: Name): Figure[] => [
    {
      name: `${contestants[name]}: first round`,
      unit: 'updates/s',
      values: first(name).map((round) => round.per_s),
      reference: { name: contestants.kubelet, values: speeds('kubelet') },
    },
    {
      name: `${contestants[name]}: own CPU, first round`,
      unit: 'µs/update',
      values: cpus(first(name)),
      reference: { name: contestants.kubelet, values: cpus(measured('kubelet')) },
    },
  ];
  const requests = (name: Name, target?: Target): Figure => ({
    name: `${contestants[name]}: requests, steady`,
    unit: 'per update',
    // A process that has just started reads each pod once, because it trusts no API object yet.
    values: measured(name).map((round) => round.requests_per_sync!),
    target,
  });
  return [
    speed('raw', 'kubelet'),
    speed('core-v1', 'kubelet', atLeast(1)),
    speed('http', 'kubelet', atLeast(1.5)),
    speed('http-when-stale', 'kubelet', atLeast(2.5)),
    speed('http-when-stale', 'raw', atLeast(0.85)),
    speed('http-when-stale', 'vk', atLeast(1)),
    speed('http', 'vk', atLeast(1)),
    speed('kubelet'),
    speed('vk', 'kubelet'),
    cpu('raw'),
    cpu('core-v1', { of: 'ratio', atMost: 0.75 }),
    cpu('http', { of: 'ratio', atMost: 0.75 }),
    cpu('http-when-stale', { of: 'ratio', atMost: 0.5 }),
    cpu('kubelet'),
    cpu('vk'),
    ...firstRound('core-v1'),
    ...firstRound('http'),
    ...firstRound('http-when-stale'),
    requests('http'),
    requests('http-when-stale', { of: 'value', atMost: 1 }),
  ].filter(({ values }) => values.length > 0);
}

function cpus(rounds: readonly Round[]): number[] {
  return rounds.map((round) => round.cpu_us_per_sync);
}
