import { firstBy } from '../../shared/by-field.ts';
import { getPodCondition } from '../status/conditions.ts';
import { isRestartableInitContainer } from '../status/container-restart.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';
import type { Container, ContainerStatus, Pod, PodStatus } from '../../kube/objects/types.ts';

interface OfContainer {
  readonly containerName: string;
  readonly isInitContainer: boolean;
}

/** One reason why a pod is not ready. */
export type UnreadyCause =
  | ({
      /** The container waits, for example with reason `CrashLoopBackOff`. */
      readonly kind: 'container-waiting';
      readonly reason: string | undefined;
      readonly message: string | undefined;
    } & OfContainer)
  | ({
      readonly kind: 'container-terminated';
      readonly exitCode: number;
      readonly reason: string | undefined;
    } & OfContainer)
  | ({
      /**
       * The container runs. `startup-probe`, `readiness-probe`: it has not passed this probe.
       * `init-container-running`: it has not completed. `container-not-ready`: it is not ready and has
       * no probe that explains it.
       */
      readonly kind: 'startup-probe' | 'readiness-probe' | 'init-container-running' | 'container-not-ready';
    } & OfContainer)
  /** The status does not contain this container. */
  | ({ readonly kind: 'container-unknown' } & OfContainer)
  | {
      /** The condition of a readiness gate is not True; undefined if the API object lacks it. */
      readonly kind: 'readiness-gate';
      readonly conditionType: string;
      readonly status: string | undefined;
    }
  | {
      /** The pod has ended. */
      readonly kind: 'terminal-phase';
      readonly phase: string;
      readonly reason: string | undefined;
      readonly message: string | undefined;
    }
  | {
      /** None of the above: reason and message of the Ready condition. */
      readonly kind: 'condition';
      readonly reason: string | undefined;
      readonly message: string | undefined;
    };

/**
 * Why the Ready condition of `status` is not True, most important first; empty if it is True or
 * absent. A terminal phase comes first, then failed containers; an incomplete init container is the
 * only cause.
 * @param pod the pod manager's pod, for its probes and readiness gates
 */
export function unreadyCauses(status: PodStatus, pod: Pod | undefined): UnreadyCause[] {
  const ready = getPodCondition(status.conditions, 'Ready');
  if (isPodPhaseTerminal(status.phase)) {
    const { phase, reason, message } = status;
    return [{ kind: 'terminal-phase', phase, reason, message }, ...failedContainers(status)];
  }
  if (ready === undefined || ready.status === 'True') return [];
  const containers = unreadyContainers(status, pod);
  if (containers.length > 0) return containers;
  const gates = failingGates(status, pod);
  if (gates.length > 0) return gates;
  return [{ kind: 'condition', reason: ready.reason, message: ready.message }];
}

function failedContainers({ initContainerStatuses = [], containerStatuses = [] }: PodStatus): UnreadyCause[] {
  const failed = (statuses: readonly ContainerStatus[], isInitContainer: boolean): UnreadyCause[] =>
    statuses
      .filter(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0)
      .map((status) => causeOf({ name: status.name }, status, isInitContainer));
  return [...failed(initContainerStatuses, true), ...failed(containerStatuses, false)];
}

function unreadyContainers(status: PodStatus, pod: Pod | undefined): UnreadyCause[] {
  const init = pod?.spec?.initContainers ?? [];
  const initStatuses = status.initContainerStatuses ?? [];
  if (getPodCondition(status.conditions, 'Initialized')?.status === 'False') {
    const incomplete = collect(namesOf(init, initStatuses), init, initStatuses, true, (container, found) =>
      isRestartableInitContainer(container) ? found.started === true : found.ready,
    );
    // The first one prevents later ones from starting.
    if (incomplete.length > 0) return incomplete.slice(0, 1);
  }
  const isReady = (_container: Container, found: ContainerStatus): boolean => found.ready;
  const sidecars = init.filter(isRestartableInitContainer);
  const regular = pod?.spec?.containers ?? [];
  const statuses = status.containerStatuses ?? [];
  return [
    ...collect(namesOf(sidecars, []), sidecars, initStatuses, true, isReady),
    ...collect(namesOf(regular, statuses), regular, statuses, false, isReady),
  ];
}

/** Without a pod, the status alone tells which containers there are. */
function namesOf(containers: readonly Container[], statuses: readonly ContainerStatus[]): string[] {
  return (containers.length > 0 ? containers : statuses).map(({ name }) => name);
}

function collect(
  names: readonly string[],
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  isInitContainer: boolean,
  passes: (container: Container, status: ContainerStatus) => boolean,
): UnreadyCause[] {
  const containerByName = firstBy(containers, 'name');
  const statusByName = firstBy(statuses, 'name');
  return names.flatMap((containerName) => {
    const container = containerByName.get(containerName) ?? { name: containerName };
    const status = statusByName.get(containerName);
    if (status !== undefined && passes(container, status)) return [];
    return [causeOf(container, status, isInitContainer)];
  });
}

function causeOf(container: Container, status: ContainerStatus | undefined, isInitContainer: boolean): UnreadyCause {
  const of: OfContainer = { containerName: container.name, isInitContainer };
  const { waiting, terminated, running } = status?.state ?? {};
  if (terminated != null) {
    return { kind: 'container-terminated', ...of, exitCode: terminated.exitCode, reason: terminated.reason };
  }
  // As in Go, a status without a state means waiting.
  if (running == null && status !== undefined) {
    return { kind: 'container-waiting', ...of, reason: waiting?.reason, message: waiting?.message };
  }
  if (status === undefined) return { kind: 'container-unknown', ...of };
  if (isInitContainer && !isRestartableInitContainer(container)) return { kind: 'init-container-running', ...of };
  if (container.startupProbe != null && status.started !== true) return { kind: 'startup-probe', ...of };
  return { kind: container.readinessProbe == null ? 'container-not-ready' : 'readiness-probe', ...of };
}

/** Readiness gate conditions are foreign: only the API object is sure to have them. */
function failingGates(status: PodStatus, pod: Pod | undefined): UnreadyCause[] {
  const conditions = firstBy([...(pod?.status?.conditions ?? []), ...(status.conditions ?? [])], 'type');
  return (pod?.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = conditions.get(conditionType);
    if (condition?.status === 'True') return [];
    return [{ kind: 'readiness-gate' as const, conditionType, status: condition?.status ?? undefined }];
  });
}
