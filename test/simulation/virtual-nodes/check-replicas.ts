import type { Violation } from '../../chaos/invariants.ts';
import type { PodWrite } from '../lagging-pods.ts';
import type { Call, ServedCall } from '../network.ts';
import type { Run } from './cloud-pods.ts';
import type { CloudCall } from './simulated-cloud.ts';

const terminalPhases: ReadonlySet<unknown> = new Set(['Succeeded', 'Failed']);
/** A pod that has been in the cloud for so long is in its lists. */
const longListedMs = 10_000;
const ofNode = 'virtual-nodes.node.';

/**
 * No pod that the cloud has had is asked for again after the cloud has accepted its deletion, and said so. One that it has
 * never had may be: `createPod` has failed permanently, and an owner that did not get to write this is followed by one that
 * sees a pod that is to run, and tries for the first time. Nor can the next owner know that a pod's activeDeadlineSeconds
 * were over by the clock of the one before, which never got to write it; the kubelet starts such a pod again, too, after a
 * restart with an earlier clock. Nor that the cloud has lost a pod whose status has never shown that it ran. Nor that its next
 * run was refused permanently, if its status does not show that it has ended.
 */
export function checkCreations(
  calls: readonly CloudCall[],
  history: readonly PodWrite[],
  { lost, refused }: { readonly lost: ReadonlySet<string>; readonly refused: ReadonlySet<string> },
): Violation[] {
  const violations: Violation[] = [];
  const withDeadline = new Set(
    history.filter(({ pod }) => pod.spec.activeDeadlineSeconds !== undefined).map(({ pod }) => pod.metadata.uid),
  );
  /** Whether an owner could know that the pod had run. */
  const hasShownRun = (uid: string, untilMs: number): boolean =>
    history.some(
      ({ pod, atMs }) => atMs <= untilMs && pod.metadata.uid === uid && (pod.status?.phase ?? 'Pending') !== 'Pending',
    );
  const hasShownEnd = (uid: string, untilMs: number): boolean =>
    history.some(
      ({ pod, atMs }) => atMs <= untilMs && pod.metadata.uid === uid && terminalPhases.has(pod.status?.phase),
    );
  const deletedMs = new Map<string, number>();
  const deletedIn = new Map<string, number>();
  const createdMs = new Map<string, number>();
  /** The pods that a later owner may run, as it cannot know better. */
  const unknown = new Set<string>();
  for (const { method, uid = '', epoch, isSuccess, settledMs, processedMs } of calls) {
    if (method === 'deletePod' && isSuccess === true) {
      deletedMs.set(uid, Math.min(settledMs!, deletedMs.get(uid) ?? Number.POSITIVE_INFINITY));
      deletedIn.set(uid, Math.min(epoch, deletedIn.get(uid) ?? epoch));
    }
    if (method === 'createPod' && processedMs !== undefined)
      createdMs.set(uid, Math.min(processedMs, createdMs.get(uid) ?? Number.POSITIVE_INFINITY));
  }
  for (const { method, uid = '', epoch, process, sentMs, processedMs } of calls) {
    if (method !== 'createPod' || processedMs === undefined || withDeadline.has(uid)) continue;
    const sinceMs = deletedMs.get(uid) ?? Number.POSITIVE_INFINITY;
    if (sentMs <= sinceMs || createdMs.get(uid)! >= sinceMs) continue;
    const isOfLaterOwner = epoch > deletedIn.get(uid)!;
    if (isOfLaterOwner && lost.has(uid) && !hasShownRun(uid, sentMs)) unknown.add(uid);
    if (isOfLaterOwner && refused.has(uid) && !hasShownEnd(uid, sentMs)) unknown.add(uid);
    if (unknown.has(uid)) continue;
    violations.push({
      invariant: 'no pod is created again after its deletion',
      details: `${uid} by ${process.name} at ${sentMs}, deleted at ${sinceMs}`,
    });
  }
  return violations;
}

/** An owner sends no call with an epoch that is older than what another one has sent before. */
export function checkEpochs(calls: readonly CloudCall[]): Violation[] {
  const violations: Violation[] = [];
  const newest = new Map<string, CloudCall>();
  for (const call of calls) {
    const { nodeName, method, epoch, process, sentMs } = call;
    if (nodeName === undefined) continue;
    const last = newest.get(nodeName);
    if (last !== undefined && epoch < last.epoch)
      violations.push({
        invariant: 'no call with an old epoch is sent',
        details: `${nodeName}: ${method} by ${process.name} with ${epoch} at ${sentMs}, after ${last.epoch} of ${last.process.name}`,
      });
    else newest.set(nodeName, call);
  }
  return violations;
}

