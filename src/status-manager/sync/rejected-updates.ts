import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { Logger } from '../../shared/logger.ts';
import { abortedMessage } from '../cache/pod-status-updates.ts';
import type { Rejection } from '../cache/update-result.ts';
import type { PodRecord, PodRecords } from './pod-records.ts';

/** Why the newest `setPodStatus` of a pod was rejected, and since when they are. Times are RFC 3339. */
export interface RejectionInspection extends Rejection {
  readonly since: string;
}

export interface RejectedUpdatesOptions {
  readonly records: PodRecords;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Records and logs the pods whose status the cache rejects, or keeps with an invalid value, for as long
 * as that lasts.
 */
export class RejectedUpdates {
  readonly #options: RejectedUpdatesOptions;

  constructor(options: RejectedUpdatesOptions) {
    this.#options = options;
  }

  /** A `setPodStatus` was `rejected`, or undefined if not. */
  checked(pod: ValidPod, rejected: Rejection | undefined): void {
    const { records, clock, logger } = this.#options;
    const { uid } = pod.metadata;
    if (rejected === undefined) {
      const record = records.get(uid);
      if (record?.rejected === undefined) return;
      record.rejected.failures.succeeded(podFieldsOf(pod));
      record.rejected = undefined;
      records.release(uid);
      return;
    }
    const record = records.of(uid);
    const what = { failed: abortedMessage, recovered: 'Status updates on pod are accepted again' };
    const failures = record.rejected?.failures ?? new FailureLog({ clock, logger, what });
    const { reason, container } = rejected;
    failures.failed(new Error(reason), { ...podFieldsOf(pod), container }, { level: 'error' });
    record.rejected = { failures, container };
  }

  /** @param invalid the error about an invalid value that `setPodStatus` kept; undefined if all values were valid */
  keptInvalid(pod: ValidPod, invalid: unknown): void {
    const { records, clock, logger } = this.#options;
    const { uid } = pod.metadata;
    if (invalid === undefined) {
      const record = records.get(uid);
      if (record?.invalid === undefined) return;
      record.invalid.succeeded(podFieldsOf(pod));
      record.invalid = undefined;
      records.release(uid);
      return;
    }
    const what = {
      failed: 'The status of the pod has an invalid value, which the manager keeps',
      recovered: 'The status of the pod no longer has an invalid value',
    };
    const record = records.of(uid);
    record.invalid ??= new FailureLog({ clock, logger, what });
    record.invalid.failed(invalid, podFieldsOf(pod));
  }
}

/** Undefined if the newest status was accepted. */
export function rejectionOf(record: PodRecord | undefined): RejectionInspection | undefined {
  if (record?.rejected === undefined) return undefined;
  const { failures, container } = record.rejected;
  const { failingSince: since, reason } = failures.failure!;
  return { since, reason, container };
}
