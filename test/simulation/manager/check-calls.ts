import type { Violation } from '../../chaos/invariants.ts';
import type { Call } from '../network.ts';

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
