import type { StatusPageManager } from '../../observe/statusz/create-status-page.ts';
import type { NodeRow, ShownInspection } from '../../observe/statusz/status-document.ts';
import type { Pod, PodStatus } from '../../kube/objects/types.ts';
import type { PodExplanation } from '../../status-manager/explain/explanation.ts';
import type { StatusListener } from '../../status-manager/status-manager.ts';
import type { VirtualNode } from '../virtual-node.ts';
import type { VirtualNodes, VirtualNodesInspection } from '../virtual-nodes.ts';
import { nodeRows } from './node-rows.ts';

/** The status managers of all nodes of a process as one, for the status page. */
export class AllPods implements StatusPageManager {
  readonly podManager = { getPodByUID: (podUID: string): Pod | undefined => this.#find(podUID)?.pod(podUID) };
  readonly #nodes: VirtualNodes;
  readonly #inspect: () => VirtualNodesInspection;
  readonly #now: () => number;
  /** Where each pod was when it was last inspected. */
  #nodeOfPod: ReadonlyMap<string, VirtualNode> = new Map();
  /** Each with the function that ends its subscription. */
  readonly #running = new Map<VirtualNode, () => void>();

  constructor(nodes: VirtualNodes, inspect: () => VirtualNodesInspection, now: () => number) {
    this.#nodes = nodes;
    this.#inspect = inspect;
    this.#now = now;
  }

  subscribe(listener: StatusListener): () => void {
    const end = this.#nodes.forEachNode((node) => {
      for (const earlier of this.#running.keys()) if (!this.#isCurrent(earlier)) this.#running.delete(earlier);
      this.#running.set(node, node.statusManager.subscribe(listener));
    });
    return () => {
      end();
      for (const unsubscribe of this.#running.values()) unsubscribe();
    };
  }

  getPodStatus(podUID: string): PodStatus | undefined {
    return this.#find(podUID)?.statusManager.getPodStatus(podUID);
  }

  explain(podUID: string): PodExplanation | undefined {
    return this.#find(podUID)?.statusManager.explain(podUID);
  }

  nodes(): readonly NodeRow[] {
    return nodeRows(this.#inspect(), this.#now());
  }

  /**
   * As one manager would show it; an outage is that of the first node that has one. The last error of a pod may be that of a
   * call of the provider.
   */
  inspect(): ShownInspection {
    const { state, nodes } = this.#inspect();
    const nodeOfPod = new Map<string, VirtualNode>();
    const pods = nodes.flatMap(({ nodeName, statusManager, podWorkers }) => {
      const node = this.#nodes.node(nodeName);
      const workers = new Map(podWorkers.map((worker) => [worker.uid, worker]));
      return statusManager.pods.map((pod) => {
        if (node !== undefined) nodeOfPod.set(pod.podUID, node);
        const { failingSince, failureReason } = workers.get(pod.podUID) ?? {};
        return { ...pod, callsFailSince: failingSince, lastError: pod.lastError ?? failureReason };
      });
    });
    this.#nodeOfPod = nodeOfPod;
    const managers = nodes.map(({ statusManager }) => statusManager);
    const successes = managers.flatMap(({ lastSuccessfulRequestAt }) => lastSuccessfulRequestAt ?? []);
    const informers = managers.flatMap(({ informer }) => informer ?? []);
    return {
      state,
      pods,
      requestedDeletions: managers.flatMap(({ requestedDeletions }) => requestedDeletions),
      outage: managers.flatMap(({ outage }) => outage ?? [])[0],
      requestFailure: managers.flatMap(({ requestFailure }) => requestFailure ?? [])[0],
      lastSuccessfulRequestAt: successes.toSorted().at(-1),
      informer: informers.find(({ isSynced, failure }) => !isSynced || failure !== undefined) ?? informers[0],
      journalFailure: managers.flatMap(({ journalFailure }) => journalFailure ?? [])[0],
    };
  }

  #isCurrent(node: VirtualNode): boolean {
    return this.#nodes.node(node.nodeName) === node;
  }

  #find(podUID: string): VirtualNode | undefined {
    const known = this.#nodeOfPod.get(podUID);
    if (known !== undefined && this.#isCurrent(known)) return known;
    return [...this.#running.keys()].find((node) => this.#isCurrent(node) && node.pod(podUID) !== undefined);
  }
}
