import { firstBy } from '../../shared/by-field.ts';
import type { Container, ContainerStatusInput, Pod, PodCondition, PodStatusInput } from '../../kube/objects/types.ts';
import { getPodCondition } from './conditions.ts';
import { matchingRestartRule } from './container-restart.ts';
import { newCondition } from './generate-conditions.ts';

/** What the container runtime reports about a pod's sandbox (CRI `PodSandboxStatus`). */
export interface PodSandbox {
  readonly ready: boolean;
  /** True when the sandbox lives in the node's network namespace; absent means the pod's own. */
  readonly hostNetwork?: boolean | undefined;
  /** The sandbox's network; absent when the runtime reports none, which counts as "has an IP". */
  readonly network?: { readonly ip?: string | undefined } | undefined;
}

/** A container as the container runtime lists it now. */
export interface RuntimeContainer {
  readonly name: string;
  readonly exited: boolean;
  /** Read only when `exited`; absent means 0. */
  readonly exitCode?: number | undefined;
}

/**
 * PodReadyToStartContainers: True when the newest sandbox is the only ready one, fits the spec and has
 * an IP. `sandboxes` are newest first; without any, the condition is False.
 * Source: kubelet `GeneratePodReadyToStartContainersCondition`.
 */
export function generatePodReadyToStartContainersCondition(
  pod: Pod,
  oldPodStatus: PodStatusInput | null | undefined,
  sandboxes: readonly PodSandbox[] | null | undefined,
): PodCondition {
  const problem = sandboxProblem(pod, sandboxes ?? []);
  const outcome =
    problem === undefined ? { status: 'True' } : { status: 'False', reason: 'PodSandboxNotReady', message: problem };
  return newCondition('PodReadyToStartContainers', pod, oldPodStatus, outcome);
}

/**
 * AllContainersRestarting: True from the exit that triggers a restart of all containers until the
 * runtime has removed all of them. `oldPodStatus` says whether a restart is in progress, and has the
 * exit codes that the API server knows. Never has an observedGeneration.
 * Source: kubelet `GenerateAllContainersRestartingCondition`.
 */
export function generateAllContainersRestartingCondition(
  pod: Pod,
  oldPodStatus: PodStatusInput | null | undefined,
  runtimeContainers: readonly RuntimeContainer[] | null | undefined,
  podPhase: string | null | undefined,
): PodCondition {
  const outcome = allContainersRestarting(pod, oldPodStatus, runtimeContainers ?? [], podPhase);
  return newCondition('AllContainersRestarting', pod, undefined, outcome);
}

/**
 * True while all containers of the pod must be restarted: `oldPodStatus` says that a restart is in
 * progress, or a container has exited with a code for which it has a RestartAllContainers rule.
 * `runtimeContainers` are newest first. Source: kubelet `ShouldAllContainersRestart`.
 */
export function shouldAllContainersRestart(
  pod: Pod,
  oldPodStatus: PodStatusInput | null | undefined,
  runtimeContainers: readonly RuntimeContainer[],
): boolean {
  if (getPodCondition(oldPodStatus?.conditions, 'AllContainersRestarting')?.status === 'True') return true;
  const newestByName = firstBy(runtimeContainers, 'name');
  const statusByName = firstBy(
    [...(oldPodStatus?.containerStatuses ?? []), ...(oldPodStatus?.initContainerStatuses ?? [])],
    'name',
  );
  return initAndRegularContainers(pod).some((container) => {
    const seen = newestByName.get(container.name);
    return seen?.exited === true && exitRestartsAll(container, seen.exitCode ?? 0, statusByName.get(container.name));
  });
}

function sandboxProblem(pod: Pod, sandboxes: readonly PodSandbox[]): string | undefined {
  const newest = sandboxes[0];
  if (newest === undefined) return 'no pod sandbox exists';
  if (sandboxes.filter(({ ready }) => ready).length > 1) {
    return 'multiple pod sandboxes are ready and need to be reconciled';
  }
  if (!newest.ready) return 'pod sandbox is not ready';
  const wantsHostNetwork = pod.spec?.hostNetwork ?? false;
  if ((newest.hostNetwork ?? false) !== wantsHostNetwork) {
    return 'network namespace mode changed and sandbox needs to be recreated';
  }
  if (!wantsHostNetwork && newest.network != null && !newest.network.ip) return 'pod sandbox has no IP address';
  return undefined;
}

function allContainersRestarting(
  pod: Pod,
  oldPodStatus: PodStatusInput | null | undefined,
  runtimeContainers: readonly RuntimeContainer[],
  podPhase: string | null | undefined,
): { status: string; reason?: string; message?: string } {
  if (podPhase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (podPhase === 'Failed') return { status: 'False', reason: 'PodFailed' };

  const names = new Set(runtimeContainers.map(({ name }) => name));
  const isCleanedUp = !initAndRegularContainers(pod).some(({ name }) => names.has(name));
  if (isCleanedUp || !shouldAllContainersRestart(pod, oldPodStatus, runtimeContainers)) return { status: 'False' };
  return {
    status: 'True',
    reason: 'RestartAllContainersStarted',
    message: 'container exited with restart policy rule',
  };
}

function initAndRegularContainers(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
}

function exitRestartsAll(container: Container, exitCode: number, status: ContainerStatusInput | undefined): boolean {
  const inAPI = status?.state?.terminated;
  const exitCodes = inAPI == null ? [exitCode] : [exitCode, inAPI.exitCode ?? 0];
  return exitCodes.some((code) => matchingRestartRule(container, code)?.action === 'RestartAllContainers');
}
