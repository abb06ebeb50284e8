import type { Pod } from 'kubelet-status-manager';
import { podName, podUID } from './pods.ts';

/** A pod as the API server showed it last, and whether it is gone from there. */
export interface SeenPod {
  readonly pod: Pod;
  readonly isGone: boolean;
}

/** All pods that the agent has had during this run, those that are gone included. */
export class PodHistory {
  readonly #pods = new Map<string, SeenPod>();
  readonly #runsPod: (pod: Pod) => boolean;

  /** @param runsPod tells the agent's pods from those that it leaves alone */
  constructor(runsPod: (pod: Pod) => boolean) {
    this.#runsPod = runsPod;
  }

  handlePod(pod: Pod): void {
    if (this.#runsPod(pod)) this.#pods.set(podUID(pod), { pod, isGone: false });
  }

  handleRemovedPod(pod: Pod): void {
    if (this.#runsPod(pod)) this.#pods.set(podUID(pod), { pod, isGone: true });
  }

  /** In the order of their names. */
  all(): SeenPod[] {
    return [...this.#pods.values()].toSorted((a, b) => podName(a.pod).localeCompare(podName(b.pod), 'en'));
  }
}
