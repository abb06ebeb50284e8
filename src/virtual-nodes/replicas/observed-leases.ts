import type { Lease } from '../../node/index.ts';
import { epochMsOf } from '../../shared/time.ts';
import { type LeaseTiming, leaseDurationRange } from './node-ownership-options.ts';
import type { LeaseKind, ReplicaLeases } from './replica-leases.ts';

/** One version of a Lease, as this process has seen it. Times are of its monotonic clock. */
export interface ObservedLease {
  readonly lease: Lease;
  /** `''` if nobody holds it. */
  readonly holder: string;
  /** When this version was first seen. */
  readonly sinceMs: number;
  /** For a node: since when its holder has had no member Lease. */
  readonly orphanedMs?: number | undefined;
}

/** On the Lease of a process that stops: it takes no more nodes. */
export const leavingAnnotation = 'kubelet-status-manager/leaving';

/** The number of epochs for each second in which a Lease can be created. Epochs stay below 2^53 for centuries. */
const epochsPerSecond = 1_000_000;

/**
 * What the Leases say about the other processes. A Lease has expired when this process has seen no change of it for its
 * duration; times in the Lease are ignored, because clocks differ. A missing Lease may have been deleted while its holder
 * uses it, so it counts as held for its duration, even if this process has not seen the Lease because its lists have failed.
 * Source: client-go `leaderelection`, `observedTime`.
 */
export class ObservedLeases {
  /** By the name of the process or node that the Lease is for. */
  #seen = { member: new Map<string, ObservedLease>(), node: new Map<string, ObservedLease>() };
  readonly #leases: Pick<ReplicaLeases, 'subjectOf'>;
  readonly #timing: LeaseTiming;
  /** By node name: when its Lease was found missing. Old entries are dropped. */
  readonly #vanishedMs = new Map<string, number>();
  #listedMs = -Infinity;
  /** Since when lists have been so frequent that no Lease can have come and gone unseen. */
  #listingSinceMs = Infinity;

  constructor(leases: Pick<ReplicaLeases, 'subjectOf'>, timing: LeaseTiming) {
    this.#leases = leases;
    this.#timing = timing;
  }

  /** The Leases of processes, by identity. */
  get members(): ReadonlyMap<string, ObservedLease> {
    return this.#seen.member;
  }

  /** The Leases of nodes, by the names of the nodes. */
  get nodes(): ReadonlyMap<string, ObservedLease> {
    return this.#seen.node;
  }

  /** Replaces everything by one list. */
  replace(leases: readonly Lease[], nowMs: number): void {
    if (nowMs - this.#listedMs > this.#timing.marginMs) this.#listingSinceMs = nowMs;
    this.#listedMs = nowMs;
    const before = this.#seen;
    this.#seen = { member: new Map(), node: new Map() };
    for (const lease of leases) {
      const { kind, of = '' } = this.#leases.subjectOf(lease) ?? {};
      if (kind !== undefined) this.#set(kind, of, lease, before[kind].get(of), nowMs);
    }
    for (const [nodeName, node] of this.nodes) {
      if (node.holder === '' || this.members.has(node.holder)) continue;
      const last = before.node.get(nodeName);
      const orphanedMs = (isSameVersion(last, node.lease) ? last?.orphanedMs : undefined) ?? nowMs;
      this.#seen.node.set(nodeName, { ...node, orphanedMs });
    }
    for (const nodeName of before.node.keys()) if (!this.nodes.has(nodeName)) this.#vanishedMs.set(nodeName, nowMs);
    for (const [nodeName, vanishedMs] of this.#vanishedMs)
      if (this.nodes.has(nodeName) || nowMs - vanishedMs > this.#timing.durationMs) this.#vanishedMs.delete(nodeName);
  }

  /** Replaces one Lease by a newer version. */
  update(lease: Lease, nowMs: number): void {
    const { kind, of = '' } = this.#leases.subjectOf(lease) ?? {};
    if (kind !== undefined) this.#set(kind, of, lease, undefined, nowMs);
  }

  /** `spec.leaseTransitions` for the next owner of the node. @throws Error if there is no higher one */
  nextTransitions(nodeName: string): number {
    const lease = this.nodes.get(nodeName)?.lease;
    const next = lease === undefined ? 1 : transitionsOf(lease) + 1;
    if (next >= epochsPerSecond) throw new Error('spec.leaseTransitions has reached its maximum: delete the Lease');
    return next;
  }

  /** True if the process may own nodes: it has joined, and its Lease has not expired. */
  isLive(identity: string, nowMs: number): boolean {
    return this.hasJoined(identity) && nowMs < this.expiryMs(identity);
  }

  /** False if the process has released its nodes, or another one has found that its Lease had expired. */
  hasJoined(identity: string): boolean {
    return this.members.get(identity)?.holder === identity;
  }

  /** True if the process has announced that it stops. */
  isLeaving(identity: string): boolean {
    return this.members.get(identity)?.lease.metadata.annotations?.[leavingAnnotation] !== undefined;
  }

  /** When the member's Lease expires unless it is renewed. */
  expiryMs(identity: string): number {
    const member = this.members.get(identity);
    return member === undefined ? -Infinity : member.sinceMs + this.#durationMs(member.lease);
  }

  /** When the node may be taken, in the past or the future; Infinity as long as its holder has joined. */
  freeMs(nodeName: string): number {
    const node = this.nodes.get(nodeName);
    if (node === undefined) {
      const missingMs = Math.max(this.#vanishedMs.get(nodeName) ?? -Infinity, this.#listingSinceMs);
      return missingMs + this.#timing.durationMs;
    }
    if (node.holder === '') return node.sinceMs;
    if (node.orphanedMs !== undefined) return node.orphanedMs + this.#durationMs(node.lease);
    const member = this.members.get(node.holder);
    if (member === undefined || this.hasJoined(node.holder)) return Infinity;
    return Math.max(node.sinceMs, member.sinceMs);
  }

  #set(kind: LeaseKind, of: string, lease: Lease, before: ObservedLease | undefined, nowMs: number): void {
    const { holderIdentity } = lease.spec;
    this.#seen[kind].set(of, {
      lease,
      holder: typeof holderIdentity === 'string' ? holderIdentity : '',
      sinceMs: isSameVersion(before, lease) ? before!.sinceMs : nowMs,
    });
  }

  /** Durations out of range were written by somebody else; they are replaced by the duration of this process. */
  #durationMs({ spec: { leaseDurationSeconds } }: Lease): number {
    const { min, max } = leaseDurationRange;
    const isValid =
      typeof leaseDurationSeconds === 'number' && leaseDurationSeconds >= min && leaseDurationSeconds <= max;
    return isValid ? leaseDurationSeconds * 1000 : this.#timing.durationMs;
  }
}

/**
 * The fencing token of an owner. It increases with each owner of a node, even if the Lease was deleted in between, because a new
 * Lease is never created in the same second as the old one.
 */
export function epochOf(lease: Lease): number {
  const createdMs = epochMsOf(lease.metadata.creationTimestamp ?? '') || 0;
  return Math.floor(createdMs / 1000) * epochsPerSecond + transitionsOf(lease);
}

/** 0 if it is invalid. */
function transitionsOf({ spec: { leaseTransitions } }: Lease): number {
  return Number.isSafeInteger(leaseTransitions) && leaseTransitions! >= 0 ? leaseTransitions! : 0;
}

function isSameVersion(observed: ObservedLease | undefined, { metadata }: Lease): boolean {
  return observed?.lease.metadata.resourceVersion === metadata.resourceVersion;
}
