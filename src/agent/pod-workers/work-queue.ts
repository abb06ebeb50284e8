import type { Clock } from '../../index.ts';

/**
 * When each pod is to be synced again. It sets no timer: the sync loop asks for the pods that are due.
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

  /** The UIDs of the pods that are due, which are then no longer in the queue. */
  getWork(): string[] {
    const nowMs = this.#clock.monotonicMs();
    const due = [...this.#dueMs].filter(([, dueMs]) => dueMs <= nowMs).map(([podUID]) => podUID);
    for (const podUID of due) this.#dueMs.delete(podUID);
    return due;
  }

  /** For a pod that needs no further sync. */
  forget(podUID: string): void {
    this.#dueMs.delete(podUID);
  }
}
