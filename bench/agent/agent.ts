import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from '../children.ts';
import type { Figure, Report } from '../report.ts';
import type { ServerCommand, ServerReply, Usage } from './messages.ts';

export interface AgentOptions {
  readonly progress: (text: string) => void;
}

const idlePods = 110;
const probedPods = 200;
const windowMs = 10_000;
const idleWindows = 6;
const probedWindows = 3;
/** After the start, until events are sent and V8 has compiled what runs each second. */
const settleMs = 10_000;
const exitIntervalMs = 50;

/** What a node agent costs, and how soon the API server knows of an exit; the containers are processes. */
export async function benchAgent({ progress }: AgentOptions): Promise<Report> {
  const reference = await startUsage();
  const idle = await withAgent({ pods: idlePods, hasProbes: false, progress }, async ({ agent }) => {
    progress(`agent: ${idlePods} pods, idle for ${(idleWindows * windowMs) / 1000} s`);
    return measureUsage([agent, reference], idleWindows);
  });
  const probed = await withAgent({ pods: probedPods, hasProbes: true, progress }, async (node) => {
    progress(`agent: ${probedPods} pods with probes for ${(probedWindows * windowMs) / 1000} s`);
    const usage = await measureUsage([node.agent, reference], probedWindows);
    progress(`agent: ${probedPods} pods exit, one each ${exitIntervalMs} ms`);
    for (let exits = 0; exits < probedPods; exits++) {
      node.endContainer();
      await delay(exitIntervalMs);
    }
    return { usage, exitToPatchMs: (await node.server.ask('when-exited')).exitToPatchMs };
  });
  await reference.end();
  return {
    title: `Node agent: ${idlePods} idle pods, ${probedPods} pods with probes`,
    notes: [
      `An agent of createNodeAgent with createProcessRuntime, whose containers are real processes, and the APIServer of kubelet-status-manager/testing; each has its own process. CPU and memory are those of the agent's process alone, in windows of ${windowMs / 1000} s; 100 % is one core. They do not include the containers, and the shim of each container, which is a Node.js process that only waits. They are compared with a Node.js process that does nothing.`,
      `Idle: the pods have one container each, without probes. With probes: each pod has a readiness probe (httpGet) every second and a liveness probe (exec) every 10 s.`,
      `Exit to PATCH: while the probes go on, one container ends every ${exitIntervalMs} ms, until all have. The time is that from the exit, as the last thing that the container itself has written to its termination message, until the API server has handled the PATCH that shows it. In between, the shim records the exit in a file and syncs it to the disk.`,
    ],
    figures: [
      ...usageFigures(`${idlePods} pods, idle`, idle, 1),
      ...usageFigures(`${probedPods} pods with probes`, probed.usage),
      ...([50, 99, 100] as const).map((percent) => ({
        name: `exit to PATCH, ${percent === 100 ? 'longest' : `p${percent}`} of ${probedPods} exits`,
        unit: 'ms',
        values: [percentile(probed.exitToPatchMs, percent)],
      })),
    ],
  };
}

interface Node {
  readonly agent: Child<'usage', Usage>;
  readonly server: Child<ServerCommand, ServerReply>;
  /** Lets the process of one container exit. */
  readonly endContainer: () => void;
}

interface Setting extends AgentOptions {
  readonly pods: number;
  readonly hasProbes: boolean;
}

async function withAgent<T>({ pods, hasProbes, progress }: Setting, measure: (node: Node) => Promise<T>): Promise<T> {
  progress(`agent: ${pods} pods start`);
  const directory = mkdtempSync(join(tmpdir(), 'ksm-'));
  const fifo = join(directory, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const writer = openSync(fifo, constants.O_RDWR);
  const probed = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
  await once(probed, 'listening');
  const probePort = hasProbes ? String((probed.address() as AddressInfo).port) : '';
  const server = await startChild<ServerCommand, ServerReply>(file('server.js'), [String(pods), fifo, probePort]);
  const agent = await startUsage(directory, server.first.kubeConfig);
  await server.ask('when-ready');
  await delay(settleMs);
  const result = await measure({ agent, server, endContainer: () => writeSync(writer, '\n') });
  await agent.end();
  await server.end();
  probed.close();
  closeSync(writer);
  rmSync(directory, { recursive: true });
  return result;
}

function startUsage(directory?: string, kubeConfig?: object): Promise<Child<'usage', Usage>> {
  const env = { KUBECONFIG_JSON: JSON.stringify(kubeConfig) };
  return startChild<'usage', Usage>(file('worker.js'), directory === undefined ? [] : [directory], env);
}

function file(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

interface Sample {
  readonly cpuPercent: number;
  readonly rssBytes: number;
}

/** The samples of each process, one per window. */
async function measureUsage(processes: readonly Child<'usage', Usage>[], windows: number): Promise<Sample[][]> {
  const usages: Usage[][] = [];
  for (let window = 0; window <= windows; window++) {
    if (window > 0) await delay(windowMs);
    usages.push(await Promise.all(processes.map((process) => process.ask('usage'))));
  }
  return processes.map((_, index) =>
    usages.slice(1).map((after, window) => sampleOf(usages[window]![index]!, after[index]!)),
  );
}

function sampleOf(before: Usage, after: Usage): Sample {
  return {
    cpuPercent: (100 * (after.cpuMs - before.cpuMs)) / (after.atMs - before.atMs),
    rssBytes: after.rssBytes,
  };
}

function usageFigures(name: string, [agent = [], reference = []]: readonly Sample[][], cpuAtMost?: number): Figure[] {
  const megabytes = (samples: readonly Sample[]): number[] => samples.map(({ rssBytes }) => rssBytes / 1e6);
  const percents = (samples: readonly Sample[]): number[] => samples.map(({ cpuPercent }) => cpuPercent);
  return [
    {
      name: `${name}: CPU`,
      unit: '% of a core',
      values: percents(agent),
      target: cpuAtMost === undefined ? undefined : { of: 'value', atMost: cpuAtMost },
    },
    {
      name: `${name}: memory (RSS)`,
      unit: 'MB',
      values: megabytes(agent),
      reference: { name: 'idle process', values: megabytes(reference) },
    },
  ];
}

/** The smallest of the values that this percentage of them does not exceed. */
function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1]!;
}
