import { firstBy } from '../../shared/by-field.ts';
import type { Container, Pod } from '../../kube/objects/types.ts';
import { containerShouldRestart } from '../../status-manager/status/container-restart.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../runtime/runtime-pod-status.ts';

/**
 * True when the next sync of the pod must start the container: it has never run, or its newest run has
 * exited (or is in an unknown state) and its restart policy and rules require a restart. Always false
 * for a pod that is being deleted. Source: kubelet `ShouldContainerBeRestarted`.
 * @param newest run of the container; undefined if it has none
 */
export function shouldContainerBeRestarted(
  container: Container,
  pod: Pod,
  newest: RuntimeContainerStatus | undefined,
): boolean {
  if (pod.metadata?.deletionTimestamp != null) return false;
  if (newest?.state === 'running') return false;
  return newest?.state !== 'exited' || containerShouldRestart(container, pod.spec ?? {}, newest.exitCode ?? 0);
}

/** Source: kubelet `HasAnyRegularContainerCreated`. */
export function hasAnyRegularContainerCreated(pod: Pod, runtimeStatus: RuntimePodStatus): boolean {
  const newestByName = firstBy(runtimeStatus.containers, 'name');
  return (pod.spec?.containers ?? []).some(({ name }) => {
    const state = newestByName.get(name)?.state;
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
