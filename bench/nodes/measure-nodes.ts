import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pod } from 'kubelet-status-manager';
import type { BenchServer } from './api-servers.ts';
import { connectionsOf } from './connections-of.ts';
import { type Reply, startContestant } from './contestant.ts';
import { changedSuffix, NodePods } from './node-pods.ts';

/** How much is measured. */
export interface Extent {
  readonly rounds: number;
  readonly idleMs: number;
}

/** What one process measures; a list has one value for each round. */
export interface NodesFigures {
  /** Seconds until each pod is shown as Running. */
  readonly running: readonly number[];
  /** Milliseconds of own CPU for each of these pods. */
  readonly runningCPU: readonly number[];
  /** The main thread's part of it; empty if it is unknown, as below. */
  readonly runningThreadCPU: readonly number[];
  /** Seconds until one change of each pod is shown. */
  readonly change: readonly number[];
  /** Milliseconds of own CPU for each of these changes. */
  readonly cpu: readonly number[];
  readonly threadCPU: readonly number[];
  /** Milliseconds of CPU of etcd and the API server for each of these changes. */
  readonly serverCPU: readonly number[];
  /** Requests for each of these changes. */
  readonly requests: readonly number[];
  /** Seconds until each pod is shown as Succeeded. */
  readonly exit: readonly number[];
  /** Milliseconds of own CPU for each of these pods. */
  readonly exitCPU: readonly number[];
  readonly exitThreadCPU: readonly number[];
  readonly rssMegabytes: readonly number[];
  readonly connections: readonly number[];
  readonly watches: readonly number[];
  /** In percent of a core. */
  readonly idleCPU: readonly number[];
  /** Seconds from the start of the second process until what has changed in the meantime is shown. */
  readonly restart: readonly number[];
  /** Writes of unchanged pods, and Events about pods, of the second process. */
  readonly restartWrites: readonly number[];
}

export interface NodesSetting extends Extent {
  readonly server: BenchServer;
  /** See `startContestant`. */
  readonly command: readonly [string, ...string[]];
  readonly nodes: number;
  /** Of the names of the nodes and pods. */
  readonly prefix: string;
  /** Where CPU profiles of the second process are written, which slow it. */
  readonly profiles?: string | undefined;
}

/** For each pod. */
function threadCPUBetween(before: Reply, after: Reply, pods: number): number[] {
  if (before.mainThreadCPUMs === undefined || after.mainThreadCPUMs === undefined) return [];
  return [(after.mainThreadCPUMs - before.mainThreadCPUMs) / pods];
}

/** V8 compiles what runs often: as much is changed before the first measured round. */
export const warmUpChanges = 4000;
const settleMs = 5000;

