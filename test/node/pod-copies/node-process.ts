import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { getHeapSnapshot } from 'node:v8';
import { createNodeAgent } from 'kubelet-status-manager/agent';
import { FakeContainerRuntime } from 'kubelet-status-manager/testing';
import { createVirtualNodes, type ProviderPod } from 'kubelet-status-manager/virtual-nodes';

/*
 * A process with one node, which says for each line that it reads how many objects of it have a property of this name, with this
 * value: `["workingDir","/a"]`. Its heap has nothing but the node, so that what keeps a copy of a pod is counted.
 */

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly edge_fields: readonly string[];
      readonly edge_types: readonly [readonly string[], ...unknown[]];
    };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

async function objectsWith(property: string, value: string): Promise<number> {
  const { snapshot, nodes, edges, strings } = JSON.parse(await text(getHeapSnapshot())) as Snapshot;
  const { node_fields: nodeFields, edge_fields: edgeFields, edge_types: edgeTypes } = snapshot.meta;
  const ofEdge = (field: string): number => edgeFields.indexOf(field);
  const [type, name, to] = [ofEdge('type'), ofEdge('name_or_index'), ofEdge('to_node')] as const;
  const nodeName = nodeFields.indexOf('name');
  let found = 0;
  for (let i = 0; i < edges.length; i += edgeFields.length)
    if (
      edgeTypes[0][edges[i + type]!] === 'property' &&
      strings[edges[i + name]!] === property &&
      strings[nodes[edges[i + to]! + nodeName]!] === value
    )
      found += 1;
  return found;
}

const [kind, kubeconfig] = process.argv.slice(2) as [string, string];
const common = { client: JSON.parse(kubeconfig) as object, logger: { info: () => {}, debug: () => {} } };
const capacity = { cpu: '10', memory: '10Gi', pods: '10' };
if (kind === 'agent') createNodeAgent({ ...common, nodeName: 'node-a', runtime: new FakeContainerRuntime() }).start();
else {
  const pods = new Map<string, ProviderPod>();
  const nodes = createVirtualNodes({
    ...common,
    provider: {
      createPod: async ({ metadata: { uid, name, namespace } }) =>
        void pods.set(uid, { uid, name, namespace, nodeName: 'node-a', state: 'running', startedAt: new Date() }),
      deletePod: async ({ uid }) => void pods.delete(uid),
      listPods: async () => [...pods.values()],
    },
  });
  nodes.add({ nodeName: 'node-a', nodeStatus: () => ({ capacity }) });
  nodes.start();
}
for await (const line of createInterface(process.stdin)) {
  const [property, value] = JSON.parse(line) as [string, string];
  console.log(await objectsWith(property, value));
}
