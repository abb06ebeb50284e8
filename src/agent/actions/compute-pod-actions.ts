import { allBy, firstBy } from '../../shared/by-field.ts';
import type { ActuatedPod } from '../allocation/actuated-resources.ts';
import type { Container, Mutable, Pod } from '../../kube/objects/types.ts';
import { matchingRestartRule } from '../../status-manager/status/container-restart.ts';
import {
  hasAnyRegularContainerCreated,
  hashContainer,
  type ProbeResults,
  requireRuntimeStatus,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  shouldContainerBeRestarted,
} from '../../node/index.ts';
import { computeInitContainerActions } from './init-container-actions.ts';
import type { ContainerToKill, ContainerToReset, PodActions } from './pod-actions.ts';
import {
  computePodResizeAction,
  type ContainerResize,
  containersToUpdate,
  isPodResized,
  resizeRestartMessage,
  startsResized,
} from './pod-resize-action.ts';

/**
 * Computes the next actions for a pod that should run from its runtime status. The caller performs the actions, and handles
 * back-off, image pulls and failures. `restartAllContainers` is true if the pod's condition AllContainersRestarting is True.
 * `actuated` has the resources that the pod and its containers were given; without it, nothing is resized. `lost` are runs
 * that the runtime does not show: see `lostRuns`. Source: kubelet `computePodActions`.
 * @throws StatusManagerError INVALID_ARGUMENT for a pod or a runtime status that is malformed
 */
export function computePodActions(
  pod: Pod,
  observed: RuntimePodStatus,
  probeResults: ProbeResults,
  restartAllContainers = false,
  actuated?: ActuatedPod,
  lost: readonly RuntimeContainerStatus[] = [],
): PodActions {
  requireRuntimeStatus(pod, observed);
  const runtimeStatus = { ...observed, containers: [...observed.containers, ...lost] };
  const { changed, attempt, sandboxID } = podSandboxChanged(pod, runtimeStatus);
  const actions: Mutable<PodActions> = {
    killPod: changed,
    createSandbox: changed,
    sandboxID,
    attempt,
    containersToKill: [],
    containersToReset: [],
    containersToUpdate: [],
    updatePodResources: false,
    ephemeralContainersToStart: [],
    initContainersToStart: [],
    containersToStart: [],
  };
  if (restartAllContainers) return { ...actions, containersToReset: containersToReset(pod, runtimeStatus) };
  if (changed) return inNewSandbox(pod, runtimeStatus, actions, lost);

  const newestByName = firstBy(runtimeStatus.containers, 'name');
  // Ephemeral containers are never restarted, and do not wait for the init containers.
  actions.ephemeralContainersToStart = (pod.spec?.ephemeralContainers ?? []).filter(
    ({ name }) => !newestByName.has(name),
  );
  const init = computeInitContainerActions(pod, runtimeStatus, probeResults, actuated);
  actions.initContainersToStart = init.initContainersToStart;
  actions.containersToKill = init.containersToKill;
  actions.containersToUpdate = containersToUpdate(init.resizes);
  actions.updatePodResources = startsResized(pod, init.initContainersToStart, actuated);
  if (init.hasFailed) return { ...actions, killPod: true };
  if (!init.hasInitialized) return actions;

  const regular = regularContainerActions(pod, newestByName, probeResults, actuated);
  actions.containersToStart = regular.toStart;
  actions.containersToKill = [...init.containersToKill, ...regular.toKill];
  actions.containersToUpdate = containersToUpdate([...init.resizes, ...regular.resizes]);
  actions.updatePodResources ||= startsResized(pod, regular.toStart, actuated) || isPodResized(pod, actuated);
  // Sidecars alone do not keep a pod alive.
  if (!regular.keepsAny && regular.toStart.length === 0)
    return { ...actions, killPod: true, initContainersToStart: [] };
  return actions;
}

/** Starts the pod from the beginning, unless it has nothing left to do. */
function inNewSandbox(
  pod: Pod,
  runtimeStatus: RuntimePodStatus,
  actions: PodActions,
  lost: readonly RuntimeContainerStatus[],
): PodActions {
  const isOver = pod.spec?.restartPolicy === 'Never' && actions.attempt !== 0 && runtimeStatus.containers.length > 0;
  if (isOver) return { ...actions, createSandbox: false };

  const { initContainers = [], containers = [] } = pod.spec ?? {};
  const newestByName = firstBy(runtimeStatus.containers, 'name');
  const lostNames = new Set(lost.map(({ name }) => name));
  const containersToStart = containers.filter((container) => {
    const policy = container.restartPolicy ?? pod.spec?.restartPolicy;
    return (
      (policy !== 'OnFailure' || !hasSucceeded(newestByName.get(container.name))) && !lostNames.has(container.name)
    );
  });
  if (containersToStart.length === 0 && hasAnyRegularContainerCreated(pod, runtimeStatus)) {
    return { ...actions, createSandbox: false };
  }
  return initContainers.length > 0
    ? { ...actions, initContainersToStart: initContainers.slice(0, 1) }
    : { ...actions, containersToStart };
}

