import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BasicPodManager, type Pod, type PodClient, StatusManager } from 'kubelet-status-manager';
import { defaultOptions } from '../../src/status-manager/options.ts';
import type { ReadBeforePatch } from '../../src/status-manager/sync/sync-ports.ts';
import { createPodClient } from 'kubelet-status-manager/http';
import { runningStatus } from '../fixtures.ts';
import { quietLogger } from '../quiet-logger.ts';
import type { Figure, Report } from '../report.ts';
import { median } from '../statistics.ts';
import { type Reply, startServer } from './server-process.ts';

export interface LatencyOptions {
  readonly rounds: number;
  readonly progress: (text: string) => void;
}

const latenciesMs = [1, 5, 20, 50];
const podCount = 200;
const burst = 2_000;
const setsWhileDown = 100_000;
const now = `${new Date().toISOString().slice(0, 19)}Z`;

/** How the manager performs with a slow or absent API server, measured against the APIServer of this package. */
export async function benchLatency({ rounds, progress }: LatencyOptions): Promise<Report> {
  const figures: Figure[] = [];
  for (const latencyMs of latenciesMs) {
    for (const mode of ['always', 'when-stale'] as const) {
      progress(`latency: ${latencyMs} ms per response, ${mode}`);
      figures.push(await timeUntilAllAreWritten(latencyMs, mode, rounds));
    }
  }
  for (const latencyMs of latenciesMs) {
    progress(`latency: ${latencyMs} ms per response, a burst of ${burst} updates`);
    figures.push(await timeUntilReadyIsWritten(latencyMs, rounds));
  }
  progress(`latency: ${setsWhileDown} sets while the API is down`);
  figures.push(...(await setWhileDown(rounds)));
  const { concurrency } = defaultOptions;
  return {
    title: 'Slow and absent API servers',
    notes: [
      `${podCount} pods written: each pod is updated once, ${rounds} times; the bound is the latency of the responses alone, with ${concurrency} pods in flight.`,
      `Ready in a burst: ${burst.toLocaleString('en-US')} pods get statuses that do not change their readiness, and in the meantime ${rounds} others become Ready. The time is that of one of these, from setPodStatus until it is written. It is compared with three round trips plus its own two (GET and PATCH), as measured in the same burst.`,
      `While down: ${setsWhileDown.toLocaleString('en-US')} changes to ${podCount} pods while the API server is down, ${rounds} times; each time the API server is started again afterwards.`,
      'The API server is the APIServer of kubelet-status-manager/testing in its own process.',
    ],
    figures,
  };
}

async function timeUntilAllAreWritten(latencyMs: number, mode: ReadBeforePatch, rounds: number): Promise<Figure> {
  const server = await startServer(latencyMs, podCount);
  const { manager, pods } = newManager(server.first, mode);
  const values: number[] = [];
  // The first round opens the connections, and always reads.
  for (let round = 0; round <= rounds; round++) {
    const startMs = performance.now();
    for (const pod of pods)
      manager.setPodStatus(
        pod,
        runningStatus(round, () => now),
      );
    await flush(manager);
    if (round > 0) values.push(performance.now() - startMs);
  }
  await manager.stop();
  await server.end();
  const roundTrips = (mode === 'always' ? 2 : 1) * Math.ceil(podCount / defaultOptions.concurrency);
  return {
    name: `${latencyMs} ms per response, ${mode}: ${podCount} pods written`,
    unit: 'ms',
    values,
    reference: { name: 'bound', values: [roundTrips * latencyMs] },
  };
}

async function timeUntilReadyIsWritten(latencyMs: number, samples: number): Promise<Figure> {
  const server = await startServer(latencyMs, burst + samples);
  const { manager, pods, responses } = newManager(server.first, 'always');
  const [cosmetic, becomingReady] = [pods.slice(0, burst), pods.slice(burst)];
  for (const pod of becomingReady) manager.setPodStatus(pod, withReady(0, 'False'));
  await flush(manager);

  responses.roundTripsMs.length = 0;
  for (const pod of cosmetic) manager.setPodStatus(pod, withReady(0, 'False'));
  const values: number[] = [];
  for (const [i, pod] of becomingReady.entries()) {
    // Spread over the burst: the first one after some pods are written, the last one while many still wait.
    const requests = ((i + 1) * burst * 2) / (samples + 2);
    while (responses.roundTripsMs.length < requests) await delay(1);
    const startMs = performance.now();
    manager.setPodStatus(pod, withReady(0, 'True'));
    const result = await manager.whenWritten(pod.metadata!.uid!);
    if (!result.written) throw new Error(`A pod was not written: ${result.reason}`);
    values.push(performance.now() - startMs);
  }
  const roundTripMs = median(responses.roundTripsMs);
  await flush(manager);
  await manager.stop();
  await server.end();
  return {
    name: `${latencyMs} ms per response: Ready in a burst of ${burst.toLocaleString('en-US')}`,
    unit: 'ms',
    values,
    reference: { name: '5 round trips', values: [5 * roundTripMs] },
    target: { of: 'ratio', atMost: 1 },
  };
}

