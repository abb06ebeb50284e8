import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import type { DropReason } from '../sync/status-outcome.ts';

/** The last status of a pod that was dropped from the cache. Times are on the monotonic clock. */
export interface DroppedStatus {
  /**
   * `deleted`: the API server has accepted its DELETE. `deleting`: `removeOrphanedStatuses` came before the response to the
   * DELETE. The others: as the outcome `gone`.
   */
  readonly reason: Exclude<DropReason, 'outdated'> | 'deleted' | 'deleting';
  readonly atMs: number;
  readonly versioned: VersionedPodStatus;
  readonly sentVersion: number | undefined;
}

const keptForMs = 600_000;
const maxKept = 500;

/** The last statuses of pods that are gone, for `explain()`: the newest 500, for ten minutes. */
export class DroppedStatuses {
  readonly #clock: { monotonicMs(): number };
  /** By pod UID, the newest last. */
  readonly #dropped = new Map<string, DroppedStatus>();

  constructor(clock: { monotonicMs(): number }) {
    this.#clock = clock;
  }

  add(podUID: string, dropped: Omit<DroppedStatus, 'atMs'>): void {
    // What is set after the deletion is never sent.
    if (dropped.reason === 'removed' && this.get(podUID)?.reason === 'deleted') return;
    this.#dropped.delete(podUID);
    this.#dropped.set(podUID, { ...dropped, atMs: this.#clock.monotonicMs() });
    for (const [uid, { atMs }] of this.#dropped) {
      if (this.#dropped.size <= maxKept && !this.#isOld(atMs)) break;
      this.#dropped.delete(uid);
    }
  }

  /** The API server accepted the DELETE of a pod whose status `removeOrphanedStatuses` had dropped before the response. */
  deleted(podUID: string): void {
    const dropped = this.get(podUID);
    if (dropped?.reason === 'deleting') this.add(podUID, { ...dropped, reason: 'deleted' });
  }

  /** The API object is gone only now: finalizers had kept it. */
  touch(podUID: string): void {
    const dropped = this.#dropped.get(podUID);
    if (dropped !== undefined) this.add(podUID, dropped);
  }

  get(podUID: string): DroppedStatus | undefined {
    const dropped = this.#dropped.get(podUID);
    return dropped === undefined || this.#isOld(dropped.atMs) ? undefined : dropped;
  }

  #isOld(atMs: number): boolean {
    return this.#clock.monotonicMs() - atMs > keptForMs;
  }
}
