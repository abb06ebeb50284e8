/** Source: kubelet `probeType`. */
export type ProbeType = 'startup' | 'readiness' | 'liveness';

/** Source: kubelet `results.Result`. */
export type ProbeResult = 'success' | 'failure' | 'unknown';

/** Results of the probes of one type by container ID; undefined: none yet. A `Map` is one. */
export interface ProbeResultLookup {
  /** The last result for this container; undefined when there is none. */
  get(containerID: string): ProbeResult | undefined;
}

/** The present results of all probes. */
export type ProbeResults = { readonly [Type in ProbeType]: ProbeResultLookup };

/** No probe has had a result. */
export const noProbeResults: ProbeResults = { startup: new Map(), readiness: new Map(), liveness: new Map() };
