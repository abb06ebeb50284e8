import type { Logger } from '../logger.ts';
import type { Mutable, PodStatus } from '../types.ts';

/**
 * Learns whether the API server keeps `observedGeneration`. Divergence: kube-apiserver 1.33 gives pods
 * a generation and drops `observedGeneration` from their statuses, so that no status would ever be
 * in line with the API server. Once a response to a PATCH lacks it, it is left out of what is written and
 * compared, as long as the manager lives.
 */
export class ObservedGeneration {
  readonly #logger: Logger;
  #isDropped = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** @param written what a PATCH asked for; @param response the status in its response */
  learn(written: PodStatus, response: PodStatus): void {
    if (this.#isDropped || written.observedGeneration === undefined || response.observedGeneration !== undefined)
      return;
    this.#isDropped = true;
    this.#logger.info({}, 'The API server drops observedGeneration from pod statuses; it is left out from now on');
  }

  /** The status as this API server keeps it. */
  asKept(status: PodStatus): PodStatus {
    if (!this.#isDropped) return status;
    const { observedGeneration: _dropped, ...kept }: Mutable<PodStatus> = status;
    if (status.conditions === undefined) return kept;
    const conditions = status.conditions.map(({ observedGeneration: _droppedToo, ...condition }) => condition);
    return { ...kept, conditions };
  }
}
