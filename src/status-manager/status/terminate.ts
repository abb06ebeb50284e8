import type { ContainerStatus, Mutable, Pod, PodStatus } from '../../kube/objects/types.ts';
import { isRestartableInitContainer } from './container-restart.ts';
import { isPodPhaseTerminal } from './phase.ts';

/** The status of a container that could not be found when its pod was terminated. */
function unknownTermination(status: ContainerStatus): ContainerStatus {
  return {
    ...status,
    state: {
      terminated: {
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was terminated',
        startedAt: null,
        finishedAt: null,
      },
    },
  };
}

/**
 * The status of a pod whose containers have all terminated: containers without a
 * termination get one, and the phase is made terminal unless the pod is static. `podStatus` is the
 * pod object's own status, which decides whether the pod had initialised.
 * Source: kubelet `TerminatePod`.
 */
export function terminatedPodStatus(pod: Pod, podStatus: PodStatus, status: PodStatus, isStatic: boolean): PodStatus {
  const terminated: Mutable<PodStatus> = { ...status };
  if (status.containerStatuses !== undefined && hasPodInitialized(pod, podStatus)) {
    terminated.containerStatuses = status.containerStatuses.map(withTermination);
  }
  const initialized = initializedContainers(status.initContainerStatuses ?? []);
  if (initialized > 0) {
    terminated.initContainerStatuses = status.initContainerStatuses!.map((container, i) =>
      i < initialized ? withTermination(container) : container,
    );
  }
  if (!isStatic && !isPodPhaseTerminal(status.phase)) terminated.phase = 'Failed';
  return terminated;
}

/**
 * True when the pod has run its init containers, or shows that a regular container was started. Source:
 * kubelet `hasPodInitialized`.
 */
export function hasPodInitialized(pod: Pod, podStatus: PodStatus): boolean {
  const initContainers = pod.spec?.initContainers ?? [];
  if (initContainers.length === 0) return true;
  for (const { state, lastState } of podStatus.containerStatuses ?? []) {
    if (lastState.terminated !== undefined || state.waiting === undefined) return true;
  }
  const statuses = podStatus.initContainerStatuses ?? [];
  const last = statuses.at(-1);
  const container = initContainers[statuses.length - 1];
  if (last === undefined || container === undefined || container.name !== last.name) return false;
  if (isRestartableInitContainer(container)) return last.state.running !== undefined && last.started === true;
  return last.lastState.terminated?.exitCode === 0 || last.state.terminated?.exitCode === 0;
}

/** How many init containers, from the first on, have been started: at least one, if there is any. */
function initializedContainers(statuses: readonly ContainerStatus[]): number {
  for (let i = statuses.length - 1; i >= 0; i--) {
    const { state, lastState } = statuses[i]!;
    if (state.waiting === undefined || lastState.terminated !== undefined) return i + 1;
  }
  return Math.min(1, statuses.length);
}

function withTermination(status: ContainerStatus): ContainerStatus {
  return status.state.terminated === undefined ? unknownTermination(status) : status;
}
