import type { Logger } from '../logger.ts';
import type { Mutable, PodStatus } from '../types.ts';

/** Members that `setPodStatus` and `generateAPIPodStatus` set by themselves, and older API servers do not know. */
const newerMembers = ['observedGeneration', 'resources', 'allocatedResources'] as const;

/**
 * Learns which newer members of a status the API server drops. Divergence: kube-apiserver 1.33 gives
 * pods a generation and drops `observedGeneration`, and it drops the resources of the pod, so that it
 * would never show what was written. A member that a response to a PATCH lacks is left out of what is
 * written and compared from then on, as long as the manager lives.
 */
export class DroppedMembers {
  readonly #logger: Logger;
  readonly #dropped = new Set<(typeof newerMembers)[number]>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** @param written what a PATCH asked for; @param response the status in its response */
  learn(written: PodStatus, response: PodStatus): void {
    for (const member of newerMembers) {
      if (written[member] === undefined || response[member] !== undefined || this.#dropped.has(member)) continue;
      this.#dropped.add(member);
      this.#logger.info({ member }, 'The API server drops a member of pod statuses; it is left out from now on');
    }
  }

  /** The status as this API server keeps it. */
  asKept(status: PodStatus): PodStatus {
    if (this.#dropped.size === 0) return status;
    const kept: Mutable<PodStatus> = { ...status };
    for (const member of this.#dropped) delete kept[member];
    if (this.#dropped.has('observedGeneration') && kept.conditions !== undefined) {
      kept.conditions = kept.conditions.map(({ observedGeneration: _dropped, ...condition }) => condition);
    }
    return kept;
  }
}
