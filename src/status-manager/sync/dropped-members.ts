import type { Logger } from '../../shared/logger.ts';
import type { Mutable, PodStatus } from '../../kube/types.ts';

/** Members that `setPodStatus` and `generateAPIPodStatus` add and older API servers do not know. */
const newerMembers = ['observedGeneration', 'resources', 'allocatedResources'] as const;
type NewerMember = (typeof newerMembers)[number];

/**
 * Tracks which newer status members the API server drops from a pod. A member that a PATCH added and
 * the response lacks is omitted from later patches and comparisons of this pod until the API server
 * shows it.
 * Divergence: kube-apiserver 1.33 sets `metadata.generation` but drops `observedGeneration` and the
 * pod's resources; without this, each sync would find a difference and patch again.
 */
export class DroppedMembers {
  readonly #logger: Logger;
  /** By pod UID: a disabled feature gate drops resources only from pods that do not have them yet. */
  readonly #dropped = new Map<string, Set<NewerMember>>();
  readonly #logged = new Set<NewerMember>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Ignores members present in `before`: another writer may have removed them.
   * @param written the status that the PATCH requested
   * @param response the status in its response
   */
  learn(uid: string, before: PodStatus, written: PodStatus, response: PodStatus): void {
    for (const member of newerMembers) {
      if (before[member] !== undefined || written[member] === undefined || response[member] !== undefined) continue;
      const dropped = this.#dropped.get(uid) ?? new Set();
      this.#dropped.set(uid, dropped.add(member));
      this.#logOnce(member);
    }
  }

  /** The status without the members that the API server drops. `shown` is the API object's current status. */
  withoutDropped(uid: string, status: PodStatus, shown: PodStatus): PodStatus {
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
    this.#logger.info({ member }, 'The API server drops a member of pod statuses; later patches omit it');
  }
}
