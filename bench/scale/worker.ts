/*
 * One process of the scale benchmark: one manager with the given number of pods. Prints a line of JSON.
 * Usage: node --expose-gc worker.js PODS
 */
import { BasicPodManager, type Pod, StatusManager } from 'kubelet-status-manager';
import { benchPods, runningStatus } from '../fixtures.ts';
import { immediateClient } from '../memory/immediate-client.ts';
import { quietLogger } from '../quiet-logger.ts';
import { median } from '../statistics.ts';
import type { ScaleFigures } from './figures.ts';

const batches = 5;
/** The number of updates that warm up the process, for any number of pods. */
const warmUpUpdates = 20_000;

const pods = benchPods(Number(process.argv[2]));
const now = `${new Date().toISOString().slice(0, 19)}Z`;

const podManager = new BasicPodManager();
podManager.setPods(pods);
const manager = new StatusManager({
  client: immediateClient(podManager),
  podManager,
  podCouldHaveRunningContainers: () => true,
  logger: quietLogger,
});

const heapBefore = heapUsed();
let restartCount = 0;
for (let updates = 0; updates < warmUpUpdates; updates += pods.length) await updateAll();
const heap = heapUsed() - heapBefore;

const updates: number[] = [];
for (let i = 0; i < batches; i++) {
  updates.push(((await timeMs(updateAll)) * 1000) / pods.length);
}

podManager.setPods(pods.map(asWritten));
await manager.syncBatch(true);
const idle: number[] = [];
for (let i = 0; i < batches; i++) idle.push(await timeMs(() => manager.syncBatch(true)));

const inspections: number[] = [];
for (let i = 0; i < batches; i++) inspections.push(await timeMs(() => Promise.resolve(manager.inspect())));

const figures: ScaleFigures = {
  update: median(updates),
  idleBatch: median(idle),
  inspect: median(inspections),
  heap,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);

async function updateAll(): Promise<void> {
  restartCount++;
  for (const pod of pods)
    manager.setPodStatus(
      pod,
      runningStatus(restartCount, () => now),
    );
  await manager.syncBatch(false);
}

function asWritten(pod: Pod): Pod {
  const status = manager.getPodStatus(pod.metadata!.uid!);
  return { ...pod, metadata: { ...pod.metadata, resourceVersion: '2' }, ...(status !== undefined && { status }) };
}

async function timeMs(run: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await run();
  return performance.now() - startMs;
}

function heapUsed(): number {
  if (globalThis.gc === undefined) throw new Error('Run it with --expose-gc');
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
