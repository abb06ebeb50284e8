import type { ProbeResult, ProbeResultLookup } from './probe-results.ts';

/** A result that is new or differs from the one before. */
export interface ProbeUpdate {
  readonly podUID: string;
  readonly containerID: string;
  readonly result: ProbeResult;
}

/**
 * The results of the probes of one type. `onUpdate` is called for each change, in order, while the
 * change is made; it must not throw. Source: kubelet `results.Manager`.
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

  /** For a container that is gone; `onUpdate` is not called. */
  remove(containerID: string): void {
    this.#results.delete(containerID);
  }
}
