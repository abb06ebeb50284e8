import type { ProbeResult, ProbeResultLookup } from './probe-results.ts';

/** A result that is new or differs from the previous one. */
export interface ProbeUpdate {
  readonly podUID: string;
  readonly containerID: string;
  readonly result: ProbeResult;
}

/**
 * The results of all probes of one type. `onUpdate` is called synchronously for each change, in order;
 * it must not throw. Source: kubelet `results.Manager`.
 */
export class ProbeResultsManager implements ProbeResultLookup {
  readonly #results = new Map<string, ProbeResult>();
  readonly #onUpdate: (update: ProbeUpdate) => void;

  constructor(onUpdate: (update: ProbeUpdate) => void = () => {}) {
    this.#onUpdate = onUpdate;
  }

  get(containerID: string): ProbeResult | undefined {
    return this.#results.get(containerID);
  }

  set(containerID: string, result: ProbeResult, podUID: string): void {
    if (this.#results.get(containerID) === result) return;
    this.#results.set(containerID, result);
    this.#onUpdate({ podUID, containerID, result });
  }

  /** Removes the result of a container that is gone; `onUpdate` is not called. */
  remove(containerID: string): void {
    this.#results.delete(containerID);
  }
}
