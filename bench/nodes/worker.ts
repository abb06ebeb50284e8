/*
 * Virtual nodes of this library in their own process, with a cloud in its memory.
 * Usage: KUBECONFIG=FILE worker.js PREFIX NODES [STATE]. See contestant.ts.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { KubeConfigObject } from 'kubelet-status-manager/http';
import { createVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { quietLogger } from '../quiet-logger.ts';
import type { Command, Reply } from './contestant.ts';
import { MemoryCloud } from './memory-cloud.ts';

const capacity = { cpu: '1000', memory: '4Ti', pods: '500' };

const [prefix, count, stateFile] = process.argv.slice(2);
const client = JSON.parse(readFileSync(process.env['KUBECONFIG']!, 'utf8')) as KubeConfigObject;
const cloud = new MemoryCloud(stateFile);
const nodes = createVirtualNodes({ client, provider: cloud, logger: quietLogger });
for (let i = 0; i < Number(count); i++) nodes.add({ nodeName: `${prefix}-${i}`, nodeStatus: () => ({ capacity }) });
nodes.start();
await nodes.whenReady();
reply();
for await (const line of createInterface({ input: process.stdin })) {
  execute(line as Command);
  reply();
}
process.exit();

function execute(command: Command): void {
  if (command === 'run') cloud.run();
  if (command === 'change') cloud.restart();
  if (command === 'stop') cloud.stop();
  if (command.startsWith('save ')) cloud.save(command.slice('save '.length));
}

function reply(): void {
  const { user, system } = process.cpuUsage();
  const usage: Reply = {
    cpuMs: (user + system) / 1000,
    rssBytes: process.memoryUsage.rss(),
    pods: cloud.size,
  };
  process.stdout.write(`${JSON.stringify(usage)}\n`);
}
