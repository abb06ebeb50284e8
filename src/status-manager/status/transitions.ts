import type { Container, ContainerStatus, Mutable, PodSpec, PodStatus } from '../../kube/objects/types.ts';
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

type CheckedField = 'containerStatuses' | 'initContainerStatuses';

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
  const [first] = illegalTransitions(oldStatus, status, podSpec);
  return first && { reason: first.reason, container: first.container };
}

/**
 * Gives each of these containers its old status in `status`. Returns false, and changes nothing of a container, where that
 * does not help: the old status does not match the spec of the pod.
 */
export function keepTerminatedContainers(oldStatus: PodStatus, status: Mutable<PodStatus>, podSpec: PodSpec): boolean {
  for (const { field, container, old } of illegalTransitions(oldStatus, status, podSpec)) {
    if (field === undefined) return false;
    status[field] = (status[field] ?? []).map((other) => (other.name === container ? old : other));
  }
  return true;
}

/** `field` is undefined for a mismatch of the old status and the spec. */
function* illegalTransitions(
  oldStatus: PodStatus,
  status: PodStatus,
  podSpec: PodSpec,
): Generator<IllegalTransition & { readonly field: CheckedField | undefined; readonly old: ContainerStatus }> {
  if (podSpec.restartPolicy === 'Always' || hasRestartAllContainersRule(podSpec)) return;

  for (const old of oldStatus.containerStatuses ?? []) {
    const container = podSpec.containers?.find(({ name }) => name === old.name);
    if (restartsIllegally(old, status.containerStatuses, container, podSpec)) {
      yield {
        reason: `terminated container ${old.name} attempted illegal transition to non-terminated state`,
        container: old.name,
        field: 'containerStatuses',
        old,
      };
    }
  }
  const initContainers = podSpec.initContainers ?? [];
  for (const [i, old] of (oldStatus.initContainerStatuses ?? []).entries()) {
    const container = initContainers[i];
    if (container === undefined || container.name !== old.name) {
      const reason = `found mismatch between pod spec and status, container: ${old.name}`;
      yield { reason, container: old.name, field: undefined, old };
      return;
    }
    if (isRestartableInitContainer(container)) continue;
    if (restartsIllegally(old, status.initContainerStatuses, container, podSpec)) {
      yield {
        reason: `terminated init container ${old.name} attempted illegal transition to non-terminated state`,
        container: old.name,
        field: 'initContainerStatuses',
        old,
      };
    }
  }
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
