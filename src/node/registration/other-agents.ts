import type { Lease } from './node-types.ts';

const annotation = 'kubelet-status-manager/agent';
/** One or two renewals may come from an agent that is about to end while the next one has started. */
const enoughRenewals = 3;
/** The maximum number of older agents to remember: those that ended while this one could not renew the Lease. */
const maxOlder = 100;

/**
 * Recognizes another agent of the same node. Each agent writes its identity into the node's Lease with each renewal.
 * Identities that it finds before its own first renewal are older. An agent that has ended does not appear again.
 *
 * Divergence: kubelets with the same node name do not notice each other.
 */
export class OtherAgents {
  readonly #identity: string;
  readonly #older = new Set<string>();
  #hasRenewed = false;
  #renewals = 0;

  /** @param identity of this agent; unique */
  constructor(identity: string) {
    this.#identity = identity;
  }

  /** The Lease with the identity of this agent. */
  sign(lease: Lease): Lease {
    const annotations = { ...lease.metadata.annotations, [annotation]: this.#identity };
    return { ...lease, metadata: { ...lease.metadata, annotations } };
  }

  /** This agent has renewed the Lease. @param alone no other agent had changed it since the last renewal */
  renewed(alone: boolean): void {
    this.#hasRenewed = true;
    if (alone) this.#renewals = 0;
  }

  /** Returns true if an older agent keeps renewing the Lease. */
  isOlderAlive({ metadata }: Lease): boolean {
    const identity = metadata.annotations?.[annotation];
    if (identity === undefined || identity === this.#identity) return false;
    if (!this.#hasRenewed && this.#older.size < maxOlder) this.#older.add(identity);
    if (!this.#hasRenewed || !this.#older.has(identity)) return false;
    this.#renewals++;
    return this.#renewals >= enoughRenewals;
  }
}
