/**
 * A virtual node whose pods are child processes, on the API server of KUBECONFIG:
 *
 *     npm run process-pods
 *     export KUBECONFIG=kubeconfig
 *     kubectl run flaky --image none --overrides '{"spec":{"nodeName":"processes"}}' --command -- sh -c 'sleep 5; exit 1'
 *     kubectl get pods --watch
 */
import { KubeConfig } from '@kubernetes/client-node';
import { createVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { ProcessProvider } from './process-provider.ts';

const kubeConfig = new KubeConfig();
kubeConfig.loadFromDefault();
const provider = new ProcessProvider();
const nodes = createVirtualNodes({ client: kubeConfig, provider });
nodes.add({
  nodeName: 'processes',
  addresses: ['127.0.0.1'],
  nodeStatus: () => ({ capacity: { cpu: '8', memory: '16Gi', pods: '100' } }),
});
nodes.start();
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void nodes.stop().then(() => provider.close()));
await nodes.whenReady();
console.log('Running the pods of the node processes as child processes');
