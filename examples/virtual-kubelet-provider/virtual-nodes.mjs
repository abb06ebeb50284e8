// virtual-nodes.mjs
import { KubeConfig } from '@kubernetes/client-node';
import { createVirtualNodes } from 'kubelet-status-manager/virtual-nodes';

const kubeConfig = new KubeConfig();
try {
  kubeConfig.loadFromDefault();
} catch (error) {
  console.error(`Set KUBECONFIG to the kubeconfig of a cluster: ${error.message}`);
  process.exit(1);
}

const cloud = new Map(); // stands for your cloud: the UID of each pod → what it knows of the pod
const provider = {
  async createPod(pod, { materials }) {
    const { uid, namespace, name } = pod.metadata;
    if (cloud.has(uid)) return; // the call is repeated when it is not known whether it had an effect
    const { containers } = await materials(); // the environment with what ConfigMaps and Secrets have
    for (const [container, { env }] of containers) console.log(`${name}: ${container} has ${env.length} variables`);
    cloud.set(uid, { uid, namespace, name, nodeName: pod.spec.nodeName, state: 'creating' });
    setTimeout(
      () => Object.assign(cloud.get(uid) ?? {}, { state: 'running', ips: [`10.0.0.${cloud.size}`] }),
      1_000,
    ).unref();
  },
  async deletePod({ uid, name }, { gracePeriodSeconds }) {
    console.log(`${name} stops within ${gracePeriodSeconds} s`);
    cloud.delete(uid);
  },
  async listPods() {
    return [...cloud.values()];
  },
};

const nodes = createVirtualNodes({ client: kubeConfig, provider, listPeriodMs: 1_000 });
for (const nodeName of ['cloud-a', 'cloud-b']) {
  nodes.add({ nodeName, nodeStatus: () => ({ capacity: { cpu: '1000', memory: '4Ti', pods: '500' } }) });
}
nodes.start();
process.once('SIGTERM', () => void nodes.stop({ drain: true }));
process.once('SIGINT', () => void nodes.stop({ drain: true }));
await nodes.whenReady();
console.log('Running pods for cloud-a and cloud-b');
