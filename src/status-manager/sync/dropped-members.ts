import type { Logger } from '../../shared/logger.ts';
import type { Mutable, PodStatus } from '../../kube/types.ts';

/** Members that `setPodStatus` and `generateAPIPodStatus` set on their own, and that older API servers do not know. */
const newerMembers = ['observedGeneration', 'resources', 'allocatedResources'] as const;
type NewerMember = (typeof newerMembers)[number];

/**
 * Learns which newer members the API server drops from the status of a pod. Divergence: kube-apiserver
 * 1.33 gives pods a generation and drops `observedGeneration`, and it drops the resources of the pod, so
 * that it would never show what was written. A member that a PATCH has added and the response lacks is
 * left out of what is written to this pod and compared, for as long as the API server does not show it.
 */
export class DroppedMembers {
  readonly #logger: Logger;
  /** By pod UID: a feature gate that is off drops the resources of those pods only that do not have them yet. */
  readonly #dropped = new Map<string, Set<NewerMember>>();
  readonly #logged = new Set<NewerMember>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * A member that was shown `before` may be missing because another writer has removed it.
   * @param written what a PATCH asked for; @param response the status in its response
   */
  learn(uid: string, before: PodStatus, written: PodStatus, response: PodStatus): void {
    for (const member of newerMembers) {
      if (before[member] !== undefined || written[member] === undefined || response[member] !== undefined) continue;
      const dropped = this.#dropped.get(uid) ?? new Set();
      this.#dropped.set(uid, dropped.add(member));
      this.#logOnce(member);
    }
  }

  /** The status as the API server keeps it, of which it shows `shown` now. */
  asKept(uid: string, status: PodStatus, shown: PodStatus): PodStatus {
    const dropped = this.#dropped.get(uid);
    if (dropped === undefined) return status;
    const kept: Mutable<PodStatus> = { ...status };
    for (const member of dropped) if (shown[member] === undefined) delete kept[member];
    if (kept.observedGeneration !== status.observedGeneration && kept.conditions !== undefined) {
      kept.conditions = kept.conditions.map(({ observedGeneration: _dropped, ...condition }) => condition);
    }
    return kept;
  }

  /** The pod's status was dropped. */
  forget(uid: string): void {
    this.#dropped.delete(uid);
  }

  #logOnce(member: NewerMember): void {
    if (this.#logged.has(member)) return;
    this.#logged.add(member);
    this.#logger.info({ member }, 'The API server drops a member of pod statuses; it is left out from now on');
  }
}
