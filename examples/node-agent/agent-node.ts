import type { Logger } from 'kubelet-status-manager';
import type { Node, NodeAgentNode } from 'kubelet-status-manager/agent';
import { type KubeTransport, pathSegment } from 'kubelet-status-manager/http';
import { AgentError } from './agent-error.ts';

/** Marks the Nodes that belong to this agent, so that it never adopts another one. */
const agentLabel = 'kubelet-status-manager.dev/node-agent';
const agentTaint = { key: agentLabel, effect: 'NoSchedule' };
const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

export interface AgentNodeOptions {
  readonly nodeName: string;
  /** IP addresses of the node. */
  readonly addresses: readonly string[];
  /** Keeps pods away that do not tolerate it. */
  readonly isTainted: boolean;
}

/** The agent's Node, and whether this run has created it. */
export class AgentNode {
  readonly #options: AgentNodeOptions;
  #wasThere = false;

  constructor(options: AgentNodeOptions) {
    this.#options = options;
  }

  /** The option `node` of `createNodeAgent`. */
  options(): NodeAgentNode {
    const { addresses, isTainted } = this.#options;
    return {
      addresses,
      labels: { [agentLabel]: '' },
      taints: isTainted ? [agentTaint] : [],
      nodeStatus: () => ({ nodeInfo: { containerRuntimeVersion: 'process://1', kubeletVersion: 'node-agent' } }),
      adoptNode: (node) => this.#adopt(node),
    };
  }

  /** Removes the Node if this run has created it. A node's user is not allowed to; then the Node stays, not ready. */
  async remove(transport: Pick<KubeTransport, 'request'>, logger: Pick<Logger, 'warn'>): Promise<void> {
    if (this.#wasThere) return;
    const { nodeName } = this.#options;
    const name = pathSegment(nodeName, 'nodeName');
    try {
      await transport.request('DELETE', `/api/v1/nodes/${name}`);
      await transport.request('DELETE', `${leasesPath}/${name}`);
    } catch (error) {
      logger.warn(
        { node: nodeName, reason: String(error) },
        `Could not remove the Node; it stays, not ready. An administrator can remove it: kubectl delete node ${nodeName}`,
      );
    }
  }

  /** An earlier run may have left the Node without its taint, on a cluster of its own. */
  #adopt({ metadata: { labels, resourceVersion }, spec }: Node): object | undefined {
    this.#wasThere = true;
    if (!Object.hasOwn(labels ?? {}, agentLabel)) {
      throw new AgentError(
        'a Node of this name exists and does not belong to this agent; choose another one with --node-name',
      );
    }
    const taints = spec?.taints ?? [];
    if (!this.#options.isTainted || taints.some(({ key }) => key === agentLabel)) return undefined;
    return { metadata: { resourceVersion }, spec: { taints: [...taints, agentTaint] } };
  }
}
