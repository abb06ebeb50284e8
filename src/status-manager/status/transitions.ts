import { firstBy } from '../../shared/by-field.ts';
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
 * Restores in `status` the old status of each terminated container that would run again. Returns false if that is not
 * enough, because the old status does not match the pod's spec.
 */
export function keepTerminatedContainers(oldStatus: PodStatus, status: Mutable<PodStatus>, podSpec: PodSpec): boolean {
  const kept = {
    containerStatuses: new Map<string, ContainerStatus>(),
    initContainerStatuses: new Map<string, ContainerStatus>(),
  };
  let matchesSpec = true;
  for (const { field, old } of illegalTransitions(oldStatus, status, podSpec))
    if (field === undefined) matchesSpec = false;
    else kept[field].set(old.name, old);
  for (const field of ['containerStatuses', 'initContainerStatuses'] as const)
    if (kept[field].size > 0)
      status[field] = (status[field] ?? []).map((other) => kept[field].get(other.name) ?? other);
  return matchesSpec;
}

/** `field` is undefined for a mismatch of the old status and the spec. */
function* illegalTransitions(
  oldStatus: PodStatus,
  status: PodStatus,
  podSpec: PodSpec,
): Generator<IllegalTransition & { readonly field: CheckedField | undefined; readonly old: ContainerStatus }> {
  if (podSpec.restartPolicy === 'Always' || hasRestartAllContainersRule(podSpec)) return;

  const containers = firstBy(podSpec.containers, 'name');
  const alive = namesOfAlive(status.containerStatuses);
  for (const old of oldStatus.containerStatuses ?? []) {
    if (restartsIllegally(old, alive, containers.get(old.name), podSpec)) {
      yield {
        reason: `terminated container ${old.name} attempted illegal transition to non-terminated state`,
        container: old.name,
        field: 'containerStatuses',
        old,
      };
    }
  }
  const initContainers = podSpec.initContainers ?? [];
  const aliveInit = namesOfAlive(status.initContainerStatuses);
  for (const [i, old] of (oldStatus.initContainerStatuses ?? []).entries()) {
    const container = initContainers[i];
    if (container === undefined || container.name !== old.name) {
      const reason = `found mismatch between pod spec and status, container: ${old.name}`;
      yield { reason, container: old.name, field: undefined, old };
      return;
    }
    if (isRestartableInitContainer(container)) continue;
    if (restartsIllegally(old, aliveInit, container, podSpec)) {
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
  alive: ReadonlySet<string>,
  container: Container | undefined,
  podSpec: PodSpec,
): boolean {
  const terminated = old.state.terminated;
  if (terminated === undefined) return false;
  if (terminated.exitCode !== 0 && podSpec.restartPolicy === 'OnFailure') return false;
  if (container !== undefined && containerShouldRestart(container, podSpec, terminated.exitCode)) return false;
  return alive.has(old.name);
}

function namesOfAlive(statuses: readonly ContainerStatus[] | undefined): ReadonlySet<string> {
  return new Set(statuses?.filter(({ state }) => state.terminated === undefined).map(({ name }) => name));
}
