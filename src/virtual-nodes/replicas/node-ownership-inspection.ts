/** State of a `NodeOwnership`, for debugging. */
export interface NodeOwnershipInspection {
  readonly identity: string;
  /** Since when this process may own nodes; absent if it may not. */
  readonly memberSince?: string | undefined;
  /** When it last had both renewed its Lease and listed those of all; absent before that. */
  readonly renewedAt?: string | undefined;
  /** How often it has taken a node. */
  readonly takenNodes: number;
  /** Since when Leases cannot be read or written; absent if the last attempts succeeded. */
  readonly failingSince?: string | undefined;
  readonly failureReason?: string | undefined;
  /** The identities of the processes whose Leases have not expired. */
  readonly members: readonly string[];
  readonly nodes: readonly NodeOwnershipState[];
}

/** One node of `NodeOwnershipInspection`. */
export interface NodeOwnershipState {
  readonly nodeName: string;
  /** `ending`: `onLost` has not ended yet. */
  readonly state: 'owned' | 'ending' | 'notOwned';
  /** Present if it is owned or ending. */
  readonly epoch?: number | undefined;
  readonly ownedSince?: string | undefined;
  /** Who held the node's Lease in the last list; absent if nobody did. */
  readonly holder?: string | undefined;
}
