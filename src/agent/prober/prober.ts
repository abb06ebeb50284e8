import type { Container, Pod, PodStatus, Probe } from '../../index.ts';
import type { ProbeResult, ProbeType } from './probe-results.ts';

/** One probe to be made. */
export interface ProbeRequest {
  readonly probeType: ProbeType;
  readonly probe: Probe;
  readonly pod: Pod;
  /** The pod's status, for its addresses. */
  readonly status: PodStatus;
  readonly container: Container;
  readonly containerID: string;
}

/** Whatever makes probes: runs a command, sends a request, opens a connection. Source: kubelet `prober`. */
export interface Prober {
  /**
   * Resolves with what the container answered; a time-out is a failure. Rejects when the probe could
   * not be made, which says nothing about the container. `signal` is aborted when the result is no longer needed.
   */
  probe(request: ProbeRequest, signal: AbortSignal): Promise<ProbeResult>;
}
