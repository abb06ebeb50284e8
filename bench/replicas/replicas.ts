import sumBy from 'lodash/sumBy.js';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from '../children.ts';
import type { Figure, Report } from '../report.ts';
import { linePlot } from '../svg.ts';
import type { ReplicaCommand, ReplicaReply, ServerCommand, ServerReply } from './messages.ts';

export interface ReplicasOptions {
  /** The numbers of nodes, ascending. */
  readonly nodes: readonly number[];
  readonly progress: (text: string) => void;
}

interface Measured {
  readonly nodes: number;
  /** Seconds from the start of the processes until each owns its part of the nodes. */
  readonly spread: number;
  /** Seconds until all pods have been created and accepted, and, when they run, until all statuses show it. */
  readonly running: number;
  /** Cores of all replicas, and of the API server. */
  readonly idleCPU: number;
  readonly idleServerCPU: number;
  readonly idleRequests: Readonly<Record<string, number>>;
  /** Megabytes a second at the API server. */
  readonly idleMegabytes: number;
  /** Of all replicas. */
  readonly rssMegabytes: number;
  readonly watches: number;
  /** Milliseconds for one change of a pod. */
  readonly changeCPU: number;
  readonly changeServerCPU: number;
}

const replicas = 5;
const podsPerNode = 20;
const idleMs = 30_000;
/** So many pods are created, or change, before the API server shows it, as a cluster does no more at once. */
const maxUnshown = 1000;
/** The nodes are shared out when each process has owned as many for so long. */
const spreadMs = 10_000;
/** Until V8 has collected the garbage of what was before, and each pod has been synced once more. */
const settleMs = 100_000;
/** Beyond what two cores can measure. */
const extrapolated = 50_000;
const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** What grows with the number of virtual nodes that several processes share out. */
export async function benchReplicas({ nodes: counts, progress }: ReplicasOptions): Promise<Report> {
  const measured: Measured[] = [];
  for (const nodes of counts) measured.push(await measure(nodes, progress));
  const kinds = [...new Set(measured.flatMap(({ idleRequests }) => Object.keys(idleRequests)))].toSorted();
  const rowsOf = (name: string, unit: string, value: (figures: Measured) => number): Figure[] =>
    measured.map((figures) => ({ name: `${label(figures.nodes)}: ${name}`, unit, values: [value(figures)] }));
  const growing = (name: string, unit: string, value: (figures: Measured) => number): Figure[] => [
    ...rowsOf(name, unit, value),
    ...(measured.length < 2
      ? []
      : [{ name: `${label(extrapolated)}, extrapolated: ${name}`, unit, values: [extrapolate(measured, value)] }]),
  ];
  return {
    title: 'Virtual nodes shared out among replicas',
    notes: [
      `${replicas} processes of createVirtualNodes with \`replicas\`, nodes of ${podsPerNode} pods, and the API server in memory without TLS, all on one machine. Idle: ${idleMs / 1000} s without a change. Pods are created and change while at most ${maxUnshown.toLocaleString('en-US')} of them are not shown yet. A change: one of each pod. CPU and memory are those of all replicas together. Extrapolated: a straight line through the figures, by least squares.`,
    ],
    figures: [
      ...growing('idle CPU of the replicas', 'cores', ({ idleCPU }) => idleCPU),
      ...growing('idle CPU of the API server in memory', 'cores', ({ idleServerCPU }) => idleServerCPU),
      ...growing('idle traffic', 'MB/s', ({ idleMegabytes }) => idleMegabytes),
      ...kinds.flatMap((kind) => rowsOf(`idle ${kind}`, '1/s', ({ idleRequests }) => idleRequests[kind] ?? 0)),
      ...growing('watches', '', ({ watches }) => watches),
      ...growing('memory (RSS)', 'MB', ({ rssMegabytes }) => rssMegabytes),
      ...measured.flatMap(({ nodes, spread, running, changeCPU, changeServerCPU }): Figure[] => [
        { name: `${label(nodes)}: each process owns its nodes`, unit: 's', values: [spread] },
        { name: `${label(nodes)}: all pods created and Running`, unit: 's', values: [running] },
        { name: `${label(nodes)}: CPU of the replicas for a change`, unit: 'ms', values: [changeCPU] },
        { name: `${label(nodes)}: CPU of the API server in memory for it`, unit: 'ms', values: [changeServerCPU] },
      ]),
    ],
    plots: {
      'replicas.svg': linePlot({
        title: `Idle CPU of ${replicas} replicas by number of nodes`,
        xLabel: `virtual nodes of ${podsPerNode} pods`,
        yLabel: 'cores',
        points: measured.map(({ nodes, idleCPU }) => [nodes, idleCPU]),
      }),
    },
  };
}

