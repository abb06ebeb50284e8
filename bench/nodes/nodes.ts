import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../bundle.ts';
import { projectPath } from '../environment.ts';
import type { Figure, Report, Target } from '../report.ts';
import { median } from '../statistics.ts';
import { linePlot, type Point } from '../svg.ts';
import { type BenchServer, startAPIServer, startKubeAPIServer } from './api-servers.ts';
import { profileTable } from './profile-areas.ts';
import { type Extent, measureNodes, type NodesFigures, warmUpChanges } from './measure-nodes.ts';

export interface NodesOptions {
  /** The numbers of nodes; those from `inMemoryFrom` on run on the API server in memory, without a reference. */
  readonly nodes: readonly number[];
  readonly turns: number;
  /** One turn, and little of everything. */
  readonly quick: boolean;
  /** The folder for a CPU profile of each contestant while it restarts, changes pods, is idle, and ends pods. */
  readonly profiles?: string | undefined;
  readonly progress: (text: string) => void;
}

type Command = readonly [string, ...string[]];
type Contestant = 'ours' | 'theirs' | 'bare';
type Measured = Readonly<Record<Contestant, readonly NodesFigures[]>>;

/** A row of the table for each number of nodes. */
interface Row {
  readonly name: string;
  readonly unit: string;
  readonly field: keyof NodesFigures;
  readonly target?: (nodes: number) => Target | undefined;
  /** The bare loop has a row below it. */
  readonly hasLimit?: boolean;
}

const inMemoryFrom = 500;
const extents = {
  whole: { rounds: 5, idleMs: 30_000 },
  quick: { rounds: 2, idleMs: 10_000 },
} as const satisfies Record<string, Extent>;

/** Of bench/nodes/go/go.mod. */
const referenceName = 'virtual-kubelet v1.14.1';
const contestantNames = { ours: 'ours', theirs: referenceName, bare: 'bare loop' } as const;
const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const ratioAtMost = (atMost: number) => (): Target => ({ of: 'ratio', atMost });

const rows: readonly Row[] = [
  { name: 'each pod becomes Running', unit: 's', field: 'running', hasLimit: true, target: ratioAtMost(1) },
  { name: 'own CPU until Running', unit: 'ms/pod', field: 'runningCPU', hasLimit: true, target: ratioAtMost(1) },
  { name: 'own CPU until Running: main thread', unit: 'ms/pod', field: 'runningThreadCPU', hasLimit: true },
  { name: 'one change of each pod', unit: 's', field: 'change', hasLimit: true, target: ratioAtMost(1) },
  { name: 'own CPU of a change', unit: 'ms/change', field: 'cpu', hasLimit: true, target: ratioAtMost(1) },
  { name: 'own CPU of a change: main thread', unit: 'ms/change', field: 'threadCPU', hasLimit: true },
  { name: 'CPU of the API server and etcd', unit: 'ms/change', field: 'serverCPU', hasLimit: true },
  { name: 'requests', unit: 'per change', field: 'requests' },
  { name: 'each pod ends', unit: 's', field: 'exit', hasLimit: true, target: ratioAtMost(1) },
  { name: 'own CPU of an end', unit: 'ms/pod', field: 'exitCPU', hasLimit: true, target: ratioAtMost(1) },
  { name: 'own CPU of an end: main thread', unit: 'ms/pod', field: 'exitThreadCPU', hasLimit: true },
  { name: 'memory (RSS)', unit: 'MB', field: 'rssMegabytes', hasLimit: true, target: ratioAtMost(0.8) },
  {
    name: 'connections',
    unit: '',
    field: 'connections',
    target: (nodes) => (nodes === 100 ? { of: 'value', atMost: 20 } : undefined),
  },
  { name: 'watches', unit: '', field: 'watches' },
  { name: 'idle CPU', unit: '% of a core', field: 'idleCPU', hasLimit: true, target: ratioAtMost(1) },
  { name: 'restart', unit: 's', field: 'restart', hasLimit: true, target: ratioAtMost(0.5) },
  {
    name: 'restart: writes of unchanged pods, and their Events',
    unit: '',
    field: 'restartWrites',
    target: () => ({ of: 'value', atMost: 0 }),
  },
];

