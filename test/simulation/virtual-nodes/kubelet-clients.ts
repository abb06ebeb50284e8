import { PassThrough } from 'node:stream';
import { AllPods } from '../../../src/virtual-nodes/http-server/all-pods.ts';
import { nodesProblems, readinessChecks } from '../../../src/virtual-nodes/http-server/node-rows.ts';
import type { VirtualNodes } from '../../../src/virtual-nodes/index.ts';
import type { Random } from '../../chaos/random.ts';

const io = { tty: false, stdin: undefined, stdout: undefined, stderr: undefined, onResize: () => {} };
const log = { previous: false, timestamps: false };

/** What `kubectl` and the metrics server ask of the kubelet's API, and what status pages show. Nothing of it may throw but calls for pods. */
export async function askKubelet(nodes: VirtualNodes, random: Random): Promise<void> {
  const { kubelet } = nodes;
  kubelet.inspect();
  kubelet.getNode();
  const pods = await kubelet.listPods();
  for (const { uid, containers } of pods) {
    const kind = random.pick(['log', 'exec', 'attach', 'port']);
    await kubelet.getPod(uid);
    kubelet.statusManager.getPodStatus(uid);
    const id = containers[0]?.id ?? `provider://${uid}/c0/0`;
    const calls: Readonly<Record<string, () => Promise<unknown> | undefined>> = {
      log: () => kubelet.streamContainerLog?.(id, log, {}),
      exec: () => kubelet.exec?.(id, ['sh'], io, {}),
      attach: () => kubelet.attach?.(id, io, {}),
      port: () => kubelet.portForward?.(uid, 80, new PassThrough(), {}),
    };
    // Refused when the node is not owned, or the pod is gone.
    await calls[kind]!()?.catch(() => {});
  }
  await kubelet.listPodStats?.().catch(() => {});
  for (const { nodeName } of nodes.inspect().nodes) {
    const node = nodes.node(nodeName);
    node?.getNode();
    for (const { podUID } of node?.statusManager.inspect().pods ?? []) node!.statusManager.explain(podUID);
    await nodes
      .kubeletOf(nodeName)
      .listPodStats?.()
      .catch(() => {});
  }
}

/** What the pages of a process show, at any time. */
export function readPages(nodes: VirtualNodes, nowMs: number): void {
  const inspected = nodes.inspect();
  const pods = new AllPods(
    nodes,
    () => inspected,
    () => nowMs,
  );
  const unsubscribe = pods.subscribe({ onPodUpdated: () => {} });
  for (const { podUID } of pods.inspect().pods) {
    pods.getPodStatus(podUID);
    pods.explain(podUID);
    pods.podManager.getPodByUID(podUID);
  }
  pods.nodes();
  readinessChecks(inspected, nowMs);
  nodesProblems(inspected, nowMs);
  unsubscribe();
}
