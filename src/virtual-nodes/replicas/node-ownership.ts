import { setMaxListeners } from 'node:events';
import { isResponse, type Lease } from '../../node/index.ts';
import { APIError } from '../../kube/client/api-error.ts';
import { Alarm } from '../../shared/alarm.ts';
import { type Clock, sleep } from '../../shared/clock.ts';
import { jitter } from '../../shared/exponential-back-off.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { tryCall } from '../../shared/guarded.ts';
import { type Logger, thrownFields } from '../../shared/logger.ts';
import { Semaphore } from '../../shared/semaphore.ts';
import { microTime, MonotonicTimes } from '../../shared/time.ts';
import { assignNodes } from './assign-nodes.ts';
import type { NodeOwnershipInspection } from './node-ownership-inspection.ts';
import {
  leaseTiming,
  type LeaseTiming,
  type NodeOwnershipOptions,
  type OwnershipEnd,
  requireNodeOwnershipOptions,
} from './node-ownership-options.ts';
import { epochOf, leavingAnnotation, ObservedLeases } from './observed-leases.ts';
import { LeaseOwnership } from './lease-ownership.ts';
import { type OwnershipAction, planOwnership } from './plan-ownership.ts';
import { RepeatedTask } from './repeated-task.ts';
import { ReplicaLeases } from './replica-leases.ts';

const jitterFactor = 0.1;
/** The maximum number of concurrent writes of nodes' Leases. Renewals are not limited. */
const maxWrites = 16;

/**
 * Which of several processes owns which virtual node, decided by Leases in one namespace.
 *
 * - Each process has a member Lease, which it renews every 2 s. Each node has a Lease that names its owner and is written
 *   only when the owner changes. An idle process sends two requests every 2 s, regardless of the number of nodes.
 * - A process is a member while it has both renewed its Lease and listed all Leases within the last 10 s, counted from the
 *   start of these requests on its monotonic clock. Otherwise all its ownerships end: their signals are aborted.
 * - A member that has seen another's Lease unchanged for 15 s removes its holder. Every write has the resourceVersion that
 *   was read, so this succeeds only if the other has not renewed it; the other's ownerships have then ended 5 s before. Its
 *   nodes are free.
 * - A node is free if its Lease has no holder, or if its holder is no longer a member. `assignNodes` orders the members for each
 *   node. The first one takes the node when it is free, and any other owner hands the node over to it. If it does not take the
 *   node within 10 s, the next one does, and offers it to the first one again after 150 s.
 * - A missing Lease counts as held for 15 s, because its holder may not have noticed the deletion. A new node, which has no
 *   Lease, gets its first owner after that.
 * - An epoch combines the creation time of the node's Lease and its transitions. It increases even if the Lease was deleted and
 *   no process remembers it.
 *
 * The times are for a duration of 15 s, and are proportional to it. Whoever may write the Leases can take nodes away.
 * Source: client-go `leaderelection`.
 */
export class NodeOwnership {
  /** Unique: the option `identity` and a random suffix. */
  readonly identity: string;
  readonly #options: NodeOwnershipOptions;
  readonly #timing: LeaseTiming;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #leases: ReplicaLeases;
  readonly #observed: ObservedLeases;
  readonly #renewals: RepeatedTask;
  readonly #lists: RepeatedTask;
  readonly #deadline: Alarm;
  readonly #writes: Semaphore;
  readonly #renewalFailures: FailureLog;
  readonly #listFailures: FailureLog;
  readonly #writeFailures: FailureLog;
  readonly #closing = new AbortController();
  readonly #owned = new Map<string, LeaseOwnership>();
  /** Leases that are being written, by name. */
  readonly #writing = new Set<string>();
  #nodeNames: ReadonlySet<string>;
  #memberLease: Lease | undefined;
  /** The last `spec.renewTime`. */
  #renewTimeMs = 0;
  /** The start of the last successful requests of this membership. */
  #renewedMs = -Infinity;
  #listedMs = -Infinity;
  /** The start of the last successful requests, including those of earlier memberships. */
  readonly #lastMs: { renewal: number | undefined; list: number | undefined } = { renewal: undefined, list: undefined };
  #takenNodes = 0;
  /** Since when this process is a member; undefined if it is not a member. */
  #memberSinceMs: number | undefined;
  /** Incremented at the end of each membership: responses to earlier requests are ignored. */
  #membership = 0;
  #assignment: { readonly key: string; readonly nodes: ReadonlyMap<string, readonly string[]> } | undefined;
  #state: 'new' | 'running' | 'leaving' | 'left' = 'new';
  #stopping: Promise<void> | undefined;

