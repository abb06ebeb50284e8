import { firstBy } from '../../shared/by-field.ts';
import type { ActuatedPod } from '../allocation/actuated-resources.ts';
import type { Container, Pod } from '../../kube/objects/types.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import {
  activeContainerStatuses,
  hasAnyActiveRegularContainerStarted,
  hashContainer,
  type ProbeResults,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  shouldContainerBeRestarted,
} from '../../node/index.ts';
import type { ContainerKillReason, ContainerToKill } from './pod-actions.ts';
import { computePodResizeAction, type ContainerResize, resizeRestartMessage } from './pod-resize-action.ts';

/** The next actions for the init containers of a pod. */
export interface InitContainerActions {
  /** True when the regular containers may run. */
  readonly hasInitialized: boolean;
  /** True when an init container failed for good, and the pod with it. */
  readonly hasFailed: boolean;
  readonly initContainersToStart: readonly Container[];
  readonly containersToKill: readonly ContainerToKill[];
  readonly resizes: readonly ContainerResize[];
}

/**
 * Init containers run one after the other, each until it has completed, a sidecar until it has
 * started. The last one that was ever started shows how far initialization has come, because earlier
 * ones may have been removed from the runtime. Sidecars that have stopped are started again, even
 * after the pod has been initialized. Source: kubelet `computeInitContainerActions`.
 */
export function computeInitContainerActions(
  pod: Pod,
  runtimeStatus: RuntimePodStatus,
  probeResults: ProbeResults,
  actuated?: ActuatedPod,
): InitContainerActions {
  const initContainers = pod.spec?.initContainers ?? [];
  const toStart = new Set<Container>();
  const containersToKill: ContainerToKill[] = [];
  const resizes: ContainerResize[] = [];
  const active = activeContainerStatuses(runtimeStatus);
  const activeByName = firstBy(active, 'name');
  const newestByName = firstBy(runtimeStatus.containers, 'name');
  let hasInitialized = initContainers.length === 0 || hasAnyActiveRegularContainerStarted(pod, active);
  /** True once this container or a later one was started. */
  let isPreviouslyInitialized = hasInitialized;

  for (const [index, container] of [...initContainers.entries()].toReversed()) {
    const newest = activeByName.get(container.name);
    const isSidecar = isRestartableInitContainer(container);
    if (newest === undefined) {
      if (isPreviouslyInitialized && isSidecar) toStart.add(container);
      continue;
    }
    if (isPreviouslyInitialized && !isSidecar) continue;

    const resize = newest.state === 'running' ? computePodResizeAction(pod, container, newest, actuated) : undefined;
    const step = isSidecar
      ? sidecarStep(container, newest, probeResults, resize)
      : initContainerStep(pod, container, newest, newestByName.get(container.name), resize);
    if (step.hasFailed) {
      return { hasInitialized: false, hasFailed: true, initContainersToStart: [], containersToKill, resizes };
    }
    if (step.isInitialized) {
      const next = initContainers[index + 1];
      if (next === undefined) hasInitialized = true;
      else if (!isPreviouslyInitialized) toStart.add(next);
    }
    if (step.kill !== undefined) containersToKill.push(step.kill);
    if (step.start) toStart.add(container);
    if (step.resize !== undefined) resizes.push(step.resize);
    isPreviouslyInitialized = true;
  }
  if (!isPreviouslyInitialized) toStart.add(initContainers[0]!);
  return {
    hasInitialized,
    hasFailed: false,
    initContainersToStart: initContainers.filter((container) => toStart.has(container)),
    containersToKill,
    resizes,
  };
}

/** The next action for one init container. */
interface Step {
  /** It has completed, or started as a sidecar, so that the next one may start. */
  readonly isInitialized?: boolean;
  readonly start?: boolean;
  readonly kill?: ContainerToKill;
  readonly resize?: ContainerResize | undefined;
  /** It failed and is not restarted. */
  readonly hasFailed?: boolean;
}

function sidecarStep(
  container: Container,
  newest: RuntimeContainerStatus,
  probeResults: ProbeResults,
  resize: ContainerResize | undefined,
): Step {
  const killed = (message: string, reason: ContainerKillReason): Step => ({
    start: true,
    kill: { containerID: newest.id, container, message, reason },
  });
  switch (newest.state) {
    case 'created':
    case 'exited':
      return { start: true };
    case 'unknown':
      return killed(unknownStateMessage, 'Unknown');
    case 'running':
      break;
  }
  if (container.startupProbe != null) {
    const startup = probeResults.startup.get(newest.id);
    if (startup === 'failure') return killed(`Init container ${container.name} failed startup probe`, 'StartupProbe');
    if (startup !== 'success') return {};
  }
  if (newest.hash !== undefined && newest.hash !== hashContainer(container)) {
    return { ...killed(`Init container ${container.name} definition changed`, ''), isInitialized: true };
  }
  if (container.livenessProbe != null && probeResults.liveness.get(newest.id) === 'failure') {
    return {
      ...killed(`Init container ${container.name} failed liveness probe`, 'LivenessProbe'),
      isInitialized: true,
    };
  }
  if (resize?.needsRestart === true) return { ...killed(resizeRestartMessage(container), ''), isInitialized: true };
  return { isInitialized: true, resize };
}

function initContainerStep(
  pod: Pod,
  container: Container,
  newest: RuntimeContainerStatus,
  newestOfAnySandbox: RuntimeContainerStatus | undefined,
  resize: ContainerResize | undefined,
): Step {
  switch (newest.state) {
    case 'created':
      // The runtime created it and failed to start it.
      return { start: true };
    case 'running':
      // The API server refuses resize policies that would restart it.
      return { resize };
    case 'exited':
      if (!isInitContainerFailed(newest)) return { isInitialized: true };
      return shouldContainerBeRestarted(container, pod, newestOfAnySandbox) ? { start: true } : { hasFailed: true };
    case 'unknown':
      break;
  }
  // Restart rules need an exit code.
  if ((container.restartPolicy ?? pod.spec?.restartPolicy) === 'Never') return { hasFailed: true };
  return { start: true, kill: { containerID: newest.id, container, message: unknownStateMessage, reason: 'Unknown' } };
}

const unknownStateMessage = 'Init container is in "unknown" state, try killing it before restart';

/** The init process may survive and exit with 0 if the OOM killer kills another process of its container. */
function isInitContainerFailed({ exitCode = 0, reason }: RuntimeContainerStatus): boolean {
  return exitCode !== 0 || reason === 'OOMKilled';
}