function regularContainerActions(
  pod: Pod,
  newestByName: ReadonlyMap<string, RuntimeContainerStatus>,
  probeResults: ProbeResults,
  actuated: ActuatedPod | undefined,
): { toStart: Container[]; toKill: ContainerToKill[]; resizes: ContainerResize[]; keepsAny: boolean } {
  const toStart: Container[] = [];
  const resizes: ContainerResize[] = [];
  const toKill: ContainerToKill[] = [];
  let keepsAny = false;
  for (const container of pod.spec?.containers ?? []) {
    const newest = newestByName.get(container.name);
    if (newest?.state !== 'running') {
      if (!shouldContainerBeRestarted(container, pod, newest)) continue;
      toStart.push(container);
      // It may be running, and two instances must never run at the same time.
      if (newest?.state === 'unknown') {
        const message = 'Container is in "unknown" state, try killing it before restart';
        toKill.push({ containerID: newest.id, container, message, reason: 'Unknown' });
      }
      continue;
    }
    const fault = faultOfRunning(container, newest, probeResults);
    if (fault === undefined) {
      const resize = computePodResizeAction(pod, container, newest, actuated);
      if (resize !== undefined) resizes.push(resize);
      if (resize?.needsRestart === true) {
        toStart.push(container);
        toKill.push({ containerID: newest.id, container, message: resizeRestartMessage(container), reason: '' });
      } else {
        keepsAny = true;
      }
      continue;
    }
    const restarts = fault.reason === '' || (container.restartPolicy ?? pod.spec?.restartPolicy) !== 'Never';
    if (restarts) toStart.push(container);
    const message = restarts ? `${fault.message}, will be restarted` : fault.message;
    toKill.push({ containerID: newest.id, container, message, reason: fault.reason });
  }
  return { toStart, toKill, resizes, keepsAny };
}

/** Why a running container cannot be kept. */
function faultOfRunning(
  container: Container,
  { id, hash }: RuntimeContainerStatus,
  probeResults: ProbeResults,
): Pick<ContainerToKill, 'message' | 'reason'> | undefined {
  const name = `Container ${container.name}`;
  if (hash !== undefined && hash !== hashContainer(container)) {
    return { message: `${name} definition changed`, reason: '' };
  }
  if (probeResults.liveness.get(id) === 'failure') {
    return { message: `${name} failed liveness probe`, reason: 'LivenessProbe' };
  }
  if (probeResults.startup.get(id) === 'failure') {
    return { message: `${name} failed startup probe`, reason: 'StartupProbe' };
  }
  return undefined;
}

function hasSucceeded(newest: RuntimeContainerStatus | undefined): boolean {
  return newest?.state === 'exited' && (newest.exitCode ?? 0) === 0;
}

/**
 * All runs of all init and regular containers. Those whose exit triggered the restart are removed last, because the restart
 * is known to be in progress as long as the runtime reports them.
 */
function containersToReset(pod: Pod, { containers: runs }: RuntimePodStatus): ContainerToReset[] {
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  const targets: ContainerToReset[] = [];
  const sources: ContainerToReset[] = [];
  const runsByName = allBy(runs, 'name');
  for (const container of firstBy([...containers, ...initContainers], 'name').values()) {
    for (const { id, state, exitCode = 0 } of runsByName.get(container.name) ?? []) {
      const hasExited = state === 'exited';
      const isSource = hasExited && matchingRestartRule(container, exitCode)?.action === 'RestartAllContainers';
      (isSource ? sources : targets).push({ containerID: id, container, kill: !hasExited });
    }
  }
  return [...targets, ...sources];
}

/** Whether a pod needs a new sandbox. */
interface SandboxChange {
  readonly changed: boolean;
  /** The attempt number of the sandbox to create, or of the newest one if nothing changed. */
  readonly attempt: number;
  /** The sandbox to replace or keep; empty if there is none, or if its network namespace differs from the spec. */
  readonly sandboxID: string;
}

/**
 * A pod needs a new sandbox if it has none, if the newest is not ready or not the only ready one, if
 * its network namespace differs from the spec, or if it has no IP address.
 * Source: kubelet `PodSandboxChanged`.
 */
function podSandboxChanged(pod: Pod, { sandboxes }: RuntimePodStatus): SandboxChange {
  const [newest] = sandboxes;
  if (newest === undefined) return { changed: true, attempt: 0, sandboxID: '' };

  const lastAttempt = Math.max(...sandboxes.map(({ attempt = 0 }) => attempt));
  const replaced = { changed: true, attempt: lastAttempt + 1, sandboxID: newest.id };
  const readyCount = sandboxes.filter(({ ready }) => ready).length;
  if (readyCount > 1 || !newest.ready) return replaced;

  const wantsHostNetwork = pod.spec?.hostNetwork ?? false;
  if ((newest.hostNetwork ?? false) !== wantsHostNetwork) return { ...replaced, sandboxID: '' };
  if (!wantsHostNetwork && newest.network != null && !newest.network.ip) return replaced;
  return { changed: false, attempt: lastAttempt, sandboxID: newest.id };
}
