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
export type ProbeResults = { readonly [Type in ProbeType]: ProbeResultLookup };

/** Results of which no probe has any yet. */
export const noProbeResults: ProbeResults = { startup: new Map(), readiness: new Map(), liveness: new Map() };
