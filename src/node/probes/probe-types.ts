import type { Container, Probe } from '../../kube/objects/types.ts';
import type { ProbeResult, ProbeType } from './probe-results.ts';

/** What distinguishes the probes of one type. */
interface ProbeTypeRow {
  /** In the messages of events. Source: kubelet `probeType.String`. */
  readonly name: string;
  /** The result before the first probe of a container, and during its initial delay. */
  readonly initialResult: ProbeResult;
  /** Whether it probes containers that have not started yet, or those that have. */
  readonly probes: 'starting' | 'started';
  /** Whether it continues while the pod is being terminated; if not, a failure would have no effect. */
  readonly continuesInTermination: boolean;
  /** The results after which nothing is probed until the container has been replaced. */
  readonly isFinal: (result: ProbeResult) => boolean;
  /** The method of the status manager that records a result. Default: the status does not show it. */
  readonly recordedBy?: 'setContainerReadiness' | 'setContainerStartup';
  /** The results that make a sync of the pod necessary. */
  readonly requiresSync: (result: ProbeResult) => boolean;
}

/** All types of probes, in the order in which they are started. A type without a row does not compile. */
export const probeTypes: Readonly<Record<ProbeType, ProbeTypeRow>> = {
  startup: {
    name: 'Startup',
    initialResult: 'unknown',
    probes: 'starting',
    continuesInTermination: false,
    isFinal: () => true,
    recordedBy: 'setContainerStartup',
    requiresSync: () => true,
  },
  readiness: {
    name: 'Readiness',
    initialResult: 'failure',
    probes: 'started',
    continuesInTermination: true,
    isFinal: () => false,
    recordedBy: 'setContainerReadiness',
    requiresSync: () => true,
  },
  liveness: {
    name: 'Liveness',
    initialResult: 'success',
    probes: 'started',
    continuesInTermination: false,
    isFinal: (result) => result === 'failure',
    requiresSync: (result) => result === 'failure',
  },
};

export const probeTypeNames = Object.keys(probeTypes) as readonly ProbeType[];

/** The container's probe of this type. */
export function probeOf(container: Container, probeType: ProbeType): Probe | undefined {
  return container[`${probeType}Probe`] ?? undefined;
}