/** A process that runs waits for no call that was sent before `untilMs`. */
export function checkDeadlines(calls: readonly CloudCall[], untilMs: number): Violation[] {
  return calls
    .filter(({ process, signal, sentMs, settledMs }) => {
      return process.isAlive && settledMs === undefined && !signal.aborted && sentMs < untilMs;
    })
    .map(({ process, method, sentMs }) => {
      return {
        invariant: 'each call of the provider has a deadline',
        details: `${method} by ${process.name} at ${sentMs}`,
      };
    });
}

/** The calls of one process for one pod come one after the other, unless the one before has not ended within its time-out. */
export function checkTurns(calls: readonly CloudCall[], timeoutMs: number): Violation[] {
  const violations: Violation[] = [];
  const last = new Map<string, CloudCall>();
  for (const call of calls) {
    if (call.uid === undefined) continue;
    const key = `${call.process.name} ${call.uid}`;
    const before = last.get(key);
    last.set(key, call);
    if (before === undefined) continue;
    const endMs = Math.min(before.settledMs ?? Number.POSITIVE_INFINITY, before.madeMs + timeoutMs * 0.98);
    if (endMs > call.madeMs)
      violations.push({
        invariant: 'the calls for a pod come one after the other',
        details: `${key}: ${before.method} at ${before.madeMs}, ${call.method} at ${call.madeMs}`,
      });
  }
  return violations;
}

/** From the write of a node's Lease on, no write of anybody but its holder has an effect for the node. */
export function checkWriters(
  served: readonly ServedCall[],
  nodeOf: (podName: string, uid: string | undefined) => string | undefined,
): Violation[] {
  const violations: Violation[] = [];
  const holders = new Map<string, string>();
  for (const { method, path, query, body, process, servedStatus, processedMs, wasHeld } of served) {
    if (method === 'GET' || servedStatus >= 300 || query?.['dryRun'] !== undefined) continue;
    const [, leaseName] = /\/namespaces\/kube-system\/leases(?:\/(.*))?$/.exec(path) ?? [];
    if (path.includes('/namespaces/kube-system/leases')) {
      const lease = (body ?? {}) as {
        readonly metadata?: { readonly name?: string };
        readonly spec?: { readonly holderIdentity?: string };
      };
      const name = leaseName ?? lease.metadata?.name ?? '';
      // One that was deleted counts as held until its holder has noticed.
      if (name.startsWith(ofNode) && method !== 'DELETE')
        holders.set(name.slice(ofNode.length), lease.spec?.holderIdentity ?? '');
      continue;
    }
    const node = nodeOfPath(path) ?? nodeOf(podNameOf(path) ?? '', uidOf(body));
    const holder = node === undefined ? undefined : holders.get(node);
    // What a process sends that is stopped meanwhile has an effect only if nothing has changed since.
    if (holder === undefined || wasHeld || holder.startsWith(`${process.name}-`)) continue;
    violations.push({
      invariant: 'only the owner of a node writes for it',
      details: `${process.name}: ${method} ${path} at ${processedMs} while ${holder || 'nobody'} owns ${node}`,
    });
  }
  return violations;
}

function nodeOfPath(path: string): string | undefined {
  const [, node] =
    /^\/api\/v1\/nodes\/([^/]+)/.exec(path) ?? /\/namespaces\/kube-node-lease\/leases\/([^/]+)/.exec(path) ?? [];
  return node;
}

function podNameOf(path: string): string | undefined {
  return /^\/api\/v1\/namespaces\/[^/]+\/pods\/([^/]+)/.exec(path)?.[1];
}

export function uidOf(body: unknown): string | undefined {
  if (Array.isArray(body)) {
    const operations = body as { readonly path: string; readonly value?: string }[];
    return operations.find(({ path }) => path === '/metadata/uid')?.value;
  }
  const { metadata, preconditions } = (body ?? {}) as {
    readonly metadata?: { readonly uid?: string };
    readonly preconditions?: { readonly uid?: string };
  };
  return metadata?.uid ?? preconditions?.uid;
}

