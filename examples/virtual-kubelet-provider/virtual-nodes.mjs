// virtual-nodes.mjs
import { KubeConfig } from '@kubernetes/client-node';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { createVirtualNodes, serveVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { Registry } from 'prom-client';

const kubeConfig = new KubeConfig();
try {
  kubeConfig.loadFromDefault();
} catch (error) {
  console.error(`Set KUBECONFIG to the kubeconfig of a cluster: ${error.message}`);
  process.exit(1);
}

const cloud = new Map(); // stands for your cloud: the UID of each pod → what it knows of the pod
let created = 0;
const provider = {
  async createPod(pod, { materials }) {
    const { uid, namespace, name } = pod.metadata;
    if (cloud.has(uid)) return; // the call is repeated when it is not known whether it had an effect
    const { containers } = await materials(); // the environment with what ConfigMaps and Secrets have
    for (const [container, { env }] of containers) console.log(`${name}: ${container} has ${env.length} variables`);
    cloud.set(uid, { uid, namespace, name, nodeName: pod.spec.nodeName, state: 'creating' });
    const ips = [`10.0.0.${++created}`];
    setTimeout(() => Object.assign(cloud.get(uid) ?? {}, { state: 'running', ips }), 1_000).unref();
  },
  async deletePod({ uid, name }, { gracePeriodSeconds }) {
    console.log(`${name} stops within ${gracePeriodSeconds} s`);
    cloud.delete(uid);
  },
  async listPods() {
    return [...cloud.values()];
  },
};

const register = new Registry();
const metrics = createPrometheusMetrics({ register });
const nodes = createVirtualNodes({ client: kubeConfig, provider, metrics, listPeriodMs: 1_000 });
for (const nodeName of ['cloud-a', 'cloud-b']) {
  nodes.add({ nodeName, nodeStatus: () => ({ capacity: { cpu: '1000', memory: '4Ti', pods: '500' } }) });
}
const server = await serveVirtualNodes(nodes, { port: 10_248, register });
nodes.start();
const stop = () => nodes.stop({ drain: true }).then(() => server.close());
process.once('SIGTERM', () => void stop());
process.once('SIGINT', () => void stop());
await nodes.whenReady();
console.log(`Running pods for cloud-a and cloud-b; their page: ${server.url}/statusz/`);
