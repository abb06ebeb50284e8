/**
 * The TypeScript blocks of the documents, word for word, so that the compiler reads them;
 * docs.test.ts holds both to each other. Nothing here runs.
 */
/* oxlint-disable no-restricted-imports -- the documents show the plain form */
import { createServer } from 'node:http';
import { KubeConfig } from '@kubernetes/client-node';
import { BasicPodManager, StatusManager } from 'kubelet-status-manager';
import { checkAccess } from 'kubelet-status-manager';
import { accessParts, rbacManifest } from 'kubelet-status-manager';
import { createNodeAgent, createRuntimeHelper, type NodeAgent, serveAgent } from 'kubelet-status-manager/agent';
import type { ContainerRuntime } from 'kubelet-status-manager/agent';
import { createCRIRuntime } from 'kubelet-status-manager/cri';
import { createPodClient } from 'kubelet-status-manager/http';
import type { HTTPPodClient, KubeConfigObject } from 'kubelet-status-manager/http';
import { serveKubeletAPI } from 'kubelet-status-manager/kubelet-api';
import type { KubeletAPIOptions } from 'kubelet-status-manager/kubelet-api';
import { serveVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import type { PodProvider, VirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { createStatusPage } from 'kubelet-status-manager/statusz';
import type { Container } from 'kubelet-status-manager';
import { checkContainerRuntime } from 'kubelet-status-manager/testing';
import { checkPodProvider } from 'kubelet-status-manager/testing';
import { Registry } from 'prom-client';
import type { Pod, PodClient, PodManager } from '../../src/status-manager/index.ts';

declare const runtime: { couldHaveRunningContainers(pod: Pod): boolean };
declare const podsOfThisNode: Pod[];
declare function podCouldHaveRunningContainers(pod: Pod): boolean;

export function overClientNode(): void {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromDefault();
  const podManager = new BasicPodManager();
  podManager.setPods(podsOfThisNode);

  const manager = new StatusManager({
    client: kubeConfig,
    podManager,
    podCouldHaveRunningContainers: (pod) => runtime.couldHaveRunningContainers(pod),
  });
  manager.start();
}

export async function withMetrics(client: PodClient, podManager: PodManager): Promise<unknown> {
  const register = new Registry();
  const metrics = createPrometheusMetrics({ register });
  const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers, metrics });
  const body = await register.metrics(); // the response to GET /metrics
  return { manager, body };
}

export async function whoMayDoWhat(podClient: HTTPPodClient, nodeName: string): Promise<void> {
  const report = await checkAccess(podClient, { nodeName, parts: ['status-manager', 'informer'] });
  if (!report.isComplete) console.error(report.explain());
}

export function aManifest(): void {
  console.log(
    rbacManifest({
      nodeName: 'virtual-1',
      parts: accessParts,
      subject: { kind: 'ServiceAccount', namespace: 'providers', name: 'provider' },
    }),
  );
}

export function aTaintedVirtualNode(nodes: VirtualNodes): void {
  nodes.add({
    nodeName: 'cloud-a',
    labels: { type: 'virtual-kubelet' },
    taints: [{ key: 'virtual-kubelet.io/provider', value: 'example', effect: 'NoSchedule' }],
    nodeStatus: () => ({ capacity: { cpu: '1000', memory: '4Ti', pods: '500' } }),
  });
}

export async function statisticsOfVirtualNodes(nodes: VirtualNodes): Promise<void> {
  for (const [i, nodeName] of ['cloud-a', 'cloud-b'].entries()) {
    const kubelet = nodes.kubeletOf(nodeName);
    await serveKubeletAPI(kubelet, {
      runtime: kubelet,
      port: 10_250 + i,
      certDirectory: `/var/run/kubelet-certificate/${nodeName}`,
      authentication: { clientCAFile: '/var/run/kubelet-client/ca.crt' },
    });
  }
}

export function aStatusPage(manager: StatusManager, nodeName: string): void {
  const page = createStatusPage(manager, { nodeName });
  const server = createServer(page).listen(8080, '127.0.0.1'); // http://127.0.0.1:8080/

  page.close(); // ends its subscription to the manager
  server.close();
}

export async function anAgentServer(agent: NodeAgent, register: Registry): Promise<void> {
  const agentServer = await serveAgent(agent, { register });
  console.log(`Status page: ${agentServer.url}/statusz/`);

  await agent.stop({ drain: true });
  await agentServer.close();
}

export async function aServerOfVirtualNodes(nodes: VirtualNodes, register: Registry): Promise<void> {
  const health = await serveVirtualNodes(nodes, { host: '0.0.0.0', port: 10_248, register });
  console.log(`Status page: ${health.url}/statusz/`);
}

export async function anAgentOnContainerd(kubeConfig: KubeConfigObject): Promise<void> {
  const client = createPodClient(kubeConfig);
  const helper = createRuntimeHelper({ client, clusterDNS: ['10.96.0.10'], hostIPs: ['192.0.2.7'] });
  const runtime = await createCRIRuntime({
    endpoint: 'unix:///run/containerd/containerd.sock',
    cgroupRoot: '/kubepods-agent', // a kubelet on the same machine has /kubepods
    helper,
  });
  const { volumeManager } = helper;
  const agent = createNodeAgent({ nodeName: 'node-a', client, runtime, volumeManager });
  agent.start();

  // When it is to end:
  await agent.stop({ drain: true });
  runtime.close();
  await helper.close();
}

export async function theKubeletAPI(agent: NodeAgent, runtime: KubeletAPIOptions['runtime']): Promise<void> {
  const server = await serveKubeletAPI(agent, {
    runtime,
    authentication: { clientCAFile: '/etc/kubernetes/pki/ca.crt' },
  });
  await server.close();
}

export async function aChecklist(runtime: ContainerRuntime): Promise<void> {
  const sh = (script: string): Container => ({ name: 'app', image: 'busybox:1', command: ['sh', '-c', script] });
  const results = await checkContainerRuntime(runtime, {
    running: sh('trap "exit 0" TERM; while true; do sleep 0.1; done'),
    completed: sh('echo done'),
    failed: { container: sh('exit 3'), exitCode: 3 },
    stubborn: sh('trap "" TERM; while true; do sleep 1; done'),
  });
  console.table(results.filter(({ passed }) => !passed));
}

export async function aChecklistOfProviders(provider: PodProvider): Promise<void> {
  const results = await checkPodProvider(provider, {
    running: { name: 'app', image: 'busybox:1', command: ['sleep', '3600'] },
    completed: { name: 'app', image: 'busybox:1', command: ['true'] },
    failed: { container: { name: 'app', image: 'busybox:1', command: ['false'] }, exitCode: 1 },
  });
  for (const { rule, passed, message } of results) if (!passed) console.log(`${rule}: ${message}`);
}