async function setWhileDown(rounds: number): Promise<Figure[]> {
  const server = await startServer(1, podCount);
  const { manager, pods, responses } = newManager(server.first, 'always');
  for (const pod of pods)
    manager.setPodStatus(
      pod,
      runningStatus(0, () => now),
    );
  await flush(manager);
  const growths: number[] = [];
  const patches: number[] = [];
  let restartCount = 0;
  for (let round = 0; round < rounds; round++) {
    await server.ask('kill');
    const patchesBefore = responses.patches;
    const heapBefore = heapUsed();
    for (let set = 0; set < setsWhileDown; set++) {
      if (set % podCount === 0) restartCount++;
      manager.setPodStatus(
        pods[set % podCount]!,
        runningStatus(restartCount, () => now),
      );
      // Let the loop try and fail.
      if (set % 1_000 === 0) await nextTurn();
    }
    growths.push(Math.max(0, heapUsed() - heapBefore) / podCount);
    await server.ask('start-again');
    await flush(manager);
    patches.push((responses.patches - patchesBefore) / podCount);
    requireNewest((await server.ask('pods')).pods, restartCount);
  }
  await manager.stop();
  await server.end();
  return [
    { name: 'while down: heap growth', unit: 'bytes/pod', values: growths, target: { of: 'value', atMost: 10_000 } },
    { name: 'afterwards: PATCHes', unit: 'per pod', values: patches, target: { of: 'value', atMost: 1 } },
  ];
}

function requireNewest(pods: readonly Pod[], restartCount: number): void {
  const old = pods.filter(({ status }) => status?.containerStatuses?.[0]?.restartCount !== restartCount);
  if (old.length > 0) throw new Error(`${old.length} pods do not show the newest status`);
}

interface TimedManager {
  readonly manager: StatusManager;
  readonly pods: readonly Pod[];
  readonly responses: Responses;
}

interface Responses {
  /** The duration of each request that got a response. */
  readonly roundTripsMs: number[];
  patches: number;
}

function newManager({ kubeConfig, pods }: Reply, readBeforePatch: ReadBeforePatch): TimedManager {
  const responses: Responses = { roundTripsMs: [], patches: 0 };
  const podManager = new BasicPodManager();
  podManager.setPods(pods);
  const client = createPodClient(kubeConfig, { logger: quietLogger });
  const manager = new StatusManager({
    client: observed(client, responses),
    podManager,
    podCouldHaveRunningContainers: () => true,
    logger: quietLogger,
    syncPeriodMs: 3_600_000,
    readBeforePatch,
  });
  manager.start();
  return { manager, pods, responses };
}

function observed(client: PodClient, responses: Responses): PodClient {
  const time = async <T>(response: Promise<T>): Promise<T> => {
    const startMs = performance.now();
    const value = await response;
    responses.roundTripsMs.push(performance.now() - startMs);
    return value;
  };
  return {
    getPod: (...args) => time(client.getPod(...args)),
    patchPodStatus: async (...args) => {
      const pod = await time(client.patchPodStatus(...args));
      responses.patches++;
      return pod;
    },
    deletePod: (...args) => time(client.deletePod(...args)),
    close: () => client.close?.() ?? Promise.resolve(),
  };
}

function withReady(restartCount: number, ready: 'True' | 'False'): ReturnType<typeof runningStatus> {
  const status = runningStatus(restartCount, () => now);
  const conditions = status.conditions!.map((condition) =>
    condition.type === 'Ready' || condition.type === 'ContainersReady' ? { ...condition, status: ready } : condition,
  );
  return { ...status, conditions };
}

async function flush(manager: StatusManager): Promise<void> {
  const unsent = await manager.flush(120_000);
  if (unsent > 0) throw new Error(`${unsent} statuses were not written`);
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
