import { fileURLToPath } from 'node:url';
import { createNodeAgent } from 'kubelet-status-manager/agent';
import { APIServer } from 'kubelet-status-manager/testing';
import { WorkerThreadsRuntime } from './worker-threads-runtime.ts';

// The compiler does not copy the modules, so they stay next to the sources.
const modules = fileURLToPath(new URL('../../../examples/worker-threads-agent/modules', import.meta.url));
const nodeName = 'threads';

const server = await APIServer.start();
const agent = createNodeAgent({
  nodeName,
  client: server.kubeconfig(),
  runtime: new WorkerThreadsRuntime(modules),
  node: { addresses: ['127.0.0.1'] },
});
agent.statusManager.subscribe({
  onPodUpdated: ({ metadata }, { phase }) => console.log(`${metadata?.name}: ${phase}`),
});
agent.start();
await agent.whenReady();

const env = [{ name: 'NAME', value: 'clock' }];
const containers = [{ name: 'clock', image: 'module', command: ['clock.mjs'], env }];
server.pods.create({ metadata: { name: 'clock', namespace: 'default' }, spec: { nodeName, containers } });
const command = ['sum.mjs', '1', '2', '3'];
const restartPolicy = 'Never';
server.pods.create({
  metadata: { name: 'sum', namespace: 'default' },
  spec: { nodeName, restartPolicy, containers: [{ name: 'sum', image: 'module', command }] },
});

process.once('SIGINT', () => void agent.stop({ drain: true, terminatePods: true }).then(() => server.close()));