async function measure(nodes: number, progress: (text: string) => void): Promise<Measured> {
  const pods = nodes * podsPerNode;
  progress(`replicas: ${label(nodes)} in ${replicas} processes`);
  const server = await startChild<ServerCommand, ServerReply>(pathOf('server.js'), [
    String(nodes),
    String(podsPerNode),
  ]);
  const env = { KUBECONFIG_JSON: JSON.stringify(server.first.kubeConfig) };
  const secondsSince = (ms: number): number => (performance.now() - ms) / 1000;
  const startedMs = performance.now();
  const processes: Child<ReplicaCommand, ReplicaReply>[] = await Promise.all(
    Array.from({ length: replicas }, (_, i) =>
      startChild<ReplicaCommand, ReplicaReply>(pathOf('replica.js'), [`replica-${i}`, String(nodes)], env),
    ),
  );
  const ask = (command: ReplicaCommand): Promise<ReplicaReply[]> =>
    Promise.all(processes.map((process) => process.ask(command)));
  const untilShown = async (of: keyof ServerReply['shown'], begin: () => Promise<number>): Promise<void> => {
    for (let [begun, shown] = [0, 0]; shown < pods; shown = (await server.ask('usage')).shown[of]) {
      // Also when all have begun: the pods of a node that has moved begin again.
      if (begun - shown < maxUnshown) begun = await begin();
      await delay(20);
    }
  };
  const change = async (command: 'change' | 'run'): Promise<number> =>
    sumBy(await ask(command), ({ changed = 0 }) => changed);
  // Each process has a cloud of its own, so a node that moves later would lose its pods.
  let spread = Number.POSITIVE_INFINITY;
  for (let owned = ''; secondsSince(startedMs) < spread + spreadMs / 1000; await delay(1000)) {
    const counts = (await ask('nodes')).map((reply) => reply.nodes ?? 0);
    if (owned === counts.join(', ') && sumBy(counts) === nodes) continue;
    owned = counts.join(', ');
    spread = secondsSince(startedMs);
  }
  progress(`replicas: each process has its nodes after ${spread.toFixed(0)} s`);

  const createdMs = performance.now();
  await untilShown('create', async () => (await server.ask('create')).created);
  progress(`replicas: ${pods.toLocaleString('en-US')} pods after ${secondsSince(createdMs).toFixed(0)} s`);
  await untilShown('run', () => change('run'));
  const running = secondsSince(createdMs);
  progress(`replicas: all are shown as Running after ${running.toFixed(0)} s`);

  await delay(settleMs);
  const [before, serverBefore] = [await ask('usage'), await server.ask('usage')];
  await delay(idleMs);
  const [idle, serverIdle] = [await ask('usage'), await server.ask('usage')];

  const [beforeChange, serverBeforeChange] = [await ask('usage'), await server.ask('usage')];
  await untilShown('change', () => change('change'));
  const [changed, serverChanged] = [await ask('usage'), await server.ask('usage')];
  await Promise.all(processes.map((process) => process.end()));
  await server.end();
  const cpuMs = (usages: readonly ReplicaReply[]): number => sumBy(usages, (usage) => usage.cpuMs);
  return {
    nodes,
    spread,
    running,
    idleCPU: (cpuMs(idle) - cpuMs(before)) / idleMs,
    idleServerCPU: (serverIdle.cpuMs - serverBefore.cpuMs) / idleMs,
    idleRequests: Object.fromEntries(
      Object.entries(serverIdle.requests)
        .map(([kind, count]) => [kind, (count - (serverBefore.requests[kind] ?? 0)) / (idleMs / 1000)] as const)
        .filter(([, rate]) => rate > 0),
    ),
    idleMegabytes: (serverIdle.bytes - serverBefore.bytes) / 1000 / idleMs,
    rssMegabytes: sumBy(idle, ({ rssBytes }) => rssBytes) / 1e6,
    watches: serverIdle.watches,
    changeCPU: (cpuMs(changed) - cpuMs(beforeChange)) / pods,
    changeServerCPU: (serverChanged.cpuMs - serverBeforeChange.cpuMs) / pods,
  };
}

/** The straight line through the figures, by least squares, at the extrapolated number of nodes. */
function extrapolate(measured: readonly Measured[], value: (figures: Measured) => number): number {
  const meanX = sumBy(measured, ({ nodes }) => nodes) / measured.length;
  const meanY = sumBy(measured, value) / measured.length;
  const slope =
    sumBy(measured, (figures) => (figures.nodes - meanX) * (value(figures) - meanY)) /
    sumBy(measured, ({ nodes }) => (nodes - meanX) ** 2);
  return meanY + slope * (extrapolated - meanX);
}

function label(nodes: number): string {
  return `${nodes.toLocaleString('en-US')} nodes`;
}
