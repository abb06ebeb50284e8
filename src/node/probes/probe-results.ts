/** Source: kubelet `probeType`. */
export type ProbeType = 'startup' | 'readiness' | 'liveness';

/** Source: kubelet `results.Result`. */
export type ProbeResult = 'success' | 'failure' | 'unknown';

/** Results of the probes of one type by container ID, for example a `Map`. */
export interface ProbeResultLookup {
  /** The last result for this container; undefined if there is none. */
  get(containerID: string): ProbeResult | undefined;
}

/** The current results of all probes. */
export type ProbeResults = { readonly [Type in ProbeType]: ProbeResultLookup } & {
  /** True if they are reported, not probed: readiness results then count even without a readiness probe. Default: false. */
  readonly areReported?: boolean | undefined;
};

/** Empty results: no probe has run yet. */
export const noProbeResults: ProbeResults = { startup: new Map(), readiness: new Map(), liveness: new Map() };

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
