import { createNodeAgent } from 'kubelet-status-manager/agent';
import type { KubeConfigObject } from 'kubelet-status-manager/http';
import { createProcessRuntime } from 'kubelet-status-manager/process-runtime';
import { quietLogger } from '../quiet-logger.ts';
import { nodeName } from './messages.ts';

const addresses = ['127.0.0.1'];
/** More than the default of 110, beyond which pods are refused. */
const capacity = { pods: '250' };

/** Starts an agent whose files are in this directory. The result stops it and kills its containers. */
export async function startAgent(directory: string, client: KubeConfigObject): Promise<() => Promise<void>> {
  const runtime = await createProcessRuntime({
    rootDirectory: directory,
    hostIPs: addresses,
    helper: {
      generatePodHostName: ({ metadata }) => metadata.name,
      lookupRuntimeHandler: async (name) => name,
      generateRunContainerOptions: async (_pod, { command = [], args = [] }) => ({
        command,
        args,
        envs: [],
        mounts: [],
      }),
    },
  });
  const node = { addresses, nodeStatus: () => ({ capacity }) };
  const agent = createNodeAgent({ nodeName, client, runtime, node, logger: quietLogger });
  agent.start();
  await agent.whenReady();
  return async () => {
    await agent.stop();
    const pods = await runtime.listPods();
    const containers = pods.flatMap((pod) => pod.containers);
    await Promise.all(containers.map(({ id }) => runtime.stopContainer(id, 0)));
    await runtime.close();
  };
}
