import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { FailureLog } from '../../shared/failure-log.ts';

/** Up to this many pods are logged individually; beyond it, the cause is not a single pod. */
const maxLoggedPods = 3;
const loggedAfterMs = 30_000;

/**
 * Tracks the pods for which a GET or PATCH returns 403. The first three are logged individually. With
 * more, the node lacks a permission: this is logged once it has lasted 30 s, and again when at most
 * three pods are left.
 */
export class ForbiddenPods {
  readonly #uids = new Set<string>();
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
      afterMs: loggedAfterMs,
    });
  }

  /** @returns whether to log this pod individually */
  add(uid: string, verb: RequestVerb, reason: string): boolean {
    this.#uids.add(uid);
    if (this.#uids.size <= maxLoggedPods) return true;
    // The reason contains the name of the pod.
    this.#failures.failed(new Error(reason), { forbiddenPods: this.#uids.size, verb }, { key: '' });
    return false;
  }

  /** A request for the pod was permitted. */
  permitted(uid: string): void {
    if (this.#leavesFew(uid)) this.#failures.succeeded();
  }

  /** The pod's status was dropped. */
  forget(uid: string): void {
    if (this.#leavesFew(uid)) this.#failures.reset();
  }

  #leavesFew(uid: string): boolean {
    return this.#uids.delete(uid) && this.#uids.size <= maxLoggedPods;
  }
}
