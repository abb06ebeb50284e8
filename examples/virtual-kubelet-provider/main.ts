/**
 * Three virtual nodes whose pods run in a slow, forgetful cloud that often fails, on an API server in memory:
 *
 *     npm run virtual-nodes
 *
 * Each change of a pod is a line; piped, it is a line of JSON. The key `o` takes the cloud away and brings it back, `q`
 * ends the program.
 */
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { destination, pino } from 'pino';
import { systemClock } from 'kubelet-status-manager';
import { createPodClient } from 'kubelet-status-manager/http';
import { createVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { APIServer } from 'kubelet-status-manager/testing';
import { parseDuration } from '../node-agent/duration.ts';
import { readKeys } from '../node-agent/keys.ts';
import { Cloud } from './cloud.ts';
import { PodLines } from './pod-lines.ts';
import { cloudProvider } from './provider.ts';

interface Options {
  readonly for?: number;
  readonly outageAfter?: number;
  readonly kubeconfig?: string;
  readonly seed: number;
}

const nodeNames = ['cloud-a', 'cloud-b', 'cloud-c'];
const isTerminal = process.stdout.isTTY;
const outageMs = 10_000;

const command = new Command('npm run virtual-nodes --')
  .description('Three virtual nodes whose pods run in a slow, forgetful cloud, on an API server in memory.')
  .option('--for <duration>', 'end after this time, for example 30s', readDuration)
  .option('--outage-after <duration>', 'the cloud is away for ten seconds then, as with the key o', readDuration)
  .option('--kubeconfig <file>', 'write a kubeconfig for kubectl')
  .option('--seed <number>', "of the cloud's failures", Number, 1)
  .action(run);
process.stdout.on('error', () => process.exit());
await command.parseAsync();

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const cloud = new Cloud({ seed: options.seed });
  const server = await APIServer.start();
  if (options.kubeconfig !== undefined) await writeFile(options.kubeconfig, server.kubeconfigYaml(), { mode: 0o600 });
  const nodes = createVirtualNodes({
    client: server.kubeconfig(),
    provider: cloudProvider(await cloud.start()),
    listPeriodMs: 1000,
    logger: pino({ level: 'warn' }, destination(2)),
  });
  for (const nodeName of nodeNames) {
    nodes.add({ nodeName, nodeStatus: () => ({ capacity: { cpu: '100', memory: '1Ti', pods: '500' } }) });
  }
  nodes.start();

  const client = createPodClient(server.kubeconfig());
  const lines = new PodLines(client.transport, isTerminal);
  const endKeys = process.stdin.isTTY
    ? readKeys(process.stdin, (key) => handleKey(key, cloud, stop), systemClock)
    : () => {};
  if (isTerminal) console.log('o: the cloud goes and comes back, q: end');
  await nodes.whenReady();
  await lines.createPods(nodeNames);

  const timers = [
    options.for !== undefined && setTimeout(() => stop.abort(), options.for),
    options.outageAfter !== undefined && setTimeout(() => toggle(cloud), options.outageAfter),
    options.outageAfter !== undefined && setTimeout(() => toggle(cloud), options.outageAfter + outageMs),
  ];
  while (!stop.signal.aborted) {
    await lines.print();
    await sleep(200, undefined, { signal: stop.signal }).catch(() => {});
  }
  for (const timer of timers) if (timer !== false) clearTimeout(timer);
  endKeys();
  await nodes.stop({ drain: true });
  await client.transport.close();
  await server.close();
  await cloud.close();
}

function handleKey(key: string, cloud: Cloud, stop: AbortController): void {
  if (key === 'o') toggle(cloud);
  if (key === 'q') stop.abort();
}

function toggle(cloud: Cloud): void {
  cloud.isDown = !cloud.isDown;
  console.log(isTerminal ? `The cloud is ${cloud.isDown ? 'away' : 'back'}` : JSON.stringify({ isDown: cloud.isDown }));
}

function readDuration(text: string): number {
  const durationMs = parseDuration(text);
  if (!durationMs) throw new InvalidArgumentError('Expected a time above zero such as 20s or 1m30s.');
  return durationMs;
}
