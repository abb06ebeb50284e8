import type { Pod } from '../../kube/objects/types.ts';
import { undefinedIfAborted } from '../../shared/abort.ts';
import type { Clock } from '../../shared/clock.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { generalPredicates } from './general-predicates.ts';
import { boundedCall } from '../../shared/deadline.ts';
import { defaultNodeStatus } from '../registration/node-defaults.ts';
import type { NodeReporter } from '../registration/node-reporter.ts';
import type { NodeReporterOptions } from '../registration/node-reporter-options.ts';
import type { Node, NodeStatus } from '../registration/node-types.ts';
import { initialNode } from '../registration/register-node.ts';

export interface OwnNodeOptions {
  readonly nodeName: string;
  /** Undefined if another program registers the Node, which is then unknown. */
  readonly node: Pick<NodeReporterOptions, 'annotations' | 'labels' | 'providerID' | 'taints'> | undefined;
  readonly nodeStatus: () => Promise<NodeStatus>;
  /** Undefined without an API server. */
  readonly nodeReporter: Pick<NodeReporter, 'node' | 'refresh'> | undefined;
  readonly clock: Pick<Clock, 'afterFunc'>;
  readonly logger: Logger;
}

const nodeStatusTimeoutMs = 10_000;

/**
 * The last observed Node of the agent. Before it is registered, and without an API server, it is built from the
 * options. Source: kubelet `GetCachedNode`, `getNodeAnyWay`.
 */
export class OwnNode {
  readonly #options: OwnNodeOptions;
  #initial: Node | undefined;

  constructor(options: OwnNodeOptions) {
    this.#options = options;
  }

  get(): Node | undefined {
    return this.#options.nodeReporter?.node ?? this.#initial;
  }

  /**
   * Call it before these pods are admitted. Reads the Node again when a pod does not fit it, because its labels, taints or
   * resources may have just changed. Never rejects. Source: kubelet `predicateAdmitHandler.generalFilter`, which does
   * so for labels only, because the kubelet watches its Node.
   */
  async prepareAdmission(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { nodeReporter, logger, nodeName } = this.#options;
    try {
      if (this.get() === undefined) await this.#describe(signal);
      const node = nodeReporter?.node;
      if (node === undefined || pods.every((pod) => generalPredicates(pod, [], { nodeName, node }).length === 0))
        return;
      await undefinedIfAborted(nodeReporter!.refresh(), signal);
    } catch (thrown) {
      if (!signal.aborted)
        logger.warn({ node: nodeName, reason: reasonOf(thrown) }, 'Failed to read the Node for admission');
    }
  }

  async #describe(signal: AbortSignal): Promise<void> {
    const { node, nodeName, nodeStatus, clock } = this.#options;
    if (node === undefined) return;
    let observed: NodeStatus = {};
    try {
      observed = await boundedCall(
        'nodeStatus',
        { clock, timeoutMs: nodeStatusTimeoutMs, signals: [signal] },
        nodeStatus,
      );
    } finally {
      const status = { ...defaultNodeStatus(), ...observed };
      this.#initial = initialNode(
        { ...node, nodeName },
        { ...status, allocatable: status.allocatable ?? status.capacity },
      );
    }
  }
}
