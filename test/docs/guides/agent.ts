// agent.mjs
import { readFile } from 'node:fs/promises';
import { createNodeAgent } from 'kubelet-status-manager/agent';
import { FakeContainerRuntime } from 'kubelet-status-manager/testing';
import { parse } from 'yaml';

const agent = createNodeAgent({
  nodeName: 'node-a',
  client: parse(await readFile(process.env.KUBECONFIG ?? '', 'utf8')),
  runtime: new FakeContainerRuntime(), // your ContainerRuntime goes here
  node: { addresses: ['127.0.0.1'] },
});
agent.start();
await agent.whenReady();
console.log('node-a is ready');

process.once('SIGTERM', () => void agent.stop({ drain: true }));
process.once('SIGINT', () => void agent.stop({ drain: true, terminatePods: true }));
