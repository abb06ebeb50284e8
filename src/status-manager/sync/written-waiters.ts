import { type AbortSignalLike, untilAborted } from '../../shared/abort.ts';
import type { PodRecord, Waiter } from './pod-records.ts';
import type { StatusOutcome, WrittenResult } from './status-outcome.ts';

/** Resolves with the first outcome that settles `version`; rejects, and leaves no waiter, when the signal is aborted. */
export function addWaiter(record: PodRecord, version: number, signal?: AbortSignalLike): Promise<WrittenResult> {
  let waiter: Waiter;
  const settled = new Promise<WrittenResult>((resolve) => {
    waiter = { version, resolve };
    record.waiters = [...(record.waiters ?? []), waiter];
  });
  if (signal === undefined) return settled;
  return untilAborted(settled, signal).catch((thrown: unknown) => {
    keepWaiters(record, (other) => other !== waiter);
    throw thrown;
  });
}

/** Resolves the calls that this outcome settles. */
export function settleWaiters(record: PodRecord, outcome: StatusOutcome): void {
  keepWaiters(record, ({ version, resolve }) => {
    const result = resultFor(outcome, version);
    if (result !== undefined) resolve(result);
    return result === undefined;
  });
}

function keepWaiters(record: PodRecord, isWaiting: (waiter: Waiter) => boolean): void {
  const waiting = record.waiters?.filter(isWaiting);
  record.waiters = waiting?.length === 0 ? undefined : waiting;
}

/** The manager stops. */
export function stopWaiters(record: PodRecord): void {
  for (const { resolve } of record.waiters ?? []) resolve({ written: false, reason: 'stopped' });
  record.waiters = undefined;
}

/** Undefined if the outcome does not settle this version. */
function resultFor(outcome: StatusOutcome, version: number): WrittenResult | undefined {
  if (outcome.version < version) return undefined;
  switch (outcome.outcome) {
    case 'written':
    case 'unchanged':
    case 'reconciled':
      return { written: true, version: outcome.version };
    case 'gone':
      return { written: false, reason: outcome.reason };
    case 'refused':
      return { written: false, reason: 'refused', error: outcome.error };
    case 'forbidden':
    case 'retried':
    case 'superseded':
    case 'hot-loop':
    case 'deletion-requested':
    case 'deleted':
      return undefined;
    default:
      return outcome satisfies never;
  }
}
