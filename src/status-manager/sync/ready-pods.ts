import type { PodRecord } from './pod-records.ts';

/** How far an urgent pod may jump ahead of a routine one. */
const ageingMs = 5_000;

/**
 * Pods ready to be synced, each at most once. Two tiers, each FIFO. Urgent pods go first. Once a
 * routine pod has aged, every second turn goes to routine pods, so that no pod starves; only every
 * second, because a long backlog would otherwise delay pods that become Ready.
 * Divergence: the kubelet syncs in the order of its map.
 */
export class ReadyPods {
  /** Insertion order is FIFO order. */
  readonly #urgent = new Set<PodRecord>();
  readonly #routine = new Set<PodRecord>();
  #wasLastUrgent = false;

  get size(): number {
    return this.#urgent.size + this.#routine.size;
  }

  /** A pod that is already ready keeps its position, or moves to the urgent tier. */
  add(pod: PodRecord, isUrgent: boolean, nowMs: number): void {
    if (this.#urgent.has(pod) || (!isUrgent && this.#routine.has(pod))) return;
    this.#routine.delete(pod);
    (isUrgent ? this.#urgent : this.#routine).add(pod);
    pod.readySinceMs = nowMs;
  }

  /** Removes and returns the next pod. */
  take(): PodRecord | undefined {
    const [urgent] = this.#urgent;
    const [routine] = this.#routine;
    const isAged = sinceMs(routine) + ageingMs <= sinceMs(urgent);
    const isUrgentNext = urgent !== undefined && !(this.#wasLastUrgent && isAged);
    const pod = isUrgentNext ? urgent : routine;
    this.#wasLastUrgent = isUrgentNext;
    if (pod !== undefined) this.remove(pod);
    return pod;
  }

  remove(pod: PodRecord): void {
    this.#urgent.delete(pod);
    this.#routine.delete(pod);
    pod.readySinceMs = undefined;
  }
}

function sinceMs(pod: PodRecord | undefined): number {
  return pod?.readySinceMs ?? Number.POSITIVE_INFINITY;
}
