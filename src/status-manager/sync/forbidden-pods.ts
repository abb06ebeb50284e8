import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { PodRecord } from './pod-records.ts';

/** Up to this many pods are logged individually; beyond it, the cause is not a single pod. */
const maxLoggedPods = 3;
const loggedAfterMs = 30_000;

/**
 * Counts the pods for which a GET or PATCH returns 403. The first three are logged individually. With
 * more, the node lacks a permission: this is logged once it has lasted 30 s, and again when at most
 * three pods are left.
 */
export class ForbiddenPods {
  #count = 0;
  /** Active while there are more than three pods. */
  readonly #failures: FailureLog;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#failures = new FailureLog({
      clock,
      logger,
      what: {
        failed: 'The API server forbids reading or updating the status of many pods: the node lacks a permission',
        recovered: 'The API server permits reading and updating pod statuses again',
      },
    });
  }

  /** With this pod there are too many to log it individually. */
  isOneOfMany({ isForbidden }: PodRecord): boolean {
    return this.#count >= maxLoggedPods + (isForbidden === true ? 1 : 0);
  }

  add(record: PodRecord, verb: RequestVerb, reason: string): void {
    if (record.isForbidden === undefined) this.#count++;
    record.isForbidden = true;
    if (this.#count <= maxLoggedPods) return;
    // The reason contains the name of the pod.
    const fields = { forbiddenPods: this.#count, verb };
    this.#failures.failed(new Error(reason), fields, { key: '', afterMs: loggedAfterMs });
  }

  /** A request for the pod was permitted. */
  permitted(record: PodRecord): void {
    if (this.#leavesFew(record)) this.#failures.succeeded();
  }

  /** The pod's status was dropped. */
  dropped(record: PodRecord): void {
    if (this.#leavesFew(record)) this.#failures.reset();
  }

  #leavesFew(record: PodRecord): boolean {
    if (record.isForbidden === undefined) return false;
    record.isForbidden = undefined;
    this.#count--;
    return this.#count <= maxLoggedPods;
  }
}
