/**
 * What deployment.yaml runs: one of several processes that share virtual nodes out, with `kubectl logs` and `exec`, probes,
 * metrics and the status page. The environment says where the cloud is, and where the API server reaches this process.
 */
import { KubeConfig } from '@kubernetes/client-node';
import { serveKubeletAPI } from 'kubelet-status-manager/kubelet-api';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { createVirtualNodes, serveVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { cloudProvider } from './provider.ts';

const env = (name: string): string => {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`Set ${name}`);
};

const client = new KubeConfig();
client.loadFromDefault();
const register = new Registry();
collectDefaultMetrics({ register });
const nodes = createVirtualNodes({
  client,
  provider: cloudProvider(env('CLOUD_URL')),
  replicas: { identity: env('IDENTITY'), namespace: 'virtual-nodes' },
  metrics: createPrometheusMetrics({ register }),
});
const capacity = { cpu: '100', memory: '1Ti', pods: '500' };
// Only pods that are meant for the cloud come here, and not those of this Deployment.
const taints = [{ key: 'virtual-kubelet.io/provider', value: 'example', effect: 'NoSchedule' }];
for (const nodeName of ['cloud-a', 'cloud-b', 'cloud-c']) {
  nodes.add({ nodeName, addresses: [env('POD_IP')], taints, nodeStatus: () => ({ capacity }) });
}
const server = await serveKubeletAPI(nodes.kubelet, {
  runtime: nodes.kubelet,
  port: Number(env('PORT')),
  certDirectory: env('CERT_DIRECTORY'),
  authentication: { clientCAFile: env('CLIENT_CA_FILE') },
});
const health = await serveVirtualNodes(nodes, { host: '0.0.0.0', port: Number(env('HEALTH_PORT')), register });
nodes.start();

async function stop(): Promise<void> {
  await nodes.stop();
  await server.close();
  await health.close();
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stop());
}
