import type { Pod } from 'kubelet-status-manager';
import { podName, podUID } from './pods.ts';

/** A pod as the API server showed it last, and whether it is gone from there. */
export interface SeenPod {
  readonly pod: Pod;
  readonly isGone: boolean;
}

/** How many pods that are gone are remembered. */
const maxGonePods = 100;

/** The pods of this run: all that exist, and the last hundred that are gone. */
export class PodHistory {
  readonly #pods = new Map<string, SeenPod>();
  /** UIDs, the oldest first. */
  readonly #gone: string[] = [];
  readonly #runsPod: (pod: Pod) => boolean;

  /** @param runsPod whether a pod is the agent's */
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

  /** Those that exist come first; in the order of their names. */
  all(): SeenPod[] {
    return [...this.#pods.values()].toSorted(
      (a, b) => Number(a.isGone) - Number(b.isGone) || podName(a.pod).localeCompare(podName(b.pod), 'en'),
    );
  }
}