  /** @throws StatusManagerError INVALID_OPTION */
  constructor(options: NodeOwnershipOptions) {
    requireNodeOwnershipOptions(options);
    this.#options = options;
    this.#logger = options.logger;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#timing = leaseTiming(options.leaseDurationSeconds ?? 15);
    this.#nodeNames = new Set(options.nodeNames);
    const suffix = Math.floor(this.#random() * 2 ** 32).toString(16);
    this.identity = `${options.identity}-${suffix.padStart(8, '0')}`;
    const { transport, namespace, name = 'virtual-nodes' } = options;
    const { requestTimeoutMs } = this.#timing;
    const { signal } = this.#closing;
    setMaxListeners(0, signal);
    const clock = this.#clock;
    this.#leases = new ReplicaLeases({ transport, namespace, name, requestTimeoutMs, clock, signal });
    this.#observed = new ObservedLeases(this.#leases, this.#timing);
    this.#renewals = new RepeatedTask(clock, () => this.#renew());
    this.#lists = new RepeatedTask(clock, () => this.#list());
    this.#deadline = new Alarm(clock, () => this.#checkDeadline());
    this.#writes = new Semaphore({ size: maxWrites, clock });
    const logger = this.#logger;
    this.#renewalFailures = new FailureLog({ logger, clock, what: 'Renewing the Lease of this replica' });
    this.#listFailures = new FailureLog({ logger, clock, what: 'Listing the Leases of replicas' });
    this.#writeFailures = new FailureLog({ logger, clock, what: 'Writing the Lease of a node or replica' });
  }

  /** Joins the replicas, and takes nodes. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    void this.#renewals.run();
    void this.#lists.run();
  }

  /** Replaces the list of nodes. A node that is removed is released, even if it is added again immediately. */
  setNodes(nodeNames: readonly string[]): void {
    this.#nodeNames = new Set(nodeNames);
    this.#assignment = undefined;
    if (this.#state !== 'running') return;
    for (const owned of this.#owned.values())
      if (!this.#nodeNames.has(owned.nodeName)) void this.#end(owned, 'removed');
    void this.#lists.run();
  }

  /**
   * Releases all nodes when their `onLost` has ended, and leaves. Takes at most `drainTimeoutMs` and twice the Lease's
   * duration. Never rejects.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** A snapshot; makes no request. */
  inspect(): NodeOwnershipInspection {
    const nowMs = this.#clock.monotonicMs();
    const times = new MonotonicTimes(this.#clock);
    const { renewal, list } = this.#lastMs;
    const renewedMs = renewal === undefined || list === undefined ? undefined : Math.min(renewal, list);
    const failure = this.#renewalFailures.failure ?? this.#listFailures.failure ?? this.#writeFailures.failure;
    return {
      identity: this.identity,
      memberSince: this.#isMember() ? times.format(this.#memberSinceMs!) : undefined,
      renewedAt: renewedMs === undefined ? undefined : times.format(renewedMs),
      takenNodes: this.#takenNodes,
      failingSince: failure?.failingSince,
      failureReason: failure?.reason,
      members: [...this.#observed.members.keys()].filter((identity) => this.#observed.isLive(identity, nowMs)),
      nodes: [...this.#nodeNames].map((nodeName) => {
        const owned = this.#owned.get(nodeName);
        const holder = this.#observed.nodes.get(nodeName)?.holder;
        return {
          nodeName,
          state: owned === undefined ? 'notOwned' : owned.ending === undefined ? 'owned' : 'ending',
          epoch: owned?.epoch,
          ownedSince: owned && times.format(owned.acquiredMs),
          holder: holder === '' ? undefined : holder,
        };
      }),
    };
  }

  /** True as long as no other process may take the nodes of this one. */
  #isMember(): boolean {
    return this.#memberSinceMs !== undefined && this.#clock.monotonicMs() < this.#untilMs();
  }

  #untilMs(): number {
    return Math.min(this.#renewedMs, this.#listedMs) + this.#timing.renewDeadlineMs;
  }

  /** Ends the membership if its time is over. Called first in every timer and response, because timers may be late. */
  #checkDeadline(): void {
    if (this.#memberSinceMs === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    const untilMs = this.#untilMs();
    if (nowMs >= untilMs) this.#endMembership('This replica has not renewed and listed the Leases in time');
    else this.#deadline.arm(untilMs - nowMs);
  }

  /** After each success: becomes a member when both the renewal and the list are recent. */
  #checkMembership(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#memberSinceMs === undefined && nowMs < this.#untilMs()) {
      this.#memberSinceMs = nowMs;
      this.#logger.info({ replica: this.identity }, 'Joined the replicas');
    }
    this.#checkDeadline();
  }

  #endMembership(reason: string): void {
    this.#membership++;
    this.#renewedMs = -Infinity;
    this.#listedMs = -Infinity;
    if (this.#memberSinceMs === undefined) return;
    this.#memberSinceMs = undefined;
    const nodes = [...this.#owned.values()];
    const { failingSince } = this.inspect();
    const fields = { replica: this.identity, nodes: nodes.length, reason, failingSince };
    this.#logger.warn(fields, 'The ownership of all nodes has ended');
    for (const owned of nodes) void this.#end(owned, 'lost');
  }

  /** Renews the member Lease. Resolves with the time until the next renewal. */
  async #renew(): Promise<number> {
    this.#checkDeadline();
    for (let tries = 0; tries < 2; tries++) {
      const membership = this.#membership;
      const startedMs = this.#clock.monotonicMs();
      try {
        this.#memberLease = await this.#writeMemberLease();
        this.#renewalFailures.succeeded();
        this.#lastMs.renewal = startedMs;
        this.#checkDeadline();
        if (membership === this.#membership) this.#renewedMs = startedMs;
        this.#checkMembership();
        break;
      } catch (error) {
        this.#checkDeadline();
        // The 404 to a create says that the namespace does not exist.
        if (isResponse(error, 404) && this.#memberLease !== undefined) this.#memberLeaseDeleted();
        else if (isResponse(error, 409) || isResponse(error, 500)) await this.#readMemberLease();
        else return this.#failed(error, this.#renewalFailures, startedMs);
      }
    }
    return this.#period();
  }

  #writeMemberLease(): Promise<Lease> {
    const { identity } = this;
    const { durationSeconds: leaseDurationSeconds } = this.#timing;
    // The time must change: the API server ignores a PUT that changes nothing, and others would see an old resourceVersion.
    this.#renewTimeMs = Math.max(this.#renewTimeMs + 1, this.#clock.now());
    const renewTime = microTime(this.#renewTimeMs);
    const lease =
      this.#memberLease ?? this.#leases.newLease('member', identity, { acquireTime: renewTime, leaseTransitions: 0 });
    const holderIdentity = this.#state === 'left' ? '' : identity;
    const annotations = this.#state === 'running' ? {} : { [leavingAnnotation]: 'true' };
    const renewed: Lease = {
      ...lease,
      metadata: { ...lease.metadata, annotations },
      spec: { ...lease.spec, holderIdentity, leaseDurationSeconds, renewTime },
    };
    return this.#memberLease === undefined ? this.#leases.create(renewed) : this.#leases.update(renewed);
  }

  #memberLeaseDeleted(): void {
    this.#memberLease = undefined;
    this.#endMembership('Somebody has deleted the Lease of this replica');
  }

  /** After a conflict, or an error that may mean that the Lease is gone: reads what was written, by this process or another. */
  async #readMemberLease(): Promise<void> {
    try {
      const lease = await this.#leases.get(this.#leases.newLease('member', this.identity, {}).metadata.name);
      this.#memberLease = lease;
      if (lease.spec.holderIdentity !== this.identity)
        this.#endMembership('Another replica found that the Lease of this one had expired');
    } catch (error) {
      if (isResponse(error, 404)) this.#memberLeaseDeleted();
      else this.#failed(error, this.#renewalFailures, this.#clock.monotonicMs());
    }
  }

  /** Reads all Leases and acts on them. Resolves with the time until the next list. */
  async #list(): Promise<number> {
    this.#checkDeadline();
    const membership = this.#membership;
    const startedMs = this.#clock.monotonicMs();
    try {
      this.#observed.replace(await this.#leases.list(), this.#clock.monotonicMs());
    } catch (error) {
      this.#checkDeadline();
      return this.#failed(error, this.#listFailures, startedMs);
    }
    this.#listFailures.succeeded();
    this.#lastMs.list = startedMs;
    this.#checkDeadline();
    if (membership === this.#membership) this.#listedMs = startedMs;
    this.#endTaken(startedMs);
    this.#checkMembership();
    return this.#reconcile();
  }

  /** Ends the ownerships that a list does not show, unless they are newer than the list. */
  #endTaken(listStartedMs: number): void {
    for (const owned of this.#owned.values()) {
      const { nodeName, epoch, signal, acquiredMs } = owned;
      if (signal.aborted || acquiredMs >= listStartedMs) continue;
      const observed = this.#observed.nodes.get(nodeName);
      if (observed?.holder === this.identity && epochOf(observed.lease) === epoch) continue;
      const fields = { node: nodeName, epoch, holder: observed?.holder };
      this.#logger.warn(fields, 'Somebody else has changed or deleted the Lease of an owned node');
      void this.#end(owned, 'lost');
    }
  }

  /** Takes, hands over and releases nodes. Returns the time until the Leases must be read again. */
  #reconcile(): number {
    const nowMs = this.#clock.monotonicMs();
    const untilMs = nowMs + this.#period();
    if (!this.#isMember()) return untilMs - nowMs;
    const { actions, nextMs } = planOwnership({
      identity: this.identity,
      isLeaving: this.#state !== 'running',
      memberSinceMs: this.#memberSinceMs!,
      nodeNames: this.#nodeNames,
      owned: this.#owned,
      observed: this.#observed,
      timing: this.#timing,
      assign: (members) => this.#assign(members),
      nowMs,
    });
    for (const action of actions) this.#run(action);
    return Math.min(nextMs, untilMs) - nowMs;
  }

  #run(action: OwnershipAction): void {
    switch (action.kind) {
      case 'take':
        return void this.#take(action.nodeName, action.lease, action.insteadOf);
      case 'release':
        return void this.#release(action.lease);
      case 'handOver':
        return void this.#end(this.#owned.get(action.nodeName)!, 'handover');
      case 'removeHolder':
        return void this.#removeHolder(action.identity, action.lease);
      default:
        return void this.#collect(action.lease);
    }
  }

