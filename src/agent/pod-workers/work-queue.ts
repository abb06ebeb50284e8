import type { Clock } from '../../shared/clock.ts';

/**
 * Holds when each pod must be synced again. It sets no timer: the sync loop polls for due pods.
 * Source: kubelet `queue.WorkQueue`.
 */
export class WorkQueue {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #dueMs = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Replaces an earlier entry of the pod. */
  enqueue(podUID: string, delayMs: number): void {
    this.#dueMs.set(podUID, this.#clock.monotonicMs() + delayMs);
  }

  /** Removes and returns the UIDs of the pods that are due. */
  getWork(): string[] {
    const nowMs = this.#clock.monotonicMs();
    const due = [...this.#dueMs].filter(([, dueMs]) => dueMs <= nowMs).map(([podUID]) => podUID);
    for (const podUID of due) this.#dueMs.delete(podUID);
    return due;
  }

  /** Removes a pod that needs no further sync. */
  forget(podUID: string): void {
    this.#dueMs.delete(podUID);
  }
}
