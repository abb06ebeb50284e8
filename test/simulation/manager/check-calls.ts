import type { Violation } from '../../chaos/invariants.ts';
import type { PodWrite } from '../lagging-pods.ts';
import type { Call } from '../network.ts';
import type { SimulatedProcess } from '../simulated-process.ts';

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
 */
export function checkDeletes(calls: readonly Call[], endedMs: ReadonlyMap<string, number>): Violation[] {
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
    if (deleted.has(key)) violate('twice');
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

/** A process never has more requests for pods at the same time than `concurrency`, by the name of the process. */
export function checkConcurrency(calls: readonly Call[], limits: ReadonlyMap<string, number>): Violation[] {
  const violations: Violation[] = [];
  const open = new Map<string, Call[]>();
  for (const call of calls) {
    const { name } = call.process;
    if (podOf(call) === undefined) continue;
    const together = (open.get(name) ?? []).filter(({ endedMs = Number.POSITIVE_INFINITY }) => endedMs > call.sentMs);
    together.push(call);
    open.set(name, together);
    const limit = limits.get(name) ?? 0;
    if (together.length <= limit) continue;
    const details = `${name} at ${call.sentMs}: ${together.length} requests at the same time, of ${limit}`;
    violations.push({ invariant: 'concurrency', details });
  }
  return violations;
}

/** While a `Retry-After` applies to a pod, the process that was told so sends nothing for it. */
export function checkPauses(calls: readonly Call[], history: readonly PodWrite[]): Violation[] {
  const violations: Violation[] = [];
  const pauses = new Map<string, Call>();
  for (const call of calls) {
    const pod = podOf(call);
    if (pod === undefined) continue;
    const key = `${call.process.name} ${pod}`;
    const last = pauses.get(key);
    if (call.retryAfterMs !== undefined) pauses.set(key, call);
    if (last?.endedMs === undefined || call.sentMs <= last.endedMs) continue;
    if (call.sentMs >= last.endedMs + last.retryAfterMs! - 1) continue;
    const isRecreated = history.some(
      (write) => write.type === 'DELETED' && write.pod.metadata.name === pod && write.atMs > last.sentMs - 60_000,
    );
    if (isRecreated) continue;
    const details = `${key}: ${call.method} at ${call.sentMs}, ${call.sentMs - last.endedMs} ms after a ${last.status}`;
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
    if (call.method !== 'PATCH' || !terminalPhases.has(phaseOf(call))) continue;
    if (couldRun(call.process, uid, call.sentMs) === false) continue;
    const details = `${call.path} ${uid} by ${call.process.name} at ${call.sentMs}`;
    violations.push({ invariant: 'no terminal phase while containers run', details });
  }
  return violations;
}

function podOf({ path }: Call): string | undefined {
  return /^\/api\/v1\/namespaces\/[^/]+\/pods\/([^/]+)/.exec(path)?.[1];
}

/** The phase that a PATCH writes; undefined if it does not change it. */
function phaseOf({ body }: Call): unknown {
  if (!Array.isArray(body)) return (body as { readonly status?: { readonly phase?: unknown } }).status?.phase;
  const operations = body as { readonly op: string; readonly path: string; readonly value?: unknown }[];
  return operations.find(({ op, path }) => op !== 'test' && path === '/status/phase')?.value;
}
