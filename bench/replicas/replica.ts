/*
 * One of several processes with the same virtual nodes, and a cloud in its memory. Usage, with fork:
 * KUBECONFIG_JSON=… replica.js IDENTITY NODES. It sends a reply when it has started, and one to each message.
 */
import type { KubeConfigObject } from 'kubelet-status-manager/http';
import { createVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { cpuMsOfThis } from '../cpu.ts';
import { MemoryCloud } from '../nodes/memory-cloud.ts';
import { quietLogger } from '../quiet-logger.ts';
import type { ReplicaCommand, ReplicaReply } from './messages.ts';

/** That change without time for a Lease in between. */
const podsAtOnce = 20;
const capacity = { cpu: '1000', memory: '4Ti', pods: '500' };

const [identity, count] = process.argv.slice(2) as [string, string];
const client = JSON.parse(process.env['KUBECONFIG_JSON']!) as KubeConfigObject;
const cloud = new MemoryCloud();
const nodes = createVirtualNodes({
  client,
  provider: cloud,
  logger: quietLogger,
  replicas: { identity, namespace: 'kube-system' },
});
for (let i = 0; i < Number(count); i++) nodes.add({ nodeName: `node-${i}`, nodeStatus: () => ({ capacity }) });
nodes.start();
process.on('message', (command: ReplicaCommand) => {
  if (command === 'run') reply({ changed: cloud.runSome(podsAtOnce) });
  else if (command === 'change') reply({ changed: cloud.restartSome(podsAtOnce) });
  else reply(command === 'nodes' ? { nodes: nodes.inspect().nodes.length } : {});
});
process.on('disconnect', () => process.exit());
reply({});

function reply(counts: Pick<ReplicaReply, 'changed' | 'nodes'>): void {
  const usage: ReplicaReply = { cpuMs: cpuMsOfThis(), rssBytes: process.memoryUsage.rss(), ...counts };
  process.send!(usage);
}
