import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { Outage } from '../../shared/outage.ts';

/** At most so many pods are logged one by one; if there are more, the cause is not a single pod. */
const maxLoggedPods = 3;

/**
 * The pods that the API server forbids to read or update (403). The first three are logged one by one.
 * If there are more, the node lacks a permission: that is logged once when it has lasted 30 s, and
 * once when at most three pods are left.
 */
export class ForbiddenPods {
  readonly #logger: Logger;
  readonly #uids = new Set<string>();
  /** While there are more than three pods. */
  readonly #outage: Outage;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#logger = logger;
    this.#outage = new Outage(clock);
  }

  /** @returns whether to warn of this pod on its own */
  add(uid: string, verb: RequestVerb, reason: string): boolean {
    this.#uids.add(uid);
    if (this.#uids.size <= maxLoggedPods) return true;
    const fields = this.#outage.failed();
    if (fields !== undefined) {
      this.#logger.warn(
        { ...fields, forbiddenPods: this.#uids.size, verb, reason },
        'The API server forbids reading or updating the status of many pods: the node lacks a permission',
      );
    }
    return false;
  }

  /** A request for the pod was permitted. */
  permitted(uid: string): void {
    const fields = this.#remove(uid);
    if (fields !== undefined) {
      this.#logger.warn(fields, 'The API server permits reading and updating pod statuses again');
    }
  }

  /** The pod's status was dropped. */
  forget(uid: string): void {
    this.#remove(uid);
  }

  #remove(uid: string): object | undefined {
    return this.#uids.delete(uid) && this.#uids.size <= maxLoggedPods ? this.#outage.ended() : undefined;
  }
}
