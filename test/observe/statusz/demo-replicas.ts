import { fault, settle } from 'kubelet-status-manager/testing';
import {
  createVirtualNodes,
  ProviderError,
  serveVirtualNodes,
  type VirtualNodes,
} from 'kubelet-status-manager/virtual-nodes';
import { podOf, TestNodes } from '../../virtual-nodes/test-nodes.ts';

const identities = ['virtual-nodes-6c9d7f5b8-x7k2p', 'virtual-nodes-6c9d7f5b8-m4qzt', 'virtual-nodes-6c9d7f5b8-9wvhd'];
const nodeNames = ['a', 'b', 'c', 'd', 'e', 'f'].map((zone) => `cloud-eu-west-1${zone}`);
const podsPerNode = 8;
const refusedPods = /-[37]$/;

/** Three processes that share six nodes, and the page of the first. Its clock stands still. */
export interface DemoReplicas extends AsyncDisposable {
  readonly test: TestNodes;
  /** Those of the process that has the page. */
  readonly nodes: VirtualNodes;
  readonly url: string;
}

/** The cloud refuses two pods of each node, and the status of one Node cannot be written. */
export async function startDemoReplicas(): Promise<DemoReplicas> {
  const test = await TestNodes.start();
  const { clock, cloud, logger, server } = test;
  const processes = identities.map((identity) => {
    const nodes = createVirtualNodes({
      ...{ client: server.client(), provider: cloud, clock, logger, random: () => 0 },
      replicas: { identity, namespace: 'default' },
    });
    for (const nodeName of nodeNames) nodes.add(test.node(nodeName));
    nodes.start();
    return nodes;
  });
  const advance = (ms: number): Promise<void> => clock.advanceAsync(ms, () => settle(clock, server));
  await advance(60_000);
  cloud.react('createPod', (pod) =>
    refusedPods.test(pod?.name ?? '')
      ? new ProviderError('Quota "GPUS_ALL_REGIONS" exceeded. Limit: 8.0, requested: 16.0', { reason: 'QuotaExceeded' })
      : undefined,
  );
  for (const nodeName of nodeNames)
    for (let i = 0; i < podsPerNode; i++) {
      const { metadata, spec } = podOf(`train-${nodeName.slice(-2)}-${i}`);
      server.pods.create({ metadata: { namespace: 'default', ...metadata }, spec: { ...spec!, nodeName } });
    }
  const [first] = processes as [VirtualNodes, ...VirtualNodes[]];
  await advance(60_000);
  const refusedNode = first.inspect().nodes.at(-1)!.nodeName;
  server.faults.next(
    { resource: 'nodes', name: refusedNode, count: Number.POSITIVE_INFINITY },
    fault.status(403, {
      message: `nodes "${refusedNode}" is forbidden: User "virtual-nodes" cannot patch nodes/status`,
    }),
  );
  await advance(390_000);
  const page = await serveVirtualNodes(first, { port: 0, clock, logger });
  return {
    ...{ test, nodes: first, url: page.url },
    async [Symbol.asyncDispose]() {
      await page.close();
      let isStopped = false;
      const stopping = Promise.all(processes.map((each) => each.stop())).finally(() => (isStopped = true));
      while (!isStopped) await advance(100);
      await stopping;
      server.kill();
    },
  };
}
