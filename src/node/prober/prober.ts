import { type Bounded, boundedPort, type BoundedPortOptions } from '../../shared/bounded-port.ts';
import type { Container, PodStatus, Probe, ValidPod } from '../../kube/objects/types.ts';
import type { ProbeResult, ProbeType } from '../probes/probe-results.ts';

/** One probe to run. */
export interface ProbeRequest {
  readonly probeType: ProbeType;
  readonly probe: Probe;
  readonly pod: ValidPod;
  /** The pod's status, for its addresses. */
  readonly status: PodStatus;
  readonly container: Container;
  readonly containerID: string;
}

/** Runs probes: a command, a request, or a connection. Source: kubelet `prober`. */
export interface Prober {
  /**
   * Resolves with the result; a time-out is a failure. Rejects if the probe could not be run, which says
   * nothing about the container. `signal` is aborted when the result is no longer needed.
   */
  probe(request: ProbeRequest, signal: AbortSignal): Promise<ProbeResult>;
}

/** The prober that all parts of a node get. */
export type BoundedProber = Bounded<Prober>;

/** The API server's default, which a static pod may lack. */
export const defaultTimeoutSeconds = 1;

/** @property timeoutMs how long the runtime may take beyond the time-out of a probe, see `probeExec` */
export function boundedProber(
  prober: Prober,
  options: Pick<BoundedPortOptions<unknown>, 'clock' | 'signal' | 'timeoutMs'>,
): BoundedProber {
  // A prober may try three times.
  const timeoutMs = (ms: number, { probe }: ProbeRequest): number =>
    3 * (ms + (probe.timeoutSeconds ?? defaultTimeoutSeconds) * 1000);
  const methods = { probe: { parameters: 2, takesSignal: true, timeoutMs } } as const;
  return boundedPort<Prober>(prober, { ...options, name: 'the prober', methods });
}

/**
 * The result of one probe attempt with its output. A `warning` counts as a success and is recorded as
 * an event. Source: kubelet `probe.Result`.
 */
export interface ProbeOutcome {
  readonly result: 'success' | 'warning' | 'failure';
  readonly output: string;
}

/**
 * The container responded, but not completely: as in the kubelet, the probe is tried again, and counts as a failure in
 * the Event. Any other error leaves the result unknown.
 */
export class UnfinishedProbeError extends Error {}
