import type { Violation } from '../invariants.ts';
import type { RecordedWrite } from './recording-proxy.ts';

/** A call of the cloud for a node. */
export interface CloudCall {
  readonly node: string;
  readonly replica: string;
  readonly epoch: number;
  readonly startMs: number;
  readonly endMs: number | undefined;
}

/** From when to when a replica was stopped with SIGSTOP. */
export interface Pause {
  readonly replica: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** When it has reported something again: on a busy machine, what it sends as soon as it continues arrives late, too. */
  reportsMs: number;
}

/** A time in which every node must have an owner, with no gap longer than `maxGapMs`. */
export interface Window {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly maxGapMs: number;
}

/** A replica has said that it owns the node. */
export interface NodeUse {
  readonly node: string;
  readonly replica: string;
  readonly startMs: number;
}

/** A process that was stopped between the check and the request sends it as soon as it continues, before it reports. */
const sentOnContinueMs = 250;

export function cloudCallsOf(writes: readonly RecordedWrite[]): CloudCall[] {
  return writes.map(({ replica, headers, startMs, endMs }) => ({
    ...{ replica, startMs, endMs, node: String(headers['x-node']), epoch: Number(headers['x-epoch']) },
  }));
}

/** A call with an old epoch is one that the cloud refuses; it may only come from a process that was stopped. */
export function checkEpochs(calls: readonly CloudCall[], pauses: readonly Pause[]): Violation[] {
  const violations: Violation[] = [];
  const newest = new Map<string, CloudCall>();
  for (const call of calls) {
    const last = newest.get(call.node);
    const isRefused = last !== undefined && call.epoch < last.epoch;
    if (!isRefused) newest.set(call.node, call);
    if (last === undefined || last.replica === call.replica) continue;
    const details = `${call.node}: ${call.replica} with epoch ${call.epoch} after ${last.replica} with ${last.epoch}`;
    if (call.epoch === last.epoch) violations.push({ invariant: 'one owner for each epoch', details });
    else if (isRefused && !isOnContinue(call, pauses))
      violations.push({ invariant: 'no call with an old epoch', details });
    else if (!isRefused && (last.endMs ?? Infinity) > call.startMs)
      violations.push({ invariant: 'calls of an owner have ended before the next one begins', details });
  }
  return violations;
}

/** No instance is asked for again after the cloud has accepted its deletion. */
export function checkCreations(writes: readonly RecordedWrite[]): Violation[] {
  const deletedMs = new Map<string, number>();
  return writes.flatMap(({ method, path, status, startMs, endMs }) => {
    if (method === 'DELETE' && status === 202) deletedMs.set(path, Math.min(endMs!, deletedMs.get(path) ?? Infinity));
    if (method !== 'PUT' || status !== 200 || !(startMs > (deletedMs.get(path) ?? Infinity))) return [];
    return [{ invariant: 'no pod is created twice', details: path }];
  });
}

/** From the response to the write of a node's Lease on, nobody but its holder sends a write for the node. */
export function checkWriters(writes: readonly RecordedWrite[], pauses: readonly Pause[]): Violation[] {
  const events = writes.flatMap((write) => {
    const leaseOf = ownershipLeaseOf(write);
    if (leaseOf !== undefined) return [{ atMs: write.endMs ?? write.startMs, node: leaseOf, write, isLease: true }];
    const node = nodeOf(write.path);
    return node === undefined ? [] : [{ atMs: write.startMs, node, write, isLease: false }];
  });
  const violations: Violation[] = [];
  const holders = new Map<string, string>();
  for (const { node, write, isLease } of events.toSorted((a, b) => a.atMs - b.atMs)) {
    const { replica, method, path, status } = write;
    const holder = holders.get(node);
    if (!isLease) {
      if (holder === undefined || holder === replica || isOnContinue(write, pauses)) continue;
      const details = `${replica}: ${method} ${path} (${status}) while ${holder || 'nobody'} owns ${node}`;
      violations.push({ invariant: 'only the owner writes', details });
    } else if (status === undefined) holders.delete(node);
    else if (status < 300) holders.set(node, holderOf(write) === '' ? '' : replica);
  }
  return violations;
}

/** How often a node got another owner. */
export function ownerChanges(writes: readonly RecordedWrite[]): number {
  const isTaken = (write: RecordedWrite) =>
    ownershipLeaseOf(write) !== undefined && (write.status ?? 0) < 300 && holderOf(write) !== '';
  return writes.filter(isTaken).length;
}

function ownershipLeaseOf({ path, body }: RecordedWrite): string | undefined {
  const [, name] = /\/namespaces\/kube-system\/leases(?:\/(.*))?$/.exec(path) ?? [];
  if (body === '' || !path.includes('/namespaces/kube-system/leases')) return undefined;
  const ofNode = 'virtual-nodes.node.';
  const leaseName = name ?? (JSON.parse(body) as { metadata: { name: string } }).metadata.name;
  return leaseName.startsWith(ofNode) ? leaseName.slice(ofNode.length) : undefined;
}

function holderOf({ body }: RecordedWrite): unknown {
  return (JSON.parse(body) as { spec?: { holderIdentity?: unknown } }).spec?.holderIdentity;
}

/** The node that a write is for, if its path says so; pods are called `NODE.NUMBER`. */
function nodeOf(path: string): string | undefined {
  const [, node] =
    /^\/api\/v1\/nodes\/([^/]+)/.exec(path) ??
    /\/namespaces\/kube-node-lease\/leases\/([^/]+)/.exec(path) ??
    /\/namespaces\/default\/pods\/([^/.]+)\./.exec(path) ??
    [];
  return node;
}

function isOnContinue({ replica, startMs }: { replica: string; startMs: number }, pauses: readonly Pause[]): boolean {
  return pauses.some(
    (pause) => pause.replica === replica && startMs >= pause.toMs && startMs < pause.reportsMs + sentOnContinueMs,
  );
}

export function checkUse(
  uses: readonly NodeUse[],
  nodeNames: readonly string[],
  windows: readonly Window[],
): Violation[] {
  const usesOf = new Map(nodeNames.map((name) => [name, uses.filter(({ node }) => node === name)]));
  return windows.flatMap(({ name, fromMs, toMs, maxGapMs }) =>
    nodeNames.flatMap((node) => {
      const { gapMs, atMs } = longestGap(usesOf.get(node)!, fromMs, toMs);
      if (gapMs <= maxGapMs) return [];
      const details = `${name}: ${node} had none for ${Math.round(gapMs)} ms, ${Math.round(atMs - fromMs)} ms after the beginning`;
      return [{ invariant: 'every node has an owner', details }];
    }),
  );
}

/** The longest time without an owner in the window, and when it began. */
export function longestGap(
  uses: readonly NodeUse[],
  fromMs: number,
  toMs: number,
): { readonly gapMs: number; readonly atMs: number } {
  const times = uses.map(({ startMs }) => startMs).filter((ms) => ms > fromMs && ms < toMs);
  let longest = { gapMs: 0, atMs: fromMs };
  let lastMs = fromMs;
  for (const ms of [...times, toMs]) {
    if (ms - lastMs > longest.gapMs) longest = { gapMs: ms - lastMs, atMs: lastMs };
    lastMs = ms;
  }
  return longest;
}