/** Many virtual nodes of one process, beside virtual-kubelet. */
export async function benchNodes({ nodes, turns, quick, profiles, progress }: NodesOptions): Promise<Report> {
  const measured = new Map<number, Measured>();
  const folder = mkdtempSync(join(tmpdir(), 'ksm-nodes-'));
  await using _ = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }) };
  if (profiles !== undefined) mkdirSync(profiles, { recursive: true });
  const node = [process.execPath, ...process.execArgv] as const;
  const commands: Readonly<Record<Contestant, Command | undefined>> = {
    ours: [...node, await bundle(pathOf('worker.js'), join(folder, 'worker.mjs'))],
    theirs: buildVirtualKubelet(folder, progress),
    bare: [...node, await bundle(pathOf('bare-worker.js'), join(folder, 'bare-worker.mjs'))],
  };
  const setting = { ...(quick ? extents.quick : extents.whole), turns: quick ? 1 : turns, profiles, progress };
  const onKubeAPIServer = nodes.filter((count) => count < inMemoryFrom);
  const inMemory = nodes.filter((count) => count >= inMemoryFrom);
  const versions: string[] = [];
  const measureOn = async (server: BenchServer, counts: readonly number[], on: typeof commands): Promise<void> => {
    versions.push(server.version);
    try {
      for (const count of counts) measured.set(count, await inTurns(server, count, on, setting));
    } finally {
      await server.stop();
    }
  };
  if (onKubeAPIServer.length > 0) await measureOn(await startKubeAPIServer(), onKubeAPIServer, commands);
  if (inMemory.length > 0)
    await measureOn(await startAPIServer(), inMemory, { ...commands, theirs: undefined, bare: undefined });
  if (profiles !== undefined)
    for (const contestant of ['ours', 'bare'] as const) {
      const program = commands[contestant]!.at(-1);
      progress(
        `\n${contestantNames[contestant]}\n${profileTable(profiles, contestant, readFileSync(program!, 'utf8'))}`,
      );
    }
  return {
    title: 'Virtual nodes: many nodes of 20 pods in one process',
    notes: [
      `Nodes of createVirtualNodes with defaults, and of ${referenceName}, each in a process of its own, one after the other in ${count(setting.turns, 'turn')}, on ${versions.join(', and from 500 nodes on ')}. Both have the same cloud in their memory, which accepts pods immediately and notifies of each change. Pods have two containers. ${commands.theirs === undefined ? 'There is no Go here, so virtual-kubelet is missing. ' : ''}The user is a member of system:masters, whom the API server does not throttle. virtual-kubelet has 10 workers a node, as its command; its limits of 5 requests and 10 statuses a second are lifted.`,
      `Running, change, end: from when the cloud is told to change all pods at once until the API server has shown all of them. Running is the first that the process does; the first ${warmUpChanges.toLocaleString('en-US')} changes only warm up. CPU is the user and system time of the process, its cloud included; that of the main thread is without V8's compiler and garbage collector in other threads; that of the API server and etcd includes the watch of the benchmark. Requests are GET, PATCH and PUT of pods.`,
      `Bare loop: a program without this library that sends the same requests, decides nothing, and has no timeouts: what Node.js and the API server allow. It and the worker of this library are bundled into one file each.`,
      `Idle: ${setting.idleMs / 1000} s without a change; memory and connections are those at its end. Restart: the process ends, one pod of each node changes in the cloud, and a new process starts with the same cloud; the time is from its start until the API server shows these pods. The provider of virtual-kubelet notifies of all pods then, because otherwise such changes are lost; it writes the statuses of all of them. Other pods have not changed and need no write.`,
    ],
    figures: figuresOf(measured),
    plots: { 'nodes.svg': plotOf(measured) },
  };
}

/** Undefined if there is no Go. */
function buildVirtualKubelet(folder: string, progress: (text: string) => void): Command | undefined {
  const program = join(folder, 'nodes');
  progress('nodes: building virtual-kubelet');
  try {
    execFileSync('go', ['build', '-o', program, '.'], { cwd: projectPath('bench/nodes/go'), stdio: 'inherit' });
    return [program];
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    progress('nodes: there is no go, so virtual-kubelet is left out');
    return undefined;
  }
}

async function inTurns(
  server: BenchServer,
  nodes: number,
  commands: Readonly<Record<Contestant, Command | undefined>>,
  { turns, profiles, progress, ...extent }: Extent & Pick<NodesOptions, 'turns' | 'profiles' | 'progress'>,
): Promise<Measured> {
  const figures: Record<Contestant, NodesFigures[]> = { ours: [], theirs: [], bare: [] };
  for (let turn = 1; turn <= turns; turn++) {
    for (const contestant of ['ours', 'theirs', 'bare'] as const) {
      const command = commands[contestant];
      if (command === undefined) continue;
      progress(`nodes: ${count(nodes, 'node')}, turn ${turn} of ${turns}, ${contestantNames[contestant]}`);
      const prefix = `${contestant}-${nodes}-${turn}`;
      figures[contestant].push(await measureNodes({ ...extent, server, command, nodes, prefix, profiles }));
    }
  }
  return figures;
}

function figuresOf(measured: ReadonlyMap<number, Measured>): Figure[] {
  return [...measured]
    .flatMap(([nodes, { ours, theirs, bare }]) =>
      rows.flatMap(({ name, unit, field, target, hasLimit }): Figure[] => {
        const valuesOf = (measured: readonly NodesFigures[]): number[] => measured.flatMap((figures) => figures[field]);
        const row = {
          name: `${count(nodes, 'node')}: ${name}`,
          unit,
          ...(valuesOf(theirs).length > 0 && { reference: { name: referenceName, values: valuesOf(theirs) } }),
        };
        return [
          {
            ...row,
            values: valuesOf(ours),
            target: theirs.length > 0 || target?.(nodes)?.of === 'value' ? target?.(nodes) : undefined,
          },
          ...(hasLimit === true && bare.length > 0
            ? [{ ...row, name: `${row.name}, bare loop`, values: valuesOf(bare) }]
            : []),
        ];
      }),
    )
    .filter(({ values }) => values.length > 0);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function plotOf(measured: ReadonlyMap<number, Measured>): string {
  const pointsOf = (contestant: Contestant): Point[] =>
    [...measured]
      .filter(([nodes, figures]) => nodes < inMemoryFrom && figures[contestant].length > 0)
      .map(([nodes, figures]) => [nodes, median(figures[contestant].flatMap(({ cpu }) => cpu))]);
  return linePlot({
    title: 'Own CPU of a change by number of nodes',
    xLabel: 'virtual nodes of 20 pods in one process',
    yLabel: 'ms per change',
    points: pointsOf('ours'),
    reference: { name: referenceName, points: pointsOf('theirs') },
  });
}
