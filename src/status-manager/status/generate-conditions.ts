import { firstBy } from '../../shared/by-field.ts';
import type {
  Container,
  ContainerStatusInput,
  Pod,
  PodCondition,
  PodConditionInput,
  PodStatusInput,
} from '../../kube/objects/types.ts';
import { getPodCondition, podConditionObservedGeneration } from './conditions.ts';
import { isRestartableInitContainer } from './container-restart.ts';

type Statuses = readonly ContainerStatusInput[] | null | undefined;
type OldPodStatus = PodStatusInput | null | undefined;
type Phase = string | null | undefined;

interface Outcome {
  readonly status: string;
  readonly reason?: string | null | undefined;
  readonly message?: string | null | undefined;
}

/**
 * ContainersReady: True when every regular container and every sidecar of the spec is ready.
 * `containerStatuses` has the init and the regular ones; an absent list differs from an empty one. The
 * condition has no times: `setPodStatus` sets its transition time.
 * Source: kubelet `GenerateContainersReadyCondition`.
 */
export function generateContainersReadyCondition(
  pod: Pod,
  oldPodStatus: OldPodStatus,
  containerStatuses: Statuses,
  podPhase: Phase,
): PodCondition {
  return newCondition('ContainersReady', pod, oldPodStatus, containersReady(pod, containerStatuses, podPhase));
}

/**
 * Ready: True when ContainersReady is True, and in `conditions` the condition of every readiness gate.
 * Arguments as for `generateContainersReadyCondition`. Source: kubelet `GeneratePodReadyCondition`.
 */
export function generatePodReadyCondition(
  pod: Pod,
  oldPodStatus: OldPodStatus,
  conditions: readonly PodConditionInput[] | null | undefined,
  containerStatuses: Statuses,
  podPhase: Phase,
): PodCondition {
  const containers = containersReady(pod, containerStatuses, podPhase);
  const outcome = containers.status === 'True' ? gatesReady(pod, conditions) : containers;
  return newCondition('Ready', pod, oldPodStatus, outcome);
}

/**
 * Initialized: True when the init containers have completed. It stays True, even if a sidecar stops
 * later. Arguments as for `generateContainersReadyCondition`.
 * Source: kubelet `GeneratePodInitializedCondition`.
 */
export function generatePodInitializedCondition(
  pod: Pod,
  oldPodStatus: OldPodStatus,
  containerStatuses: Statuses,
  podPhase: Phase,
): PodCondition {
  const outcome = podInitialized(pod, oldPodStatus, containerStatuses, podPhase);
  return newCondition('Initialized', pod, oldPodStatus, outcome);
}

/**
 * True when the pod has readiness gates and its Ready condition does not match its conditions and
 * *regular* container statuses. Source: kubelet `NeedToReconcilePodReadiness`.
 */
export function needToReconcilePodReadiness(pod: Pod): boolean {
  const status = pod.status;
  const ready = getPodCondition(status?.conditions, 'Ready');
  if ((pod.spec?.readinessGates ?? []).length === 0 || ready === undefined) return false;
  const generated = generatePodReadyCondition(
    pod,
    status,
    status?.conditions,
    status?.containerStatuses,
    status?.phase,
  );
  return generated.status !== ready.status || (generated.message ?? '') !== (ready.message ?? '');
}

/** A condition in Go's format, for those that the kubelet generates. */
export function newCondition(
  type: string,
  pod: Pod,
  oldPodStatus: OldPodStatus,
  { status, reason, message }: Outcome,
): PodCondition {
  const observedGeneration = podConditionObservedGeneration(pod, oldPodStatus);
  return {
    type,
    ...(observedGeneration !== 0 && { observedGeneration }),
    status,
    lastProbeTime: null,
    lastTransitionTime: null,
    ...(reason && { reason }),
    ...(message && { message }),
  };
}

