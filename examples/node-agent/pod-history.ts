import type { Pod } from 'kubelet-status-manager';
import { podName, podUID } from './pods.ts';

/** A pod as the API server last showed it, and whether it has been deleted there. */
export interface SeenPod {
  readonly pod: Pod;
  readonly isGone: boolean;
}

/** How many deleted pods are remembered. */
const maxGonePods = 100;

/** The pods of this run: all that exist, and the last hundred that were deleted. */
export class PodHistory {
  readonly #pods = new Map<string, SeenPod>();
  /** UIDs, the oldest first. */
  readonly #gone: string[] = [];
  readonly #runsPod: (pod: Pod) => boolean;

  /** @param runsPod whether the agent runs a pod */
  constructor(runsPod: (pod: Pod) => boolean) {
    this.#runsPod = runsPod;
  }

  handlePod(pod: Pod): void {
    if (this.#runsPod(pod)) this.#pods.set(podUID(pod), { pod, isGone: false });
  }

  handleRemovedPod(pod: Pod): void {
    if (!this.#runsPod(pod)) return;
    const uid = podUID(pod);
    if (!this.#pods.get(uid)?.isGone) this.#gone.push(uid);
    this.#pods.set(uid, { pod, isGone: true });
    if (this.#gone.length > maxGonePods) this.#pods.delete(this.#gone.shift()!);
  }

  /** Existing pods first, then deleted ones, each in the order of their names. */
  all(): SeenPod[] {
    return [...this.#pods.values()].toSorted(
      (a, b) => Number(a.isGone) - Number(b.isGone) || podName(a.pod).localeCompare(podName(b.pod), 'en'),
    );
  }
}
