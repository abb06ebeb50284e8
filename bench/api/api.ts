import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ControlPlane, startControlPlane } from '../../test/support/control-plane.ts';
import { KubeHttp } from '../../test/support/kube-http.ts';
import { jsonLinesOf } from '../children.ts';
import type { Aim, Figure, Report } from '../report.ts';
import { type Round, warmUpRounds } from './round.ts';

export interface ApiOptions {
  readonly pods: number;
  readonly passes: number;
  readonly oracle: string | undefined;
  readonly progress: (text: string) => void;
}

const worker = fileURLToPath(new URL('worker.js', import.meta.url));

/** In the order of the table; each runs in a process of its own. */
const contestants = {
  raw: 'raw undici PATCH loop',
  'core-v1': 'CoreV1Api 1.4, defaults',
  http: 'createPodClient, defaults',
  'http-when-stale': 'createPodClient, when-stale',
  kubelet: 'kubelet (Go)',
  vk: 'virtual-kubelet, limits lifted',
} as const;
type Name = keyof typeof contestants;

interface Results {
  /** Of the kube-apiserver. */
  readonly version: string;
  readonly rounds: Readonly<Record<Name, Round[]>>;
}

/** One kube-apiserver, each contestant in turn, round after round. */
export async function benchApi({ pods, passes, oracle, progress }: ApiOptions): Promise<Report> {
  const { version, rounds } = await runAll({ pods, passes, oracle, progress });
  return {
    title: `Updates on a real kube-apiserver, ${pods.toLocaleString('en-US')} pods of two containers`,
    notes: [
      `Each contestant is a process of its own that updates every pod three times, one after the other against the same kube-apiserver (${version}), ${passes} times over, each time beginning with another one; the numbers are medians of all these rounds. Those that run on Node.js update every pod ${warmUpRounds} times before, until their connections are open and V8 has compiled them: an agent runs for weeks. The first of those rounds stands in rows of its own.`,
      'CPU is that of the contestant alone, user and system. The raw loop sends the same patches over 8 connections and decides nothing; the kubelet works serially, as it does on a node; virtual-kubelet has 10 workers.',
    ],
    figures: figuresOf(rounds),
  };
}

async function runAll({ pods, passes, oracle, progress }: ApiOptions): Promise<Results> {
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
    for (let pass = 1; pass <= passes; pass++) {
      // Each pass begins with another one: the server's store grows with every update.
      for (const name of rotated(Object.keys(contestants) as Name[], pass - 1)) {
        const command = commandOf(name, pods, oracle);
        if (command === undefined) continue;
        progress(`api: pass ${pass} of ${passes}, ${contestants[name]}`);
        rounds[name].push(...(await jsonLinesOf<Round>(...command, { KUBECONFIG: kubeConfig })));
      }
    }
    return { version, rounds };
  } finally {
    await controlPlane.stop();
  }
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}

function commandOf(name: Name, pods: number, oracle: string | undefined): [string, string[]] | undefined {
  const subcommand = { kubelet: 'bench-api', vk: 'bench-vk' }[name as string];
  if (subcommand === undefined) return [process.execPath, [worker, name, String(pods)]];
  return oracle === undefined ? undefined : [oracle, [subcommand, String(pods)]];
}

/** Creates the Node, and resolves with the version of the kube-apiserver. */
async function prepare({ url, adminToken, caData }: ControlPlane): Promise<string> {
  const http = new KubeHttp({ url, token: adminToken, caData });
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } };
  const { status, body } = await http.request('POST', '/api/v1/nodes', { body: node });
  if (status !== 201) throw new Error(`Creating the Node was answered with ${status}: ${JSON.stringify(body)}`);
  const version = await http.request('GET', '/version');
  await http.close();
  return version.body.gitVersion;
}

function figuresOf(all: Results['rounds']): Figure[] {
  const runsOnNode = (name: Name): boolean => name !== 'kubelet' && name !== 'vk';
  const measured = (name: Name): Round[] => all[name].filter(({ round }) => !runsOnNode(name) || round >= warmUpRounds);
  const first = (name: Name): Round[] => all[name].filter(({ round }) => round === 0);
  const speeds = (name: Name): number[] => measured(name).map((round) => round.per_s);
  const atLeast = (ratio: number): Aim => ({ of: 'ratio', atLeast: ratio });
  const speed = (name: Name, beside?: Name, aim?: Aim): Figure => ({
    name: contestants[name],
    unit: 'updates/s',
    values: speeds(name),
    reference: beside && { name: contestants[beside], values: speeds(beside) },
    aim,
  });
  const cpu = (name: Name, aim?: Aim): Figure => ({
    name: `${contestants[name]}: own CPU`,
    unit: 'µs/update',
    values: cpus(measured(name)),
    reference: name === 'kubelet' ? undefined : { name: contestants.kubelet, values: cpus(measured('kubelet')) },
    aim,
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
  const requests = (name: Name, aim?: Aim): Figure => ({
    name: `${contestants[name]}: requests, steady`,
    unit: 'per update',
    // A process that has just started trusts nothing and reads each pod once.
    values: measured(name).map((round) => round.requests_per_sync!),
    aim,
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
    cpu('core-v1'),
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
