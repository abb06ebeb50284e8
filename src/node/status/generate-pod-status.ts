import { generateAPIPodStatus, type ObservedPod } from '../../status-manager/status/generate.ts';
import { getPhase } from '../../status-manager/status/phase.ts';
import type { Pod, PodStatusInput } from '../../kube/objects/types.ts';
import {
  type RuntimeContainer,
  shouldAllContainersRestart,
} from '../../status-manager/status/generate-runtime-conditions.ts';
import { hasAnyActiveRegularContainerStarted } from './should-container-be-restarted.ts';
import { noProbeResults, type ProbeResults } from '../probes/probe-results.ts';
import { requireRuntimeStatus } from '../runtime/require-runtime-status.ts';
import {
  activeContainerStatuses,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
} from '../runtime/runtime-pod-status.ts';
import {
  convertToAPIContainerStatuses,
  convertToAPIInitContainerStatuses,
  type StartFailures,
} from './convert-container-statuses.ts';
import { updatePodStatus } from './probed-statuses.ts';

/** The input for a pod's status, in addition to the pod. */
export interface PodObservation extends Pick<
  ObservedPod,
  'eviction' | 'hostIPs' | 'message' | 'podIsTerminal' | 'previous' | 'reason' | 'resizeConditions' | 'resources'
> {
  readonly runtimeStatus: RuntimePodStatus;
  /** Default: none. */
  readonly startFailures?: StartFailures | undefined;
  /** Default: no probe has had a result, so that containers with probes are neither started nor ready. */
  readonly probeResults?: ProbeResults | undefined;
  /** See `ProbeState`. */
  readonly agentStartedAtMs?: number | undefined;
}

/**
 * Generates the complete status of a pod from its runtime status: `generateAPIPodStatus` of the core with
 * generated container statuses. Pass the result to `setPodStatus`.
 * Source: kubelet `generateAPIPodStatus`, `convertStatusToAPIStatus`.
 * @throws StatusManagerError INVALID_ARGUMENT for a pod or an observation that is malformed
 */
export function generatePodStatus(pod: Pod, observation: PodObservation): PodStatusInput {
  const {
    runtimeStatus,
    startFailures = new Map(),
    probeResults: results = noProbeResults,
    agentStartedAtMs,
    ...rest
  } = observation;
  requireRuntimeStatus(pod, runtimeStatus);
  const previous = observation.previous ?? pod.status;
  const runtimeContainers = asRuntimeContainers(runtimeStatus.containers);
  const input = {
    pod,
    runtimeStatus,
    startFailures,
    isRestartingAllContainers: shouldAllContainersRestart(pod, previous, runtimeContainers),
  };
  const containerStatuses = convertToAPIContainerStatuses(
    { previous: previous?.containerStatuses, ...input },
    pod.spec?.containers ?? [],
  );
  const initContainerStatuses = convertToAPIInitContainerStatuses({
    previous: previous?.initContainerStatuses,
    ...input,
  });
  const ephemeralContainerStatuses = convertToAPIContainerStatuses(
    { previous: previous?.ephemeralContainerStatuses, ...input },
    pod.spec?.ephemeralContainers ?? [],
  );
  // The kubelet computes the phase before the probe results go into the statuses.
  const phase = getPhase(
    pod,
    [...initContainerStatuses, ...containerStatuses],
    observation.podIsTerminal ?? false,
    hasAnyActiveRegularContainerStarted(pod, activeContainerStatuses(runtimeStatus)),
  );
  return generateAPIPodStatus(pod, {
    ...rest,
    ...updatePodStatus(pod, { containerStatuses, initContainerStatuses }, { results, agentStartedAtMs }),
    ephemeralContainerStatuses,
    phase,
    sandboxes: runtimeStatus.sandboxes,
    podIPs: runtimeStatus.ips ?? [],
    runtimeContainers,
  });
}

/** For `shouldAllContainersRestart` and the AllContainersRestarting condition. */
function asRuntimeContainers(containers: readonly RuntimeContainerStatus[]): RuntimeContainer[] {
  return containers.map(({ name, state, exitCode }) => ({ name, exited: state === 'exited', exitCode }));
}