function containersReady(pod: Pod, statuses: Statuses, phase: Phase): Outcome {
  if (statuses == null) return { status: 'False', reason: 'UnknownContainerStatuses' };
  const { unknown, failing } = evaluateContainers(pod, statuses, (_container, status) => status.ready === true);
  if (phase === 'Succeeded' && unknown.length === 0) return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const message = describeContainers(unknown, failing, 'unready');
  return message === '' ? { status: 'True' } : { status: 'False', reason: 'ContainersNotReady', message };
}

function gatesReady(pod: Pod, conditions: readonly PodConditionInput[] | null | undefined): Outcome {
  const readinessGates = pod.spec?.readinessGates ?? [];
  if (readinessGates.length === 0) return { status: 'True' };
  const problems: string[] = [];
  const byType = firstBy(conditions, 'type');
  for (const { conditionType } of readinessGates) {
    const condition = byType.get(conditionType);
    // Divergence: Go quotes unprintable characters in its own way; no valid name has any.
    const quoted = JSON.stringify(conditionType);
    if (condition === undefined) {
      problems.push(`corresponding condition of pod readiness gate ${quoted} does not exist.`);
    } else if (condition.status !== 'True') {
      problems.push(`the status of pod readiness gate ${quoted} is not "True", but ${condition.status ?? ''}`);
    }
  }
  if (problems.length === 0) return { status: 'True' };
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: problems.join(', ') };
}

function podInitialized(pod: Pod, oldPodStatus: OldPodStatus, statuses: Statuses, phase: Phase): Outcome {
  const initContainers = pod.spec?.initContainers ?? [];
  if (statuses == null && initContainers.length > 0) return { status: 'False', reason: 'UnknownContainerStatuses' };

  const { unknown, failing } = evaluateInitContainers(initContainers, statuses ?? []);
  if (phase === 'Succeeded' && unknown.length === 0) return { status: 'True', reason: 'PodCompleted' };

  const statusByName = firstBy(statuses, 'name');
  // A regular container can only have started after the init containers.
  const hasRegularStarted = pod.spec?.containers?.some(({ name }) => {
    const state = statusByName.get(name)?.state;
    return state?.running != null || state?.terminated != null;
  });
  const message = describeContainers(unknown, failing, 'incomplete');
  const wasInitialized = getPodCondition(oldPodStatus?.conditions, 'Initialized')?.status === 'True';
  return message === '' || hasRegularStarted === true || wasInitialized
    ? { status: 'True' }
    : { status: 'False', reason: 'ContainersNotInitialized', message };
}

function evaluateInitContainers(
  initContainers: readonly Container[],
  statuses: readonly ContainerStatusInput[],
): Evaluation {
  return evaluate(initContainers, statuses, (container, status) =>
    isRestartableInitContainer(container) ? status.started === true : status.ready === true,
  );
}

type Passes = (container: Container, status: ContainerStatusInput) => boolean;

interface Evaluation {
  /** The names of containers without a status. */
  readonly unknown: string[];
  readonly failing: string[];
}

function evaluateContainers(pod: Pod, statuses: readonly ContainerStatusInput[], passes: Passes): Evaluation {
  const sidecars = pod.spec?.initContainers?.filter(isRestartableInitContainer) ?? [];
  return evaluate([...sidecars, ...(pod.spec?.containers ?? [])], statuses, passes);
}

function evaluate(
  containers: readonly Container[],
  statuses: readonly ContainerStatusInput[],
  passes: Passes,
): Evaluation {
  const unknown: string[] = [];
  const failing: string[] = [];
  const statusByName = firstBy(statuses, 'name');
  for (const container of containers) {
    const status = statusByName.get(container.name);
    if (status === undefined) unknown.push(container.name);
    else if (!passes(container, status)) failing.push(container.name);
  }
  return { unknown, failing };
}

/** Empty when no container is unknown or failing. */
function describeContainers(unknown: readonly string[], failing: readonly string[], failure: string): string {
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`containers with unknown status: [${unknown.join(' ')}]`);
  if (failing.length > 0) parts.push(`containers with ${failure} status: [${failing.join(' ')}]`);
  return parts.join(', ');
}
