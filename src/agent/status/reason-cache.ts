import type { StartFailure, StartFailures } from './container-statuses.ts';

/** The same limit as in the kubelet. */
const maxReasonCacheEntries = 1000;

/**
 * Why containers could not be started, for their statuses. Keeps the 1,000 most recently used entries,
 * so entries of pods that are gone need not be removed. Source: kubelet `ReasonCache`.
 */
export class ReasonCache {
  /** Least recently used first. */
  readonly #failures = new Map<string, StartFailure>();

  /** Records why a start failed, or with undefined that it succeeded. */
  update(podUID: string, containerName: string, failure: StartFailure | undefined): void {
    const key = keyOf(podUID, containerName);
    this.#failures.delete(key);
    if (failure === undefined) return;
    this.#failures.set(key, failure);
    if (this.#failures.size > maxReasonCacheEntries) this.#failures.delete(this.#failures.keys().next().value!);
  }

  /** The failures of one pod, for `generatePodStatus`. */
  ofPod(podUID: string): StartFailures {
    return { get: (containerName) => this.#get(keyOf(podUID, containerName)) };
  }

  #get(key: string): StartFailure | undefined {
    const failure = this.#failures.get(key);
    if (failure === undefined) return undefined;
    this.#failures.delete(key);
    this.#failures.set(key, failure);
    return failure;
  }
}

/** Neither part contains a slash. */
function keyOf(podUID: string, containerName: string): string {
  return `${podUID}/${containerName}`;
}
