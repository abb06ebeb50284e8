import type { Lease } from '../../node/index.ts';
import type { LeaseTiming } from './node-ownership-options.ts';
import type { ObservedLeases } from './observed-leases.ts';
import type { LeaseOwnership } from './lease-ownership.ts';

/** What a member knows when it plans. Times are on its monotonic clock. */
export interface OwnershipSituation {
  readonly identity: string;
  /** True when this process stops, and takes no more nodes. */
  readonly isLeaving: boolean;
  readonly memberSinceMs: number;
  /** The nodes that this process may own. */
  readonly nodeNames: ReadonlySet<string>;
  readonly owned: ReadonlyMap<string, Pick<LeaseOwnership, 'acquiredMs' | 'ending' | 'insteadOf' | 'isOver'>>;
  readonly observed: ObservedLeases;
  readonly timing: LeaseTiming;
  /** `assignNodes` for `nodeNames`. */
  readonly assign: (members: readonly string[]) => ReadonlyMap<string, readonly string[]>;
  readonly nowMs: number;
}

/** What a member does to a Lease: see `NodeOwnership`. */
export type OwnershipAction =
  /** @property insteadOf the member that should own the node and did not take it */
  | {
      readonly kind: 'take';
      readonly nodeName: string;
      readonly lease: Lease | undefined;
      readonly insteadOf: string | undefined;
    }
  | { readonly kind: 'release'; readonly lease: Lease }
  | { readonly kind: 'handOver'; readonly nodeName: string }
  | { readonly kind: 'removeHolder'; readonly identity: string; readonly lease: Lease }
  | { readonly kind: 'deleteMember'; readonly lease: Lease };

/** After this many times the duration, the Lease of a process that has gone is deleted, and a hand-over is tried again. */
const patienceDurations = 10;
/** More are not real, and each costs a hash for each node. */
const maxMembers = 64;

/** The protocol of `NodeOwnership`, without its requests. Pure: returns what to write, and when to plan again. */
export function planOwnership(situation: OwnershipSituation): {
  readonly actions: readonly OwnershipAction[];
  readonly nextMs: number;
} {
  const { identity, nodeNames, owned, observed, timing, memberSinceMs, nowMs } = situation;
  const { members, nodes } = observed;
  // Before that, others may be starting, or about to renew their Leases after an outage.
  const settledMs = memberSinceMs + timing.marginMs;
  const dueMs = [settledMs];
  const actions: (OwnershipAction | undefined)[] = [];
  for (const member of members.keys()) {
    if (member === identity) continue;
    dueMs.push(observed.expiryMs(member));
    actions.push(planMember(situation, member, nowMs >= settledMs));
  }
  const eligible = [...members.keys()].filter((member) => isEligible(situation, member)).sort();
  const freeFromMs = eligible.length > 1 ? -Infinity : settledMs;
  const preferences = situation.assign(eligible.slice(0, maxMembers));
  const held = [...nodes].filter(([, { holder }]) => holder === identity).map(([nodeName]) => nodeName);
  for (const nodeName of new Set([...nodeNames, ...owned.keys(), ...held])) {
    const preference = preferences.get(nodeName) ?? [];
    if (owned.has(nodeName)) {
      actions.push(planOwned(situation, nodeName, preference, nowMs >= settledMs));
      continue;
    }
    const { action, atMs } = planOther(situation, nodeName, preference, freeFromMs);
    if (atMs > nowMs) dueMs.push(atMs);
    else actions.push(action);
  }
  return {
    actions: actions.filter((action) => action !== undefined),
    nextMs: Math.min(...dueMs.filter((ms) => ms > nowMs)),
  };
}

/** All members must agree on who is eligible, so this depends only on what each of them can read. */
function isEligible({ identity, isLeaving, observed, nowMs }: OwnershipSituation, member: string): boolean {
  return member === identity ? !isLeaving : !observed.isLeaving(member) && observed.isLive(member, nowMs);
}

function planMember(
  { observed, timing, nowMs }: OwnershipSituation,
  identity: string,
  isSettled: boolean,
): OwnershipAction | undefined {
  const { lease, sinceMs } = observed.members.get(identity)!;
  if (observed.hasJoined(identity))
    return isSettled && nowMs >= observed.expiryMs(identity) ? { kind: 'removeHolder', identity, lease } : undefined;
  return nowMs > sinceMs + patienceDurations * timing.durationMs ? { kind: 'deleteMember', lease } : undefined;
}

/**
 * A node is not handed over as long as others may be about to renew their Leases after an outage, and not again and again to
 * a process that does not take it, for example because it does not have the node.
 */
function planOwned(
  { identity, owned, observed, timing, nowMs }: OwnershipSituation,
  nodeName: string,
  preference: readonly string[],
  isSettled: boolean,
): OwnershipAction | undefined {
  const { ending, isOver, insteadOf, acquiredMs } = owned.get(nodeName)!;
  if (ending !== undefined) {
    const node = observed.nodes.get(nodeName);
    return isOver && node?.holder === identity ? { kind: 'release', lease: node.lease } : undefined;
  }
  const mayBeTaken = preference[0] !== insteadOf || nowMs > acquiredMs + patienceDurations * timing.durationMs;
  const isOfOther = preference.indexOf(identity) > 0;
  return isOfOther && isSettled && mayBeTaken ? { kind: 'handOver', nodeName } : undefined;
}

/** For a node that this process does not own: the action, and when it is due. */
function planOther(
  { identity, nodeNames, observed, timing }: OwnershipSituation,
  nodeName: string,
  preference: readonly string[],
  freeFromMs: number,
): { readonly action?: OwnershipAction; readonly atMs: number } {
  const node = observed.nodes.get(nodeName);
  const rank = nodeNames.has(nodeName) ? preference.indexOf(identity) : -1;
  // Its ownership was lost, or a request took the node and its response was lost. It is taken again, and then handed over if it
  // belongs to another member.
  if (node?.holder === identity) {
    const { lease } = node;
    const action = rank >= 0 ? ({ kind: 'take', nodeName, lease, insteadOf: undefined } as const) : undefined;
    return { action: action ?? { kind: 'release', lease }, atMs: -Infinity };
  }
  if (rank < 0) return { atMs: Infinity };
  // A process that has not listed the Leases for so long is no longer a member.
  const turnMs = rank * timing.renewDeadlineMs;
  const insteadOf = rank > 0 ? preference[0] : undefined;
  return {
    action: { kind: 'take', nodeName, lease: node?.lease, insteadOf },
    atMs: Math.max(freeFromMs, observed.freeMs(nodeName)) + turnMs,
  };
}
