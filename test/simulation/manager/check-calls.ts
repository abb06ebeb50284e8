import { checkTerminalIsFinal, checkVersions, type Violation } from '../../chaos/invariants.ts';
import { type AgentOptions, readMessage } from '../../chaos/protocol.ts';
import type { PodWrite } from '../lagging-pods.ts';
import type { Call, RefusableCall } from '../network.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import { isMirror, podUIDOf } from './static-pods.ts';

/** Tokens are taken right before a request is sent. */
const rateSlack = 0.01;
/** With jitter. */
const firstBackOffMs = 400;
const terminalPhases: ReadonlySet<unknown> = new Set(['Succeeded', 'Failed']);

/** The UID that a write is for. */
function uidOf({ body }: Call): string | undefined {
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

/**
 * A DELETE has a grace period of 0 and a UID, is sent when the containers have ended, and is not repeated by a process that
 * got a success response and has written nothing since.
 * @param endedMs when the pod's containers had ended, by UID
 * @param mayRepeat the process has recovered the end of the pod, sends it, and ends the pod again
 */
export function checkDeletes(
  calls: readonly Call[],
  endedMs: ReadonlyMap<string, number>,
  mayRepeat: (call: Call, uid: string) => boolean = () => false,
): Violation[] {
  const violations: Violation[] = [];
  const deleted = new Set<string>();
  for (const call of calls) {
    const uid = uidOf(call);
    const key = `${call.process.name} ${uid ?? ''}`;
    if (call.method === 'PATCH') deleted.delete(key);
    if (call.method !== 'DELETE') continue;
    const violate = (details: string): void => {
      const where = `${call.path} ${uid ?? ''} by ${call.process.name} at ${call.sentMs}`;
      violations.push({ invariant: 'one DELETE, not too early', details: `${where}: ${details}` });
    };
    const { gracePeriodSeconds } = call.body as { readonly gracePeriodSeconds?: number };
    if (uid === undefined || gracePeriodSeconds !== 0) violate('without UID or with a grace period');
    if ((endedMs.get(uid ?? '') ?? Number.POSITIVE_INFINITY) > call.sentMs) violate('before its containers had ended');
    if (deleted.has(key) && !mayRepeat(call, uid ?? '')) violate('twice');
    if (call.status !== undefined && call.status < 300) deleted.add(key);
  }
  return violations;
}

/** A process never has two writes for one pod at the same time. */
export function checkWrites(calls: readonly Call[]): Violation[] {
  const violations: Violation[] = [];
  const last = new Map<string, Call>();
  for (const call of calls) {
    const uid = uidOf(call);
    if (call.method === 'GET' || uid === undefined) continue;
    const key = `${call.process.name} ${uid}`;
    const before = last.get(key);
    if (before !== undefined && (before.endedMs ?? Number.POSITIVE_INFINITY) > call.sentMs) {
      violations.push({
        invariant: 'one write per pod',
        details: `${key}: ${before.method} and ${call.method} at ${call.sentMs}`,
      });
    }
    last.set(key, call);
  }
  return violations;
}

/**
 * The versions of each API object never decrease, and belong to its pod; a terminal phase stays. What a request wrote whose
 * sender had given up may be older: the next full batch repairs it. So may what a journal has that lost power while its
 * syncs failed.
 * @param older the resource versions of such writes
 */
export function checkVersionsOf(history: readonly PodWrite[], older: ReadonlySet<number>): Violation[] {
  const parts = new Map<string, PodWrite[][]>();
  for (const write of history) {
    const { metadata } = write.pod;
    const ofPod = parts.get(metadata.uid) ?? [[]];
    parts.set(metadata.uid, ofPod);
    if (older.has(write.resourceVersion)) ofPod.push([]);
    ofPod.at(-1)!.push({ ...write, pod: { ...write.pod, metadata: { ...metadata, uid: podUIDOf(write.pod) } } });
  }
  return [...parts.values()].flat().flatMap((part) => {
    // A static pod may run again.
    const mayRunAgain = part.some(({ pod }) => isMirror(pod));
    return [...checkVersions(part), ...(mayRunAgain ? [] : checkTerminalIsFinal(part))];
  });
}

/** A version that a process has accepted. */
export interface AcceptedVersion {
  readonly process: SimulatedProcess;
  readonly podUID: string;
  readonly version: number;
  readonly atMs: number;
}

/** A PATCH has the newest version that its process had accepted when it was sent. */
export function checkNewest(calls: readonly Call[], accepted: readonly AcceptedVersion[]): Violation[] {
  const violations: Violation[] = [];
  const newest = new Map<string, number>();
  let next = 0;
  for (const call of calls) {
    for (; next < accepted.length && accepted[next]!.atMs < call.sentMs; next++) {
      const { process, podUID, version } = accepted[next]!;
      newest.set(`${process.name} ${podUID}`, version);
    }
    const message = readMessage(fieldIn(call, 'message'));
    if (message === undefined) continue;
    const version = newest.get(`${call.process.name} ${message.uid}`) ?? 0;
    if (message.version >= version) continue;
    const details = `${call.path} by ${call.process.name} at ${call.sentMs}: ${message.version}, and ${version} was accepted`;
    violations.push({ invariant: 'a PATCH has the newest status', details });
  }
  return violations;
}

/** After a PATCH that failed, or that may have had an effect, the pod is read before it is patched again. */
export function checkReads(calls: readonly Call[]): Violation[] {
  const violations: Violation[] = [];
  const failed = new Map<string, Call>();
  for (const call of calls) {
    const pod = podOf(call);
    if (pod === undefined) continue;
    const key = `${call.process.name} ${pod}`;
    const before = failed.get(key);
    failed.delete(key);
    if (call.method !== 'PATCH') continue;
    if (call.status === undefined || call.status >= 300) failed.set(key, call);
    if (before === undefined) continue;
    const details = `${key}: PATCH at ${call.sentMs}, after one that failed at ${before.endedMs} with ${before.status}`;
    violations.push({ invariant: 'a pod is read after an error', details });
  }
  return violations;
}

/** The requests for pods of a process stay within its `qps` and `burst`, by the name of the process. */
export function checkRates(calls: readonly Call[], limits: ReadonlyMap<string, AgentOptions>): Violation[] {
  const violations: Violation[] = [];
  const buckets = new Map<string, { tokens: number; atMs: number }>();
  for (const { process, path, sentMs, method } of calls) {
    const { qps, burst = 0 } = limits.get(process.name) ?? {};
    if (qps === undefined || podOf({ path }) === undefined) continue;
    const { tokens, atMs } = buckets.get(process.name) ?? { tokens: burst, atMs: sentMs };
    const left = Math.min(burst, tokens + ((sentMs - atMs) * qps) / 1_000) - 1;
    buckets.set(process.name, { tokens: left, atMs: sentMs });
    if (left >= -rateSlack) continue;
    const details = `${process.name} at ${sentMs}: ${method} ${path}, ${qps} a second, burst ${burst}`;
    violations.push({ invariant: 'qps', details });
  }
  return violations;
}

/**
 * While nothing gets through, a process sends few requests: each pod backs off, and so does the informer.
 * @param pods how many there are at a time
 */
export function checkPartitions(
  partitions: readonly { readonly fromMs: number; readonly toMs: number }[],
  sent: readonly { readonly process: SimulatedProcess; readonly sentMs: number }[],
  pods: number,
): Violation[] {
  const violations: Violation[] = [];
  for (const { fromMs, toMs } of partitions) {
    const counts = new Map<string, number>();
    for (const { process, sentMs } of sent) {
      if (sentMs > fromMs && sentMs < toMs) counts.set(process.name, (counts.get(process.name) ?? 0) + 1);
    }
    const lastsMs = toMs - fromMs;
    const tries = 3 + Math.max(0, Math.log2(lastsMs / firstBackOffMs));
    const most = (pods + 1) * tries + lastsMs / 1_000;
    for (const [name, count] of counts) {
      if (count <= most) continue;
      const details = `${name}: ${count} requests from ${fromMs} to ${toMs}, for ${pods} pods`;
      violations.push({ invariant: 'few requests while nothing gets through', details });
    }
  }
  return violations;
}

/** A process never has more requests for pods at the same time than `concurrency`, by the name of the process. */
export function checkConcurrency(calls: readonly Call[], limits: ReadonlyMap<string, AgentOptions>): Violation[] {
  const violations: Violation[] = [];
  const open = new Map<string, Call[]>();
  for (const call of calls) {
    const { name } = call.process;
    if (podOf(call) === undefined) continue;
    const together = (open.get(name) ?? []).filter(({ endedMs = Number.POSITIVE_INFINITY }) => endedMs > call.sentMs);
    together.push(call);
    open.set(name, together);
    const limit = limits.get(name)?.concurrency ?? 0;
    if (together.length <= limit) continue;
    const details = `${name} at ${call.sentMs}: ${together.length} requests at the same time, of ${limit}`;
    violations.push({ invariant: 'concurrency', details });
  }
  return violations;
}

/**
 * While a `Retry-After` applies to a pod, or to lists and watches, the process that was told so sends nothing for it.
 * @param calls in any order
 * @param isOnePod whether a process knew only one pod of this name in this time: each has its own back-off
 */
export function checkPauses(
  calls: readonly RefusableCall[],
  isOnePod: (process: SimulatedProcess, podName: string, fromMs: number, toMs: number) => boolean,
): Violation[] {
  const violations: Violation[] = [];
  const pauses = new Map<string, RefusableCall>();
  for (const call of calls.toSorted((a, b) => a.sentMs - b.sentMs)) {
    const { method, process, sentMs } = call;
    const pod = podOf(call);
    const key = `${process.name} ${pod ?? 'the list of pods'}`;
    const last = pauses.get(key);
    if (call.retryAfterMs !== undefined) pauses.set(key, call);
    if (last?.endedMs === undefined || sentMs <= last.endedMs) continue;
    if (sentMs >= last.endedMs + last.retryAfterMs! - 1) continue;
    if (pod !== undefined && !isOnePod(process, pod, last.sentMs, sentMs)) continue;
    const details = `${key}: ${method} at ${sentMs}, ${sentMs - last.endedMs} ms after a ${last.status}`;
    violations.push({ invariant: 'Retry-After is respected', details });
  }
  return violations;
}

/**
 * A terminal phase is written only when the containers have ended.
 * @param couldRun what the process had said of the pod's containers, undefined if nothing
 */
export function checkTerminalPhases(
  calls: readonly Call[],
  couldRun: (process: SimulatedProcess, podUID: string, atMs: number) => boolean | undefined,
): Violation[] {
  const violations: Violation[] = [];
  for (const call of calls) {
    const uid = uidOf(call) ?? '';
    if (!terminalPhases.has(fieldIn(call, 'phase'))) continue;
    if (couldRun(call.process, uid, call.sentMs) === false) continue;
    const details = `${call.path} ${uid} by ${call.process.name} at ${call.sentMs}`;
    violations.push({ invariant: 'no terminal phase while containers run', details });
  }
  return violations;
}

function podOf({ path }: Pick<Call, 'path'>): string | undefined {
  return /^\/api\/v1\/namespaces\/[^/]+\/pods\/([^/]+)/.exec(path)?.[1];
}

/** What a PATCH writes into a field of the status; undefined if it does not change it. */
function fieldIn({ method, body }: Call, field: string): unknown {
  if (method !== 'PATCH') return undefined;
  if (!Array.isArray(body)) return (body as { readonly status?: Readonly<Record<string, unknown>> }).status?.[field];
  const operations = body as { readonly op: string; readonly path: string; readonly value?: unknown }[];
  return operations.find(({ op, path }) => op !== 'test' && path === `/status/${field}`)?.value;
}
