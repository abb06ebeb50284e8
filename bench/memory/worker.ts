/*
 * One process of the memory benchmark: runs all steps on a new manager, first cold, then on further
 * managers until the process is warm. Prints the first and the last results as one line of JSON.
 * Usage: node --expose-gc worker.js json|date PODS
 */
import { BasicPodManager, type Clock, type Pod, StatusManager, systemClock, type Time } from 'kubelet-status-manager';
import { benchPods, runningStatus } from '../fixtures.ts';
import { median } from '../statistics.ts';
import { immediateClient } from './immediate-client.ts';
import type { MemoryTimes, WorkerResult } from './figures.ts';
import { SliceMeter } from './slice-meter.ts';

const laterFullBatches = 5;

const [input = 'json', podsArgument = '10000'] = process.argv.slice(2);
const time = timeSource(input);
const pods = benchPods(Number(podsArgument));

// No garbage collection is forced before all times are measured, because V8 then also drops
// optimised code that depends on hidden classes without any live object.
const cold = await measureTimes();
await measureTimes();
const warm = await measureTimes();
const bytes = measureBytes();
process.stdout.write(`${JSON.stringify({ cold, warm, bytes } satisfies WorkerResult)}\n`);

async function measureTimes(): Promise<MemoryTimes> {
  const slices = new SliceMeter();
  const podManager = new BasicPodManager();
  const manager = newManager(podManager, slices.clock);
  const first = timeSets(manager, 0);
  const same = timeSets(manager, 0);
  const changed = timeSets(manager, 1);

  await manager.syncBatch(false);
  podManager.setPods(pods.map((pod) => asSeenOnTheAPIServer(pod, manager)));
  const firstFullBatch = await timeFullBatch(manager, slices);
  const later: number[] = [];
  for (let i = 0; i < laterFullBatches; i++) later.push(await timeFullBatch(manager, slices));
  return { first, same, changed, firstFullBatch, laterFullBatch: median(later), longestSlice: slices.longestMs };
}

/** Heap bytes per cached status, without the pods and the manager themselves. */
function measureBytes(): number {
  const manager = newManager(new BasicPodManager(), systemClock);
  const before = heapUsed();
  timeSets(manager, 0);
  return (heapUsed() - before) / pods.length;
}

function newManager(podManager: BasicPodManager, clock: Clock): StatusManager {
  podManager.setPods(pods);
  return new StatusManager({
    client: immediateClient(podManager),
    podManager,
    podCouldHaveRunningContainers: () => true,
    clock,
  });
}

/** Microseconds per call of setPodStatus, including the creation of its input. */
function timeSets(manager: StatusManager, restartCount: number): number {
  const startMs = performance.now();
  for (const pod of pods) manager.setPodStatus(pod, runningStatus(restartCount, time));
  return ((performance.now() - startMs) * 1000) / pods.length;
}

/** Microseconds per pod of a full batch that has nothing to do. */
async function timeFullBatch(manager: StatusManager, slices: SliceMeter): Promise<number> {
  const startMs = performance.now();
  slices.start();
  const { tried: synced } = await manager.syncBatch(true);
  slices.end();
  const us = ((performance.now() - startMs) * 1000) / pods.length;
  if (synced !== 0) throw new Error(`Expected an idle full batch, but it synced ${synced} pods`);
  return us;
}

/** The pod as a watch would deliver it after the manager has written its status. */
function asSeenOnTheAPIServer(pod: Pod, manager: StatusManager): Pod {
  const status = manager.getPodStatus(pod.metadata!.uid!);
  return JSON.parse(JSON.stringify({ ...pod, metadata: { ...pod.metadata, resourceVersion: '2' }, status })) as Pod;
}

function timeSource(kind: string): () => Time {
  const nowMs = Date.now();
  if (kind === 'date') return () => new Date(nowMs);
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  return () => now;
}

function heapUsed(): number {
  if (globalThis.gc === undefined) throw new Error('Run it with --expose-gc');
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