  #assign(members: readonly string[]): ReadonlyMap<string, readonly string[]> {
    const key = members.join();
    if (this.#assignment?.key !== key) this.#assignment = { key, nodes: assignNodes(this.#nodeNames, members) };
    return this.#assignment.nodes;
  }

  /** Writes this process into the node's Lease. */
  #take(nodeName: string, base: Lease | undefined, insteadOf: string | undefined): Promise<void> {
    const membership = this.#membership;
    const lease = base ?? this.#leases.newLease('node', nodeName, {});
    const send = async (): Promise<Lease> => {
      const leaseTransitions = this.#observed.nextTransitions(nodeName);
      const { durationSeconds: leaseDurationSeconds } = this.#timing;
      const acquireTime = microTime(this.#clock.now());
      const spec = { holderIdentity: this.identity, leaseDurationSeconds, acquireTime, leaseTransitions };
      return base === undefined ? this.#leases.create({ ...lease, spec }) : this.#leases.update({ ...lease, spec });
    };
    return this.#write(lease, send, (taken) => {
      const acquiredMs = this.#clock.monotonicMs();
      this.#observed.update(taken, acquiredMs);
      const isMember = (): boolean => membership === this.#membership && this.#isMember();
      // Otherwise, the next list shows a Lease that this process holds without using it, and it is released then.
      if (isMember() && this.#state === 'running' && this.#nodeNames.has(nodeName))
        this.#own(new LeaseOwnership({ nodeName, lease: taken, acquiredMs, insteadOf, isMember }));
    });
  }

  #own(owned: LeaseOwnership): void {
    const { nodeName, epoch, insteadOf } = owned;
    this.#owned.set(nodeName, owned);
    this.#takenNodes++;
    this.#logger.info({ node: nodeName, epoch, insteadOf }, 'Took a node');
    tryCall(
      () => this.#options.onOwned(owned),
      (thrown) => this.#logger.error({ ...thrownFields(thrown), node: nodeName }, 'onOwned threw'),
    );
  }

  /** Removes the holder of the node's Lease. */
  #release(base: Lease): Promise<void> {
    return this.#write(
      base,
      () => this.#leases.update(withoutHolder(base)),
      (released) => this.#observed.update(released, this.#clock.monotonicMs()),
    );
  }

  /** Removes the holder of a member Lease that has expired, and takes what belongs to this process by now. */
  #removeHolder(identity: string, base: Lease): Promise<void> {
    return this.#write(
      base,
      () => this.#leases.update(withoutHolder(base)),
      (written) => {
        this.#logger.warn({ replica: identity }, 'A replica has not renewed its Lease: others take its nodes');
        this.#observed.update(written, this.#clock.monotonicMs());
        this.#reconcile();
      },
    );
  }

  /** Deletes the Lease of a process that has gone. */
  #collect(lease: Lease): Promise<void> {
    return this.#write(
      lease,
      () => this.#leases.delete(lease),
      () => {},
    );
  }

  /**
   * Sends one write of a Lease at a time, and calls `onWritten` before the next one is possible. After a conflict, or when
   * the Lease is gone, all are listed again.
   */
  async #write<T>(
    { metadata: { name } }: Lease,
    send: () => Promise<T>,
    onWritten: (result: T) => void,
  ): Promise<void> {
    if (this.#writing.has(name)) return;
    this.#writing.add(name);
    try {
      await this.#writes.acquire(this.#closing.signal);
      const written = await send().finally(() => this.#writes.release());
      this.#writeFailures.succeeded();
      this.#checkDeadline();
      onWritten(written);
    } catch (error) {
      this.#checkDeadline();
      if (isResponse(error, 409) || isResponse(error, 404)) void this.#lists.run();
      else this.#failed(error, this.#writeFailures, this.#clock.monotonicMs(), { lease: name });
    } finally {
      this.#writing.delete(name);
    }
  }

  #end(owned: LeaseOwnership, reason: OwnershipEnd): Promise<void> {
    if (reason === 'lost') owned.abort();
    owned.ending ??= this.#endOwned(owned, reason);
    return owned.ending;
  }

  /** Waits for `onLost`, but not forever, and releases the node. */
  async #endOwned(owned: LeaseOwnership, reason: OwnershipEnd): Promise<void> {
    const { nodeName, epoch, lease, signal } = owned;
    const membership = this.#membership;
    const fields = { node: nodeName, epoch, reason };
    this.#logger.info(fields, 'The ownership of a node ends');
    const onLost = this.#callOnLost(owned, reason);
    const ended = new AbortController();
    void onLost.then(() => ended.abort());
    const { drainTimeoutMs = 30_000 } = this.#options;
    await sleep(this.#clock, drainTimeoutMs, AbortSignal.any([ended.signal, signal]));
    owned.abort();
    await sleep(this.#clock, this.#timing.marginMs, ended.signal);
    this.#checkDeadline();
    owned.isOver = true;
    if (!ended.signal.aborted) this.#logger.warn(fields, 'onLost has not ended in time: calls may still be in flight');
    void onLost.then(() => {
      this.#owned.delete(nodeName);
      if (this.#state === 'running') void this.#lists.run();
    });
    if (reason !== 'lost' && membership === this.#membership) await this.#release(lease);
  }

  async #callOnLost(owned: LeaseOwnership, reason: OwnershipEnd): Promise<void> {
    await tryCall(
      () => this.#options.onLost(owned, reason),
      (thrown) => this.#logger.error({ ...thrownFields(thrown), node: owned.nodeName }, 'onLost threw'),
    );
  }

  async #stop(): Promise<void> {
    const wasRunning = this.#state === 'running';
    this.#state = 'leaving';
    if (wasRunning) {
      // Others must see that this process stops before its first node is free.
      if (this.#isMember()) await this.#renewals.run();
      await Promise.all([...this.#owned.values()].map((owned) => this.#end(owned, 'stopping')));
      this.#state = 'left';
      if (this.#memberLease !== undefined) await this.#renewals.run();
    }
    this.#state = 'left';
    this.#closing.abort();
    await Promise.all([this.#renewals.stop(), this.#lists.stop()]);
    // An aborted write may end later. It must not arm the alarm again.
    this.#memberSinceMs = undefined;
    this.#deadline.stop();
  }

  /** Returns the time until the next try: the rest of the period, so that slow failures do not delay it further. */
  #failed(error: unknown, failures: FailureLog, startedMs: number, fields: object = {}): number {
    if (!this.#closing.signal.aborted) failures.failed(error, { replica: this.identity, ...fields });
    const retryAfterMs = error instanceof APIError ? (error.retryAfterMs ?? 0) : 0;
    const periodMs = this.#period();
    const passedMs = this.#clock.monotonicMs() - startedMs;
    return Math.max(periodMs - passedMs, periodMs / 4, Math.min(retryAfterMs, this.#timing.marginMs));
  }

  #period(): number {
    return jitter(this.#timing.retryPeriodMs, jitterFactor, this.#random);
  }
}

function withoutHolder(lease: Lease): Lease {
  return { ...lease, spec: { ...lease.spec, holderIdentity: '' } };
}
