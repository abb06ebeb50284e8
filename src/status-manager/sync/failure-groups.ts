import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { GroupedFailure } from './failure-classes.ts';
import type { PodRecord } from './pod-records.ts';

/** Up to this many pods are logged individually; beyond it, the cause is not a single pod. */
const maxLoggedPods = 3;
const loggedAfterMs = 30_000;

const messages: Readonly<Record<GroupedFailure, { readonly failed: string; readonly recovered: string }>> = {
  Forbidden: {
    failed: 'The API server forbids reading or updating the status of many pods: the node lacks a permission',
    recovered: 'The API server permits reading and updating pod statuses again',
  },
  NotFound: {
    failed: 'Many pods do not exist on the server: their statuses were set, but it has never shown them',
    recovered: 'The server has the pods whose statuses were set',
  },
};

interface Group {
  count: number;
  /** Active while there are more than three pods. */
  readonly failures: FailureLog;
}

/**
 * Counts the pods whose GET or PATCH fails alike. The first three are logged individually. With more,
 * their number is logged once it has lasted 30 s, and again when at most three pods are left.
 */
export class FailureGroups {
  readonly #groups: Readonly<Record<GroupedFailure, Group>>;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    const groupOf = (failure: GroupedFailure): Group => ({
      count: 0,
      failures: new FailureLog({ clock, logger, what: messages[failure] }),
    });
    this.#groups = { Forbidden: groupOf('Forbidden'), NotFound: groupOf('NotFound') };
  }

  /** With this pod there are too many to log it individually. */
  isOneOfMany({ groupedFailure }: PodRecord, failure: GroupedFailure): boolean {
    return this.#groups[failure].count >= maxLoggedPods + (groupedFailure === failure ? 1 : 0);
  }

  add(record: PodRecord, failure: GroupedFailure, verb: RequestVerb, reason: string): void {
    if (record.groupedFailure !== failure) {
      this.dropped(record);
      this.#groups[failure].count++;
    }
    record.groupedFailure = failure;
    const { count, failures } = this.#groups[failure];
    if (count <= maxLoggedPods) return;
    // The reason contains the name of the pod.
    failures.failed(new Error(reason), { pods: count, verb }, { key: '', afterMs: loggedAfterMs });
  }

  /** A request for the pod succeeded. */
  succeeded(record: PodRecord): void {
    this.#leave(record)?.failures.succeeded();
  }

  /** The pod's status was dropped. */
  dropped(record: PodRecord): void {
    this.#leave(record)?.failures.reset();
  }

  /** The group that the pod has left, if few are left in it. */
  #leave(record: PodRecord): Group | undefined {
    const { groupedFailure } = record;
    if (groupedFailure === undefined) return undefined;
    record.groupedFailure = undefined;
    const group = this.#groups[groupedFailure];
    group.count--;
    return group.count <= maxLoggedPods ? group : undefined;
  }
}
