import { setMaxListeners } from 'node:events';
import type { Lease } from '../../node/index.ts';
import { epochOf } from './observed-leases.ts';
import type { OwnedNode } from './node-ownership-options.ts';

export interface LeaseOwnershipOptions {
  readonly nodeName: string;
  /** The node's Lease, as this process has written it. */
  readonly lease: Lease;
  /** Monotonic. */
  readonly acquiredMs: number;
  /** The process that should own the node and did not take it. */
  readonly insteadOf: string | undefined;
  /** False once other processes may take the nodes of this one. */
  readonly isMember: () => boolean;
}

/** The ownership of a node, from the write of its Lease until `onLost` has ended. */
export class LeaseOwnership implements OwnedNode {
  readonly nodeName: string;
  readonly epoch: number;
  readonly lease: Lease;
  readonly acquiredMs: number;
  readonly insteadOf: string | undefined;
  /** Resolves when no call or write can be in flight and the node was released if possible; undefined while it is owned. */
  ending: Promise<void> | undefined;
  /** True when no call or write for the node can be in flight. */
  isOver = false;
  readonly #abort = new AbortController();
  readonly #isMember: () => boolean;

  constructor({ nodeName, lease, acquiredMs, insteadOf, isMember }: LeaseOwnershipOptions) {
    this.nodeName = nodeName;
    this.epoch = epochOf(lease);
    this.lease = lease;
    this.acquiredMs = acquiredMs;
    this.insteadOf = insteadOf;
    this.#isMember = isMember;
    // Each call for the node may listen.
    setMaxListeners(0, this.signal);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  isOwned(): boolean {
    return !this.signal.aborted && this.#isMember();
  }

  abort(): void {
    this.#abort.abort(new Error(`The ownership of node ${this.nodeName} has ended`));
  }
}
