import { join } from 'node:path';
import { compareAgents, type NodeOfAgents } from '../../side-by-side/compare-agents.ts';
import { RecordingsFolder } from '../../side-by-side/recordings-folder.ts';
import { renderResults } from '../../side-by-side/report.ts';
import { allShapes } from '../../side-by-side/shapes/all-shapes.ts';
import type { AgentName } from '../../support/node/agents.ts';
import { Cluster } from '../../support/node/cluster.ts';
import type { ShapeNode } from '../../support/node/node-under-test.ts';
import type { TestNode } from '../test-node.ts';
import { type CgroupDriver, startKubelet } from './from-kubelet.ts';

/** What cgroups v2 and the driver decide, and how pods usually live. */
const names: readonly string[] = [
  ...['runs', 'crash-loop', 'fails', 'guaranteed', 'out-of-memory', 'resize-cpu', 'resize-memory-with-restart'],
  ...['init-containers', 'sidecars-terminate-in-order', 'deleted-in-crash-loop'],
];

/** The same pods under the agent and under the real kubelet, on the machine: a watcher sees no difference. */
export async function shapes(node: TestNode, driver: CgroupDriver): Promise<void> {
  const cluster = new Cluster(join(node.folder, 'admin.kubeconfig'));
  try {
    await cluster.createNamespace();
    const results = await compareAgents(agentsOf(node, cluster, driver), {
      shapes: names.map((name) => allShapes.find((shape) => shape.name === name)!),
      recordings: new RecordingsFolder(join(node.folder, `kubelet-${driver}`)),
      progress: node.progress,
      ...{ concurrency: 2, timeoutMs: 420_000 },
    });
    if (results.some(({ result }) => result === 'different' || result === 'failed'))
      throw new Error(`not as under the kubelet\n${renderResults(results, false).join('\n')}`);
  } finally {
    await cluster.close();
  }
}

/** The agent runs before and afterwards. */
function agentsOf(node: TestNode, cluster: Cluster, driver: CgroupDriver): NodeOfAgents {
  const shapeNode = new APIOnly(cluster, node.folder);
  const stop = async (unit: string): Promise<void> => {
    await node.machine.run(`systemctl disable --now ${unit}`);
    // The next agent registers it again: then Ready is what it reports itself.
    await cluster.deleteNode();
  };
  return {
    async withAgent<T>(name: AgentName, use: (shapeNode: ShapeNode) => Promise<T>): Promise<T> {
      if (name === 'agent') return use(shapeNode);
      await stop('containerd-agent');
      await startKubelet(node, driver);
      try {
        return await use(shapeNode);
      } finally {
        await stop('kubelet');
        await node.machine.run('systemctl enable --now containerd-agent');
        await node.untilNode('Ready', 'True');
      }
    },
  };
}

/** For shapes that only use the API. */
class APIOnly implements ShapeNode {
  readonly cluster: Cluster;
  /** Nobody reads it. */
  readonly agent: ShapeNode['agent'];

  constructor(cluster: Cluster, folder: string) {
    this.cluster = cluster;
    this.agent = { staticPods: join(folder, 'static-pods') };
  }

  get machine(): never {
    throw new Error('This shape needs the processes of the machine');
  }

  disturb(): Promise<never> {
    return Promise.reject(new Error('This shape needs the processes of the machine'));
  }
}
