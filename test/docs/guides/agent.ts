// agent.mjs
import { KubeConfig } from '@kubernetes/client-node';
import { createNodeAgent } from 'kubelet-status-manager/agent';
import { FakeContainerRuntime } from 'kubelet-status-manager/testing';

const kubeConfig = new KubeConfig();
kubeConfig.loadFromDefault();
const agent = createNodeAgent({
  nodeName: 'node-a',
  client: kubeConfig,
  runtime: new FakeContainerRuntime(), // your ContainerRuntime goes here
  node: { addresses: ['127.0.0.1'] },
});
agent.start();
await agent.whenReady();
console.log('node-a is ready');

process.once('SIGTERM', () => void agent.stop({ drain: true }));
process.once('SIGINT', () => void agent.stop({ drain: true, terminatePods: true }));
