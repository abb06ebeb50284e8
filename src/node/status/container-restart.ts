import type { Container, Pod } from '../../kube/objects/types.ts';
import { containerShouldRestart } from '../../status-manager/status/container-restart.ts';
import { findContainerStatusByName, type RuntimePodStatus } from '../runtime/runtime-pod-status.ts';

/**
 * True when the next sync of the pod must start the container: it has never run, or its newest run has
 * exited (or is in an unknown state) and its restart policy and rules require a restart. Always false
 * for a pod that is being deleted. Source: kubelet `ShouldContainerBeRestarted`.
 */
export function shouldContainerBeRestarted(container: Container, pod: Pod, runtimeStatus: RuntimePodStatus): boolean {
  if (pod.metadata?.deletionTimestamp != null) return false;
  const newest = findContainerStatusByName(runtimeStatus, container.name);
  if (newest?.state === 'running') return false;
  return newest?.state !== 'exited' || containerShouldRestart(container, pod.spec ?? {}, newest.exitCode ?? 0);
}

/** Source: kubelet `HasAnyRegularContainerCreated`. */
export function hasAnyRegularContainerCreated(pod: Pod, runtimeStatus: RuntimePodStatus): boolean {
  return (pod.spec?.containers ?? []).some(({ name }) => {
    const state = findContainerStatusByName(runtimeStatus, name)?.state;
    return state === 'created' || state === 'running' || state === 'exited';
  });
}

/**
 * True when a regular container was created in the sandbox that is ready now: its init containers
 * have completed. Source: kubelet `HasAnyActiveRegularContainerStarted`.
 */
export function hasAnyActiveRegularContainerStarted(
  pod: Pod,
  activeContainers: readonly { readonly name: string }[],
): boolean {
  const regular = new Set((pod.spec?.containers ?? []).map(({ name }) => name));
  return activeContainers.some(({ name }) => regular.has(name));
}
