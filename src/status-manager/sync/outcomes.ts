import { channel } from 'node:diagnostics_channel';
import { type AbortSignalLike, untilAborted } from '../../shared/abort.ts';
import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { runInMicrotask } from '../../shared/clock.ts';
import type { CriticalSection } from '../../shared/critical-section.ts';
import type { Metrics } from '../metrics.ts';
import type { Subscribers } from '../../shared/subscribers.ts';
import type { PodRecords, PodRecord, Waiter } from './pod-records.ts';
import {
  type DropReason,
  type OutcomeListener,
  type StatusOutcome,
  subjectOf,
  type WrittenResult,
} from './status-outcome.ts';
import type { SentResult } from './sync-result.ts';

/** Name of the diagnostics channel on which every outcome of every manager is published. */
export const outcomeChannelName = 'kubelet-status-manager:outcome';

/**
 * Reports the outcomes of each version: to listeners, on `node:diagnostics_channel`, to `whenWritten`
 * callers, and as a metric. Each version gets exactly one final outcome. A version is open from
 * acceptance until it is superseded, sent or dropped. At most two versions of a pod are open: the
 * newest, and the one in a PATCH in flight.
 */
export class Outcomes {
  readonly #channel = channel(outcomeChannelName);
  readonly #records: PodRecords;
  readonly #metrics: Metrics;
  readonly #subscribers: Subscribers<OutcomeListener>;
  readonly #section: CriticalSection;

  constructor(
    records: PodRecords,
    metrics: Metrics,
    subscribers: Subscribers<OutcomeListener>,
    section: CriticalSection,
  ) {
    this.#records = records;
    this.#metrics = metrics;
    this.#subscribers = subscribers;
    this.#section = section;
  }

  /** A newer version than `old` was accepted. Listeners are called in a microtask. */
  accepted(uid: string, old: VersionedPodStatus | undefined): void {
    if (old?.unsentSinceMs === undefined) return;
    if (this.#isSending(uid, old)) return;
    // On the hot path of setPodStatus: a spread made it 20% slower.
    const { podNamespace, podName, version } = old;
    this.reportLater({ podUID: uid, podNamespace, podName, version, outcome: 'superseded' });
  }

  /** A PATCH with this version is being sent. A version that is written again already has its final outcome. */
  sending(uid: string, versioned: VersionedPodStatus): void {
    this.#closeSending(uid, versioned);
    if (versioned.unsentSinceMs !== undefined) this.#records.of(uid).sending = versioned;
  }

  /** This version has reached the API server. @param isAgain it had reached it before */
  sent(uid: string, versioned: VersionedPodStatus, kind: SentResult['kind'], isAgain: boolean): void {
    this.#closeSending(uid, versioned);
    const subject = subjectOf(uid, versioned);
    if (!isAgain) this.report({ ...subject, outcome: kind });
    else if (kind === 'written') this.report({ ...subject, outcome: 'reconciled' });
  }

  /** The sync of this pod has ended. A version it did not record as sent may be superseded now. */
  syncEnded(uid: string, newest: VersionedPodStatus | undefined): void {
    if (newest !== undefined) this.#closeSending(uid, newest);
  }

  /** The status was dropped with this as the newest version. Listeners are called in a microtask. */
  dropped(uid: string, newest: VersionedPodStatus, reason: DropReason): void {
    const sending = this.#records.get(uid)?.sending;
    if (sending !== undefined && sending.version < newest.version) {
      this.reportLater({ ...subjectOf(uid, sending), outcome: 'gone', reason });
    }
    if (newest.unsentSinceMs === undefined) return;
    this.reportLater({ ...subjectOf(uid, newest), outcome: 'gone', reason });
  }

  /** Reports any outcome. */
  report(outcome: StatusOutcome): void {
    this.#record(outcome);
    this.#publish(outcome);
  }

  /** Like `report`, but calls listeners in a microtask: for outcomes of a setter. */
  reportLater(outcome: StatusOutcome): void {
    this.#record(outcome);
    if (!this.#subscribers.isEmpty || this.#channel.hasSubscribers) runInMicrotask(() => this.#publish(outcome));
  }

  /** Resolves when `version` or a newer one of this pod is written, or never will be; rejects when the signal is aborted. */
  whenWritten(uid: string, version: number, signal: AbortSignalLike | undefined): Promise<WrittenResult> {
    return addWaiter(this.#records.of(uid), version, signal);
  }

  /** Resolves all pending `whenWritten` calls with `stopped`. */
  stop(): void {
    for (const record of this.#records.values()) stopWaiters(record);
  }

  #isSending(uid: string, { version }: VersionedPodStatus): boolean {
    return this.#records.get(uid)?.sending?.version === version;
  }

  /** The PATCH in flight has ended without being recorded as sent. */
  #closeSending(uid: string, newest: VersionedPodStatus): void {
    const record = this.#records.get(uid);
    const sending = record?.sending;
    if (sending === undefined) return;
    record!.sending = undefined;
    if (sending.version < newest.version) this.report({ ...subjectOf(uid, sending), outcome: 'superseded' });
  }

  /** Synchronous: a `whenWritten` call that follows must wait for a later version. */
  #record(outcome: StatusOutcome): void {
    this.#metrics.incOutcomes(outcome.outcome);
    const { podUID, version } = outcome;
    if (outcome.outcome === 'superseded') this.#records.of(podUID).superseded = version;
    const record = this.#records.get(podUID);
    if (record === undefined) return;
    const isSent = outcome.outcome === 'written' || outcome.outcome === 'unchanged';
    if (isSent && record.superseded !== undefined && record.superseded < version) record.superseded = undefined;
    settleWaiters(record, outcome);
  }

  #publish(outcome: StatusOutcome): void {
    this.#subscribers.notify((listener) => listener.onOutcome?.(outcome));
    if (this.#channel.hasSubscribers) this.#section.delay(() => this.#channel.publish(outcome));
  }
}

/** Resolves with the first outcome that settles `version`; rejects, and leaves no waiter, when the signal is aborted. */
export function addWaiter(record: PodRecord, version: number, signal?: AbortSignalLike): Promise<WrittenResult> {
  let waiter: Waiter;
  const settled = new Promise<WrittenResult>((resolve) => {
    waiter = { version, resolve };
    record.waiters = [...(record.waiters ?? []), waiter];
  });
  if (signal === undefined) return settled;
  return untilAborted(settled, signal).catch((thrown: unknown) => {
    const others = record.waiters?.filter((other) => other !== waiter);
    setWaiters(record, others);
    throw thrown;
  });
}

/** Resolves the calls that this outcome settles. */
export function settleWaiters(record: PodRecord, outcome: StatusOutcome): void {
  const remaining: Waiter[] = [];
  for (const waiter of record.waiters ?? []) {
    const result = resultFor(outcome, waiter.version);
    if (result === undefined) remaining.push(waiter);
    else waiter.resolve(result);
  }
  setWaiters(record, remaining);
}

function setWaiters(record: PodRecord, waiters: readonly Waiter[] = []): void {
  record.waiters = waiters.length === 0 ? undefined : waiters;
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
