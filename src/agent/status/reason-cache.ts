import type { StartFailure, StartFailures } from './container-statuses.ts';

/** The kubelet's own. */
const maxReasonCacheEntries = 1000;

/**
 * Why containers could not be started, for their statuses. Holds the 1,000 that were recorded or
 * read last, so that pods which are gone need not be removed. Source: kubelet `ReasonCache`.
 */
export class ReasonCache {
  /** Least recently used first. */
  readonly #failures = new Map<string, StartFailure>();

  /** Records why a start failed; undefined: it succeeded. */
  update(podUID: string, containerName: string, failure: StartFailure | undefined): void {
    const key = keyOf(podUID, containerName);
    this.#failures.delete(key);
    if (failure === undefined) return;
    this.#failures.set(key, failure);
    if (this.#failures.size > maxReasonCacheEntries) this.#failures.delete(this.#failures.keys().next().value!);
  }

  /** Those of one pod, as `generatePodStatus` takes them. */
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

/** Neither part has a slash. */
function keyOf(podUID: string, containerName: string): string {
  return `${podUID}/${containerName}`;
}
