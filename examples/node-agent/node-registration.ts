import { ApiError, type Clock, type Logger } from 'kubelet-status-manager';
import { type Node, NodeReporter } from 'kubelet-status-manager/agent';
import { type KubeTransport, pathSegment } from 'kubelet-status-manager/http';
import { AgentError } from './agent-error.ts';

/** Marks the Nodes that are this agent's, so that it never takes over another one. */
const agentLabel = 'kubelet-status-manager.dev/node-agent';
const agentTaint = { key: agentLabel, effect: 'NoSchedule' };
const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

export interface NodeRegistrationOptions {
  readonly transport: KubeTransport;
  readonly nodeName: string;
  /** IP addresses of the node. */
  readonly addresses: readonly string[];
  /** Keeps pods away that do not ask for this node. */
  readonly isTainted: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The agent's Node object and its heartbeat, by the library's `NodeReporter`. */
export class NodeRegistration {
  readonly #options: NodeRegistrationOptions;
  readonly #reporter: NodeReporter;
  #wasThere = false;
  #isRegistered = false;

  constructor(options: NodeRegistrationOptions) {
    const { transport, nodeName, addresses, isTainted, clock, logger } = options;
    this.#options = options;
    this.#reporter = new NodeReporter({
      ...{ transport, nodeName, clock, logger },
      labels: { [agentLabel]: '' },
      taints: isTainted ? [agentTaint] : [],
      nodeStatus: () => ({
        addresses: [
          ...addresses.map((address) => ({ type: 'InternalIP', address })),
          { type: 'Hostname', address: nodeName },
        ],
        nodeInfo: { containerRuntimeVersion: 'process://1', kubeletVersion: 'node-agent' },
      }),
      adoptNode: (node) => this.#adopt(node),
    });
  }

  /** Creates the Node, or takes up the one that an earlier run has left, and starts the heartbeat. */
  async register(): Promise<void> {
    try {
      await this.#reporter.register();
    } catch (error) {
      const hint = error instanceof ApiError && error.kind === 'network' ? ' (does the API server run?)' : '';
      throw AgentError.from(error, `cannot register the Node ${this.#options.nodeName}${hint}`);
    }
    this.#isRegistered = true;
    this.#reporter.start();
  }

  /** Reports the Node as not ready; removes it when this run has created it and `remove` is set. */
  async unregister({ remove }: { remove: boolean }): Promise<void> {
    await this.#reporter.stop();
    if (remove && this.#isRegistered && !this.#wasThere && (await this.#remove())) return;
    await this.#reporter.stop({ reportNotReady: true });
  }

  /** @returns false when the agent is not allowed to: a node's own user may not delete its Node */
  async #remove(): Promise<boolean> {
    const { transport, logger, nodeName } = this.#options;
    const name = pathSegment(nodeName, 'nodeName');
    try {
      await transport.request('DELETE', `/api/v1/nodes/${name}`);
      await transport.request('DELETE', `${leasesPath}/${name}`);
      return true;
    } catch (error) {
      logger.warn(
        { node: nodeName, reason: String(error) },
        `Could not remove the Node; it stays, not ready. An administrator can remove it: kubectl delete node ${nodeName}`,
      );
      return false;
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
