import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { KubeConfigObject } from 'kubelet-status-manager/http';
import { createVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { quietLogger } from '../quiet-logger.ts';
import { type Command, replyOfThis } from './contestant.ts';
import { MemoryCloud } from './memory-cloud.ts';
import { beginProfile, endProfile } from './profile.ts';

const capacity = { cpu: '1000', memory: '4Ti', pods: '500' };

/** Serves the commands of contestant.ts until the standard input ends. */
export async function runVirtualNodes(): Promise<void> {
  const [prefix, count, stateFile] = process.argv.slice(2);
  const client = JSON.parse(readFileSync(process.env['KUBECONFIG']!, 'utf8')) as KubeConfigObject;
  const cloud = new MemoryCloud(stateFile);
  const nodes = createVirtualNodes({ client, provider: cloud, logger: quietLogger });
  for (let i = 0; i < Number(count); i++) nodes.add({ nodeName: `${prefix}-${i}`, nodeStatus: () => ({ capacity }) });
  nodes.start();
  await nodes.whenReady();
  reply(cloud);
  for await (const line of createInterface({ input: process.stdin })) {
    await execute(line as Command, cloud);
    reply(cloud);
  }
  process.exit();
}

async function execute(command: Command, cloud: MemoryCloud): Promise<void> {
  if (command === 'run') cloud.run();
  if (command === 'change') cloud.restart();
  if (command === 'stop') cloud.stop();
  if (command === 'profile') await beginProfile();
  if (command.startsWith('profiled ')) await endProfile(command.slice('profiled '.length));
  if (command.startsWith('save ')) cloud.save(command.slice('save '.length));
}

function reply(cloud: MemoryCloud): void {
  process.stdout.write(`${JSON.stringify(replyOfThis(cloud.size))}\n`);
}
