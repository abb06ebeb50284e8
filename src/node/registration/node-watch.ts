import type { KubeTransport } from '../../kube/http/kube-transport.ts';
import { defaultTimeouts, Reflector } from '../../kube/informer/reflector.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Node } from './node-types.ts';

/** A watch that was silent for longer may be stalled: API servers send a bookmark at least every 60 s. */
const currentMs = 75_000;

export interface NodeWatchOptions {
  readonly transport: Pick<KubeTransport, 'request' | 'stream'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * The Nodes of a process by one list and watch of their label, in place of a GET of each every 10 s. It begins when a second
 * Node is followed. Nodes that it does not show must be read from the API server: those that were deleted or have lost the
 * label, and all of them while the watch fails or has received nothing for 75 s.
 *
 * Divergence: the kubelet watches its one Node by name, and trusts a watch that has stalled.
 */
export class NodeWatch {
  /** The labels that Nodes must keep. */
  readonly labels = { 'kubelet-status-manager/virtual-node': 'true' } as const;
  readonly #clock: Clock;
  readonly #reflector: Reflector<Node>;
  /** By name; undefined if the watch has not shown the Node. */
  readonly #nodes = new Map<string, Node | undefined>();
  #receivedMs = -Infinity;

  constructor(options: NodeWatchOptions) {
    this.#clock = options.clock;
    this.#reflector = new Reflector({
      ...options,
      ...defaultTimeouts,
      resource: 'nodes',
      labelSelector: Object.entries(this.labels).flat().join('='),
      messages: {
        failed: 'Failed to list and watch Nodes: each is read every 10 s',
        recovered: 'Watching Nodes again',
      },
      logFields: {},
      transform: (object) => object as unknown as Node,
    });
  }

  follow(nodeName: string): void {
    this.#nodes.set(nodeName, undefined);
  }

  unfollow(nodeName: string): void {
    this.#nodes.delete(nodeName);
  }

  /** The followed Node as the watch shows it; undefined if it must be read. */
  get(nodeName: string): Node | undefined {
    if (this.#nodes.size > 1) this.#start();
    const isCurrent = this.#clock.monotonicMs() - this.#receivedMs < currentMs;
    return isCurrent && this.#reflector.failure === undefined ? this.#nodes.get(nodeName) : undefined;
  }

  /** Resolves when no request and no timer is left. Idempotent. */
  close(): Promise<void> {
    return this.#reflector.stop();
  }

  #start(): void {
    const upsert = (node: Node): void => {
      this.#receivedMs = this.#clock.monotonicMs();
      if (this.#nodes.has(node.metadata.name)) this.#nodes.set(node.metadata.name, node);
    };
    this.#reflector.start({
      replace: (nodes) => {
        for (const nodeName of this.#nodes.keys()) this.#nodes.set(nodeName, undefined);
        for (const node of nodes) upsert(node);
      },
      upsert,
      remove: ({ metadata: { name } }) => {
        if (this.#nodes.has(name)) this.#nodes.set(name, undefined);
      },
      synced: () => {},
      bookmark: () => (this.#receivedMs = this.#clock.monotonicMs()),
    });
  }
}