/** Measures one contestant with so many nodes, in two processes: the second one begins with the cloud of the first. */
export async function measureNodes(setting: NodesSetting): Promise<NodesFigures> {
  const { server, command, nodes, prefix, rounds, idleMs, profiles } = setting;
  const folder = mkdtempSync(join(tmpdir(), 'ksm-nodes-'));
  const kubeConfigFile = join(folder, 'kubeconfig');
  const stateFile = join(folder, 'state.json');
  writeFileSync(kubeConfigFile, JSON.stringify(server.kubeConfig), { mode: 0o600 });
  const start = (...args: readonly string[]) =>
    startContestant([...command, prefix, String(nodes), ...args], {
      KUBECONFIG: kubeConfigFile,
      ...(profiles !== undefined && { PROFILE: '1' }),
    });
  const pods = new NodePods(server.http, prefix, nodes);
  await using _ = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }) };

  const { watches: otherWatches } = await server.requests();
  const first = start();
  await first.ready;
  await pods.create();
  while ((await first.ask('usage')).pods < pods.count) await delay(100);
  await untilQuiet(server);
  const created = await first.ask('usage');
  const running = pods.msUntilEach(isReady);
  await first.ask('run');
  const runningMs = await running;
  const ran = await first.ask('usage');
  await untilQuiet(server);
  await first.ask(`save ${stateFile}`);
  await first.end();

  const [before, eventsBefore] = [await server.requests(), await pods.countEvents()];
  const second = start(stateFile);
  const endProfile = async (of: string): Promise<void> => {
    if (profiles !== undefined) await second.ask(`profiled ${join(profiles, `${prefix}-${of}.cpuprofile`)}`);
  };
  const beginProfile = async (): Promise<void> => {
    if (profiles !== undefined) await second.ask('profile');
  };
  const restartMs = await pods.msUntilEach(hasChanged(0), changedSuffix);
  await second.ready;
  await endProfile('restart');
  await untilQuiet(server);
  const [after, eventsAfter] = [await server.requests(), await pods.countEvents()];

  const change: number[] = [];
  const cpu: number[] = [];
  const threadCPU: number[] = [];
  const serverCPU: number[] = [];
  const requests: number[] = [];
  const warmUpRounds = Math.ceil(warmUpChanges / pods.count);
  for (let round = 1; round <= warmUpRounds + rounds; round++) {
    if (round === warmUpRounds + 1) await beginProfile();
    const [usage, handled] = [await second.ask('usage'), await server.requests()];
    const serverMs = server.cpuMs();
    const changed = pods.msUntilEach(hasChanged(round));
    await second.ask('change');
    const ms = await changed;
    const serverMsAfter = server.cpuMs();
    const [usageAfter, handledAfter] = [await second.ask('usage'), await server.requests()];
    if (round <= warmUpRounds) continue;
    change.push(ms / 1000);
    cpu.push((usageAfter.cpuMs - usage.cpuMs) / pods.count);
    threadCPU.push(...threadCPUBetween(usage, usageAfter, pods.count));
    if (serverMs !== undefined) serverCPU.push((serverMsAfter! - serverMs) / pods.count);
    const reads = handledAfter.podReads - handled.podReads;
    requests.push((reads + handledAfter.podWrites - handled.podWrites) / pods.count);
  }

  await endProfile('changes');
  await delay(settleMs);
  await beginProfile();
  const idleBefore = await second.ask('usage');
  await delay(idleMs);
  const idleAfter = await second.ask('usage');
  await endProfile('idle');
  const connections = connectionsOf(second.pid);
  const { watches } = await server.requests();

  await beginProfile();
  const ended = pods.msUntilEach(({ status }) => status?.phase === 'Succeeded');
  await second.ask('stop');
  const exitMs = await ended;
  const exited = await second.ask('usage');
  await endProfile('ends');
  await second.end();
  await pods.delete();
  return {
    running: [runningMs / 1000],
    runningCPU: [(ran.cpuMs - created.cpuMs) / pods.count],
    runningThreadCPU: threadCPUBetween(created, ran, pods.count),
    ...{ change, cpu, threadCPU, serverCPU, requests },
    exit: [exitMs / 1000],
    exitCPU: [(exited.cpuMs - idleAfter.cpuMs) / pods.count],
    exitThreadCPU: threadCPUBetween(idleAfter, exited, pods.count),
    rssMegabytes: [idleAfter.rssBytes / 1e6],
    connections: connections === undefined ? [] : [connections],
    // The watch of this process is not that of the contestant.
    watches: [watches - otherWatches - 1],
    idleCPU: [(100 * (idleAfter.cpuMs - idleBefore.cpuMs)) / idleMs],
    restart: [restartMs / 1000],
    restartWrites: [after.podWrites - before.podWrites - nodes + eventsAfter - eventsBefore],
  };
}

/** Resolves when no pod has been written for two seconds. */
async function untilQuiet(server: BenchServer): Promise<void> {
  let [before, { podWrites }] = [-1, await server.requests()];
  while (podWrites !== before) {
    await delay(2000);
    [before, { podWrites }] = [podWrites, await server.requests()];
  }
}

function isReady({ status }: Pod): boolean {
  if (status?.phase !== 'Running') return false;
  return status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

/** True after so many changes; the pods that have changed during the restart have changed once more. */
function hasChanged(times: number): (pod: Pod) => boolean {
  return ({ metadata, status }) => {
    const expected = metadata!.name!.endsWith(changedSuffix) ? times + 1 : times;
    return (status?.containerStatuses?.[0]?.restartCount ?? 0) >= expected;
  };
}
