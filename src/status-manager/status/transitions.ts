import type { Container, ContainerStatus, PodSpec, PodStatus } from '../../kube/types.ts';
import {
  containerShouldRestart,
  hasRestartAllContainersRule,
  isRestartableInitContainer,
} from './container-restart.ts';

/** Why an update of a container's state is refused. */
export interface IllegalTransition {
  /** The kubelet's message. */
  readonly reason: string;
  readonly container: string;
}

/**
 * The first container that `status` changes from terminated to non-terminated although it may not
 * restart; undefined if there is none. Ephemeral containers are not checked.
 * Source: kubelet `checkContainerStateTransition`.
 */
export function checkContainerStateTransition(
  oldStatus: PodStatus,
  status: PodStatus,
  podSpec: PodSpec,
): IllegalTransition | undefined {
  if (podSpec.restartPolicy === 'Always' || hasRestartAllContainersRule(podSpec)) return undefined;

  for (const old of oldStatus.containerStatuses ?? []) {
    const container = podSpec.containers?.find(({ name }) => name === old.name);
    if (restartsIllegally(old, status.containerStatuses, container, podSpec)) {
      return {
        reason: `terminated container ${old.name} attempted illegal transition to non-terminated state`,
        container: old.name,
      };
    }
  }
  const initContainers = podSpec.initContainers ?? [];
  for (const [i, old] of (oldStatus.initContainerStatuses ?? []).entries()) {
    const container = initContainers[i];
    if (container === undefined || container.name !== old.name) {
      return { reason: `found mismatch between pod spec and status, container: ${old.name}`, container: old.name };
    }
    if (isRestartableInitContainer(container)) continue;
    if (restartsIllegally(old, status.initContainerStatuses, container, podSpec)) {
      return {
        reason: `terminated init container ${old.name} attempted illegal transition to non-terminated state`,
        container: old.name,
      };
    }
  }
  return undefined;
}

function restartsIllegally(
  old: ContainerStatus,
  statuses: readonly ContainerStatus[] | undefined,
  container: Container | undefined,
  podSpec: PodSpec,
): boolean {
  const terminated = old.state.terminated;
  if (terminated === undefined) return false;
  if (terminated.exitCode !== 0 && podSpec.restartPolicy === 'OnFailure') return false;
  if (container !== undefined && containerShouldRestart(container, podSpec, terminated.exitCode)) return false;
  return statuses?.some(({ name, state }) => name === old.name && state.terminated === undefined) ?? false;
}