/** A pod is deleted on the API server only when nothing of it runs in the cloud, and once. */
export function checkDeletes(
  calls: readonly Call[],
  cloudCalls: readonly CloudCall[],
  runs: ReadonlyMap<string, readonly Run[]>,
): Violation[] {
  const violations: Violation[] = [];
  const deletedMs = new Map<string, number>();
  for (const { method, uid = '', processedMs } of cloudCalls)
    if (method === 'deletePod' && processedMs !== undefined && !deletedMs.has(uid)) deletedMs.set(uid, processedMs);
  // A call that was aborted, and arrives after the deletion: what it creates is an orphan.
  const ranAt = (uid: string, atMs: number): boolean =>
    (runs.get(uid) ?? []).some(
      ({ fromMs, toMs }) => fromMs < atMs && toMs > atMs && fromMs < (deletedMs.get(uid) ?? Number.POSITIVE_INFINITY),
    );
  const deleted = new Set<string>();
  for (const call of calls) {
    const { method, path, process, sentMs, body, status } = call;
    // It has taken a node, or got it again without Leases: what it did when it had it before, it does not know.
    if (path.includes(`/kube-system/leases/${ofNode}`) || (method === 'POST' && path === '/api/v1/nodes'))
      for (const key of deleted) if (key.startsWith(`${process.name} `)) deleted.delete(key);
    if (podNameOf(path) === undefined) continue;
    const uid = uidOf(body);
    const key = `${process.name} ${uid ?? ''}`;
    if (method === 'PATCH') deleted.delete(key);
    if (method !== 'DELETE') continue;
    const violate = (details: string): void => {
      const where = `${path} ${uid ?? ''} by ${process.name} at ${sentMs}`;
      violations.push({ invariant: 'one DELETE, not too early', details: `${where}: ${details}` });
    };
    const { gracePeriodSeconds } = body as { readonly gracePeriodSeconds?: number };
    if (uid === undefined || gracePeriodSeconds !== 0) violate('without UID or with a grace period');
    if (ranAt(uid ?? '', sentMs)) violate('it runs');
    if (deleted.has(key)) violate('twice');
    if (status !== undefined && status < 300) deleted.add(key);
  }
  return violations;
}

/**
 * A pod that is in the cloud all the time does not fail because one list lacked it. Its phase is written when it has ended, so
 * what counts is that it ran when the owner that wrote this deleted it.
 */
export function checkLost(
  history: readonly PodWrite[],
  calls: readonly CloudCall[],
  runs: ReadonlyMap<string, readonly Run[]>,
): Violation[] {
  const lost = new Map(
    history
      .filter(({ pod }) => pod.status?.reason === 'LostByProvider')
      .map((write) => [write.pod.metadata.uid!, write]),
  );
  return [...lost].flatMap(([uid, { pod, atMs }]) => {
    const deletions = calls.filter(
      (call) =>
        call.method === 'deletePod' && call.uid === uid && call.processedMs !== undefined && call.processedMs <= atMs,
    );
    const deletion = deletions.find(({ epoch }) => epoch === deletions.at(-1)!.epoch);
    const [run, ...others] = runs.get(uid) ?? [];
    if (deletion === undefined || run === undefined || others.length > 0) return [];
    if (run.fromMs >= deletion.sentMs - longListedMs || run.toMs < deletion.processedMs!) return [];
    const details = `${pod.metadata.name} ${uid} at ${deletion.sentMs}`;
    return [{ invariant: 'a pod that the cloud has is not lost', details }];
  });
}

/** What the cloud says of a pod has a version, which its status shows: it does not decrease. */
export function checkVersions(history: readonly PodWrite[]): Violation[] {
  const violations: Violation[] = [];
  const versions = new Map<string, number>();
  for (const { pod, resourceVersion } of history) {
    const { uid, name } = pod.metadata;
    const version = versionOf(pod.status?.message);
    const last = versions.get(uid);
    if (version === undefined) continue;
    if (last !== undefined && version < last)
      violations.push({
        invariant: 'no status is older than one before',
        details: `${name} ${uid} @${resourceVersion}: v${last} → v${version}`,
      });
    versions.set(uid, version);
  }
  return violations;
}

export function versionOf(message: unknown): number | undefined {
  const [, version] = /^v(\d+)$/.exec(String(message)) ?? [];
  return version === undefined ? undefined : Number(version);
}

export function isTerminal(phase: unknown): boolean {
  return terminalPhases.has(phase);
}
