// process-node.mjs
import { KubeConfig } from '@kubernetes/client-node';
import { createNodeAgent, createRuntimeHelper } from 'kubelet-status-manager/agent';
import { createProcessRuntime } from 'kubelet-status-manager/process-runtime';

const client = new KubeConfig();
client.loadFromDefault();
const [rootDirectory, hostIPs] = [`${process.cwd()}/node`, ['127.0.0.1']];
const helper = createRuntimeHelper({ client, rootDirectory, hostIPs, mounts: false });
const runtime = await createProcessRuntime({ rootDirectory, hostIPs, helper });
const { volumeManager } = helper;
const node = { addresses: hostIPs };
createNodeAgent({ nodeName: 'node-a', client, runtime, volumeManager, node }).start();
