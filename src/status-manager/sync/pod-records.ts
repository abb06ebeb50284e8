import type { FailureLog } from '../../shared/failure-log.ts';
import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import type { PodBackOff } from './back-off.ts';
import type { APIPod } from './decide.ts';
import type { GroupedFailure } from './failure-classes.ts';
import type { PodSync } from './pod-sync.ts';
import type { OutcomeSubject, WrittenResult } from './status-outcome.ts';

/** What keeps a pod from terminating, and since when. */
export interface TerminationWait {
  readonly subject: OutcomeSubject;
  readonly sinceMs: number;
  readonly finalizers: readonly string[];
  isLogged: boolean;
}

/** A hot loop: the fields affected and their owners. */
export interface HotLoop {
  /** Top-level status fields in each patch. */
  readonly fields: readonly string[];
  /**
   * Other field managers that own these fields. Empty if the API server or a webhook changes them, if
   * the other writer uses our field manager, or without managedFields.
   */
  readonly managers: readonly string[];
  readonly timesSent: number;
}

/** The last patch of a pod. */
export interface LastPatch {
  readonly version: number;
  readonly changes: unknown;
  /** How often this body (ignoring times) has been sent for this version. */
  readonly timesSent: number;
  /** Set once the threshold is reached, and kept for later versions until the API server keeps one. */
  readonly hotLoop: HotLoop | undefined;
}

/** A pending `whenWritten` call. */
export interface Waiter {
  readonly version: number;
  readonly resolve: (result: WrittenResult) => void;
}

/**
 * Everything that the sync knows of one pod besides its cached status. A part is undefined while it does
 * not apply. A pod without any part is at rest and has no record.
 */
export class PodRecord {
  /** The pod's UID; for a static pod its own, not its mirror's. */
  readonly uid: string;
  /** Since when the pod is in `ReadyPods`. */
  readySinceMs: number | undefined;
  /** Its sync in flight; at most one. */
  inFlight: PodSync | undefined;
  /** The open version in a PATCH in flight (`Outcomes`). */
  sending: VersionedPodStatus | undefined;
  /** The newest version that was superseded, until a newer one is sent. */
  superseded: number | undefined;
  /** Why and until when the pod waits: its last sync failed or was undone. */
  backOff: PodBackOff | undefined;
  /** The API object that the next sync need not read, with only the fields that a sync needs (`trusted-object.ts`). */
  trusted: APIPod | undefined;
  /** The last patch, until the API server is seen to have kept it (`HotLoops`). */
  lastPatch: LastPatch | undefined;
  /** Status fields that the API server drops from this pod (`dropped-fields.ts`). */
  droppedFields: ReadonlySet<string> | undefined;
  /** The pod's first failed sync in a row, if such failures are an outage (`APIOutage`). */
  failingSinceMs: number | undefined;
  /** The failure that the pod has in common with others (`FailureGroups`). */
  groupedFailure: GroupedFailure | undefined;
  /** Conditions for which an Event was recorded and that still hold (`StatusEvents`). */
  recordedEvents: Set<string> | undefined;
  /** The pod's terminal phase is held back (`TerminatingPods`). */
  heldBack: TerminationWait | undefined;
  /** The API server has accepted the pod's DELETE, and finalizers keep the object (`TerminatingPods`). */
  requestedDeletion: TerminationWait | undefined;
  /** The pod has not stopped after its grace period, and that was logged (`TerminatingPods`); `fields` name it in the log. */
  stuckTermination: { readonly fields: object; readonly waitsFor: 'containers' | 'sandbox' } | undefined;
  /** The newest `setPodStatus` was rejected (`RejectedUpdates`). */
  rejected: { readonly failures: FailureLog; readonly container: string } | undefined;
  /** The newest `setPodStatus` had an invalid value, which was kept (`RejectedUpdates`). */
  invalid: FailureLog | undefined;
  /** Pending `whenWritten` calls. */
  waiters: readonly Waiter[] | undefined;

  constructor(uid: string) {
    this.uid = uid;
  }

  get isAtRest(): boolean {
    // A full batch asks this of every pod, so nothing is copied.
    for (const part in this) if (part !== 'uid' && this[part] !== undefined) return false;
    return true;
  }

  /** The parts that outlive the pod's status: facts about its API object and containers, and the sync in flight. */
  withoutStatus(): PodRecord {
    const record = new PodRecord(this.uid);
    record.inFlight = this.inFlight;
    record.requestedDeletion = this.requestedDeletion;
    record.stuckTermination = this.stuckTermination;
    return record;
  }
}

/**
 * The records of all pods that are not at rest. Look a record up again after each `await`: its pod's
 * status may have been dropped.
 */
export class PodRecords {
  readonly #records = new Map<string, PodRecord>();
  readonly #onDropped: ((record: PodRecord) => void)[] = [];

  /** Undefined when the pod is at rest. */
  get(uid: string): PodRecord | undefined {
    return this.#records.get(uid);
  }

  /** The pod's record; a new one if it is at rest. */
  of(uid: string): PodRecord {
    let record = this.#records.get(uid);
    if (record === undefined) this.#records.set(uid, (record = new PodRecord(uid)));
    return record;
  }

  values(): IterableIterator<PodRecord> {
    return this.#records.values();
  }

  /** The pod's status was dropped. */
  drop(uid: string): void {
    const record = this.#records.get(uid);
    if (record === undefined) return;
    this.#records.set(uid, record.withoutStatus());
    this.release(uid);
    for (const listener of this.#onDropped) listener(record);
  }

  /** Deletes the record if the pod is at rest. Call it when a part has ended. */
  release(uid: string): void {
    if (this.#records.get(uid)?.isAtRest === true) this.#records.delete(uid);
  }

  /** For owners that order or count records: `listener` gets each record that was dropped. */
  onDropped(listener: (record: PodRecord) => void): void {
    this.#onDropped.push(listener);
  }
}
