import type { Logger } from '../../shared/logger.ts';
import type { PodRecord } from './pod-records.ts';
import type { Mutable, PodStatus } from '../../kube/objects/types.ts';

/** Fields that the setters and `generateAPIPodStatus` add and older API servers do not know. */
const newerFields = ['observedGeneration', 'resources', 'allocatedResources', 'volumeHealth'] as const;
type NewerField = (typeof newerFields)[number];

/**
 * Learns which newer status fields the API server drops from a pod. A field that a PATCH added and the
 * response lacks is omitted from later patches and comparisons of this pod until the API server shows
 * it.
 * Divergence: kube-apiserver 1.33 sets `metadata.generation` but drops `observedGeneration` and the
 * pod's resources; without this, each sync would find a difference and patch again.
 */
export class DroppedFields {
  readonly #logger: Logger;
  readonly #logged = new Set<NewerField>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Ignores fields present in `before`: another writer may have removed them.
   * @param written the status that the PATCH requested
   * @param response the status in its response
   */
  learn(record: PodRecord, before: PodStatus, written: PodStatus, response: PodStatus): void {
    for (const field of newerFields) {
      if (before[field] !== undefined || written[field] === undefined || response[field] !== undefined) continue;
      record.droppedFields = new Set(record.droppedFields).add(field);
      this.#logOnce(field);
    }
  }

  #logOnce(field: NewerField): void {
    if (this.#logged.has(field)) return;
    this.#logged.add(field);
    this.#logger.info({ field }, 'The API server drops a field of pod statuses; later patches omit it');
  }
}

/** The status without the fields that the API server drops. `shown` is the API object's current status. */
export function withoutDroppedFields(
  dropped: ReadonlySet<string> | undefined,
  status: PodStatus,
  shown: PodStatus,
): PodStatus {
  if (dropped === undefined) return status;
  const kept: Mutable<PodStatus> = { ...status };
  for (const field of newerFields) if (dropped.has(field) && shown[field] === undefined) delete kept[field];
  if (kept.observedGeneration !== status.observedGeneration && kept.conditions !== undefined) {
    kept.conditions = kept.conditions.map(({ observedGeneration: _dropped, ...condition }) => condition);
  }
  return kept;
}
