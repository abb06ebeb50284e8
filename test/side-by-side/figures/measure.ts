import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import mapValues from 'lodash/mapValues.js';
import type { Json } from '../../support/kube-http.ts';
import { namespace } from '../../support/node/cluster.ts';
import { nodeName } from '../../support/node/machine.ts';
import type { NodeUnderTest } from '../../support/node/node-under-test.ts';
import { Recorder } from '../recorder.ts';
import { app, forever, isReady, pause } from '../shape.ts';

/** What an agent takes: milliseconds as a watcher sees them. */
export interface Figures {
  readonly createToRunningMs: number;
  readonly exitToTerminatedMs: number;
  readonly exitToSucceededMs: number;
  readonly deleteToDeletedMs: number;
  readonly thirtyPodsReadyMs: number;
  readonly thirtyPodsGoneMs: number;
  /** Of one CPU, with 50 pods that do nothing. */
  readonly idleCPUPercent: number;
  readonly idleMemoryMiB: number;
}

/** What was measured; each figure at least once. */
export type Samples = Readonly<Record<keyof Figures, readonly number[]>>;

const rounds = 6;
const thirtyPodsRounds = 2;
/** A pod is gone before its containers are removed. No pod is created in the meantime: it would wait for that. */
const restMs = 2_000;
const idlePods = 50;
const idleMs = 30_000;

export async function measureFigures(node: NodeUnderTest): Promise<Samples> {
  const recorder = new Recorder(node.cluster);
  await recorder.start();
  try {
    const pods = new Pods(node, recorder);
    return { ...(await measureLatencies(pods)), ...(await measureThirtyPods(pods)), ...(await measureIdle(pods)) };
  } finally {
    recorder.stop();
  }
}

/** Creates pods of one container and waits for them. */
class Pods {
  readonly node: NodeUnderTest;
  readonly recorder: Recorder;
  #count = 0;

  constructor(node: NodeUnderTest, recorder: Recorder) {
    this.node = node;
    this.recorder = recorder;
  }

  async create(container: Json): Promise<string> {
    const name = `figure-${++this.#count}`;
    await this.node.cluster.request('POST', `/api/v1/namespaces/${namespace}/pods`, {
      metadata: { name },
      spec: {
        ...{ nodeName, automountServiceAccountToken: false, restartPolicy: 'Never', terminationGracePeriodSeconds: 5 },
        containers: [container],
      },
    });
    return name;
  }

  async delete(name: string): Promise<void> {
    await this.node.cluster.request('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`);
  }

  async untilReady(name: string): Promise<number> {
    return (await this.recorder.until(name, 'ready', isReady)).atMs;
  }

  async untilGone(name: string): Promise<number> {
    return (await this.recorder.until(name, 'gone', (_, type) => type === 'DELETED')).atMs;
  }
}

async function measureLatencies(
  pods: Pods,
): Promise<Pick<Samples, `${'create' | 'exit' | 'delete'}To${string}Ms` & keyof Figures>> {
  const createToRunningMs: number[] = [];
  const exitToTerminatedMs: number[] = [];
  const exitToSucceededMs: number[] = [];
  const deleteToDeletedMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await sleep(restMs);
    const createdAtMs = Date.now();
    const runs = await pods.create(app(forever));
    const running = await pods.recorder.until(runs, 'running', ({ status }) => status?.phase === 'Running');
    createToRunningMs.push(running.atMs - createdAtMs);
    // Not in step with what an agent does each second.
    await sleep(1_000 + 237 * round);
    const deletedAtMs = Date.now();
    await pods.delete(runs);
    deleteToDeletedMs.push((await pods.untilGone(runs)) - deletedAtMs);

    const ends = await pods.create(app('sleep 1.3; cut -d" " -f1 /proc/uptime > /dev/termination-log'));
    const ended = await pods.recorder.until(ends, 'terminated', (pod) => terminated(pod) !== undefined);
    const exitedAtMs = Date.now() - uptimeMs() + Number(terminated(ended.object).message) * 1000;
    exitToTerminatedMs.push(ended.atMs - exitedAtMs);
    const succeeded = await pods.recorder.until(ends, 'Succeeded', ({ status }) => status?.phase === 'Succeeded');
    exitToSucceededMs.push(succeeded.atMs - exitedAtMs);
    await pods.delete(ends);
    await pods.untilGone(ends);
  }
  return withoutFirst({ createToRunningMs, exitToTerminatedMs, exitToSucceededMs, deleteToDeletedMs });
}

async function measureThirtyPods(pods: Pods): Promise<Pick<Samples, 'thirtyPodsReadyMs' | 'thirtyPodsGoneMs'>> {
  const thirtyPodsReadyMs: number[] = [];
  const thirtyPodsGoneMs: number[] = [];
  for (let round = 0; round < thirtyPodsRounds; round++) {
    await sleep(restMs);
    const createdAtMs = Date.now();
    const names = await Promise.all(Array.from({ length: 30 }, () => pods.create(app(forever))));
    const readyAtMs = Math.max(...(await Promise.all(names.map((name) => pods.untilReady(name)))));
    thirtyPodsReadyMs.push(readyAtMs - createdAtMs);
    await sleep(3_000);
    const deletedAtMs = Date.now();
    await Promise.all(names.map((name) => pods.delete(name)));
    const goneAtMs = Math.max(...(await Promise.all(names.map((name) => pods.untilGone(name)))));
    thirtyPodsGoneMs.push(goneAtMs - deletedAtMs);
  }
  return withoutFirst({ thirtyPodsReadyMs, thirtyPodsGoneMs });
}

/** The first pods after the start of an agent take longer; it runs for weeks. */
function withoutFirst<Name extends string>(samples: Record<Name, readonly number[]>): Record<Name, readonly number[]> {
  return mapValues(samples, ([, ...later]) => later);
}

async function measureIdle(pods: Pods): Promise<Pick<Samples, 'idleCPUPercent' | 'idleMemoryMiB'>> {
  const container = { name: 'app', image: pause };
  const names = await Promise.all(Array.from({ length: idlePods }, () => pods.create(container)));
  await Promise.all(names.map((name) => pods.untilReady(name)));
  await sleep(10_000);
  const pid = pods.node.agent.pid!;
  const before = cpuSeconds(pid);
  await sleep(idleMs);
  const idleCPUPercent = [((cpuSeconds(pid) - before) / idleMs) * 100_000];
  const idleMemoryMiB = [residentMiB(pid)];
  await Promise.all(names.map((name) => pods.delete(name)));
  await Promise.all(names.map((name) => pods.untilGone(name)));
  return { idleCPUPercent, idleMemoryMiB };
}

function terminated(pod: Json): Json {
  return pod.status?.containerStatuses?.[0]?.state.terminated;
}

function uptimeMs(): number {
  return Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1000;
}

/** Of all threads, in user and kernel mode; the kernel counts hundredths of a second. */
function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}
