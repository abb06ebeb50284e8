import { refuseArgument, requireObject } from '../../shared/errors.ts';
import type {
  ContainerStatusInput,
  Pod,
  PodConditionInput,
  PodStatusInput,
  ResourceRequirementsInput,
} from '../../kube/objects/types.ts';
import { getPodCondition, replaceOrAppendPodCondition } from './conditions.ts';
import { hasRestartAllContainersRule } from './container-restart.ts';
import {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
  newCondition,
} from './generate-conditions.ts';
import {
  generateAllContainersRestartingCondition,
  generatePodReadyToStartContainersCondition,
  type PodSandbox,
  type RuntimeContainer,
} from './generate-runtime-conditions.ts';
import { disruptionTarget, podConditionByKubelet } from './ownership.ts';
import { getPhase, hasRun, isPodPhaseTerminal, type PodPhase } from './phase.ts';
import { statusIPs } from './pod-ips.ts';
import { actualPodResources, podStatusResources } from './pod-resources.ts';
import { computePodQOS } from './qos.ts';

/** What a node agent observes of a pod. Lists may be readonly; nothing is modified. */
export interface ObservedPod {
  /** One entry for each container of the spec that the agent knows; copied to the status unchanged. */
  readonly containerStatuses: readonly ContainerStatusInput[];
  /** As `containerStatuses`, for the init containers. Default: none. */
  readonly initContainerStatuses?: readonly ContainerStatusInput[] | undefined;
  /** As `containerStatuses`, for the ephemeral containers. Default: none. */
  readonly ephemeralContainerStatuses?: readonly ContainerStatusInput[] | undefined;
  /** The pod's sandboxes, newest first. Default: none, so that PodReadyToStartContainers is False. */
  readonly sandboxes?: readonly PodSandbox[] | undefined;
  /** The pod's addresses, as assigned by the network; empty once it has none. Default: the last reported ones. */
  readonly podIPs?: readonly string[] | undefined;
  /** The node's addresses, primary first; only the first two are used. Default: the last reported ones. */
  readonly hostIPs?: readonly string[] | undefined;
  /**
   * True when no container of the pod runs or will ever run again. Default: false. The status then has
   * no resize conditions.
   */
  readonly podIsTerminal?: boolean | undefined;
  /**
   * True when the runtime has a regular container in the pod's newest sandbox, in any state. Default:
   * true if the status of a regular container shows that it runs or ran. Set it if sandboxes are
   * recreated.
   */
  readonly podHasInitialized?: boolean | undefined;
  /** The status last set: `manager.getPodStatus(uid)`. Default: `pod.status`. */
  readonly previous?: PodStatusInput | null | undefined;
  /**
   * The pod's containers as the runtime lists them; read for pods with a RestartAllContainers rule.
   * Default: those that the container statuses show running or terminated.
   */
  readonly runtimeContainers?: readonly RuntimeContainer[] | undefined;
  /**
   * The phase, if it does not follow from the container statuses above: the kubelet computes it with
   * `getPhase` before it adds probe results to them. Default: `getPhase` of the statuses.
   */
  readonly phase?: PodPhase | undefined;
  /**
   * The request for cpu and the limits for cpu and memory that the cgroup of the pod has; absent ones are unlimited or
   * not known. Read while the API server shows the pod as Running. Default: the status shows the resources of the spec.
   */
  readonly resources?: ResourceRequirementsInput | undefined;
  /** `manager.determinePodResizeStatus(uid, podIsTerminal)`. Default: none. */
  readonly resizeConditions?: readonly PodConditionInput[] | null | undefined;
  /** The reason of the status, `''` for none. Default: the last one, as long as the phase is the same. */
  readonly reason?: string | undefined;
  /** As `reason`. */
  readonly message?: string | undefined;
  /**
   * Set when the agent evicts the pod: the phase becomes Failed, with this reason and message, which
   * replace `reason` and `message`. Default: no eviction. Also set `disruption`, because controllers
   * look for it.
   */
  readonly eviction?: { readonly reason: string; readonly message: string } | undefined;
  /**
   * Set when the agent ends the pod to free resources or to shut down: adds a DisruptionTarget
   * condition with this reason (the kubelet's is `TerminationByKubelet`) and message. Pass it with each
   * further status, or pass `previous`, which keeps it. Default: an existing condition is kept.
   * kubelet: the `PodStatusFunc` of the eviction manager, `UpdatePodCondition`.
   */
  readonly disruption?: { readonly reason: string; readonly message: string } | undefined;
}

/**
 * Generates a complete pod status for `setPodStatus` from an agent's observations: phase, conditions,
 * addresses, QoS class and resources, as the kubelet derives them. Never leaves a terminal phase that
 * was reported. Conditions have no times and there is no startTime: `setPodStatus` adds them. Always
 * includes qosClass. Source: kubelet `generateAPIPodStatus`.
 *
 * `allocatedResources` follow from the spec of the given pod, and so do `resources` unless the pod is
 * running. API servers before v1.37 do not store them; the manager notices that and omits them
 * (`sync/dropped-fields.ts`).
 *
 * Divergence: the kubelet reads `resources` of a running pod from its cgroup; here they also follow from the
 * spec if the caller does not know the cgroup.
 * @throws StatusManagerError INVALID_ARGUMENT when `pod` or a field of `observed` has the wrong type;
 * setPodStatus checks the rest
 *
 * @example
 * ```ts
 * import { generateAPIPodStatus } from 'kubelet-status-manager';
 *
 * const state = { running: { startedAt: new Date() } };
 * const status = generateAPIPodStatus(pod, {
 *   containerStatuses: [{ name: 'app', image: 'app:1', imageID: '', restartCount: 0, ready: true, started: true, state }],
 *   podIPs: ['10.0.0.7'],
 *   previous: manager.getPodStatus(podUID),
 * });
 * manager.setPodStatus(pod, status);
 * ```
 */
export function generateAPIPodStatus(pod: Pod, observed: ObservedPod): PodStatusInput {
  requireObserved(pod, observed);
  const apiStatus = pod.status ?? {};
  const previous = observed.previous ?? apiStatus;
  const { containerStatuses } = observed;
  const initContainerStatuses = observed.initContainerStatuses ?? [];
  const ephemeralContainerStatuses = observed.ephemeralContainerStatuses ?? [];

  const outcome = phaseAndReason(pod, observed, previous, apiStatus);
  return {
    conditions: conditions(pod, observed, previous, outcome.phase),
    ...outcome,
    ...statusIPs({
      pod,
      earlier: [previous, apiStatus],
      podIPs: observed.podIPs,
      hostIPs: observed.hostIPs ?? [],
    }),
    qosClass: apiStatus.qosClass || computePodQOS(pod),
    ...podStatusResources(pod.spec ?? {}),
    ...(apiStatus.phase === 'Running' &&
      observed.resources !== undefined && {
        resources: actualPodResources(pod.spec ?? {}, observed.resources, previous),
      }),
    ...(initContainerStatuses.length > 0 && { initContainerStatuses }),
    ...(containerStatuses.length > 0 && { containerStatuses }),
    ...(ephemeralContainerStatuses.length > 0 && { ephemeralContainerStatuses }),
  };
}

const observedLists = [
  'containerStatuses',
  'initContainerStatuses',
  'ephemeralContainerStatuses',
  'sandboxes',
  'runtimeContainers',
  'resizeConditions',
] as const;

function requireObserved(pod: Pod, observed: ObservedPod): void {
  requireObject('pod', pod);
  requireObject('observed', observed);
  for (const field of observedLists) {
    const list: unknown = observed[field];
    if (list == null && field !== 'containerStatuses') continue;
    if (!Array.isArray(list)) refuseArgument(`observed.${field}`, 'a list', list);
    for (const [i, element] of list.entries()) requireObject(`observed.${field}[${i}]`, element);
  }
  for (const field of ['podIPs', 'hostIPs'] as const) {
    const list: unknown = observed[field];
    if (list == null) continue;
    if (!Array.isArray(list)) refuseArgument(`observed.${field}`, 'a list', list);
    for (const [i, ip] of list.entries())
      if (typeof ip !== 'string') refuseArgument(`observed.${field}[${i}]`, 'a string', ip);
  }
  for (const field of ['eviction', 'disruption', 'resources'] as const)
    if (observed[field] !== undefined) requireObject(`observed.${field}`, observed[field]);
}

interface Outcome {
  readonly phase: string;
  readonly reason?: string;
  readonly message?: string;
}

function phaseAndReason(pod: Pod, observed: ObservedPod, previous: PodStatusInput, apiStatus: PodStatusInput): Outcome {
  const podHasInitialized = observed.podHasInitialized ?? observed.containerStatuses.some(hasRun);
  let phase: string =
    observed.phase ?? getPhase(pod, allStatuses(observed), observed.podIsTerminal ?? false, podHasInitialized);
  if (!isPodPhaseTerminal(phase)) phase = [previous.phase, apiStatus.phase].find(isPodPhaseTerminal) ?? phase;

  let reason: string | null | undefined;
  let message: string | null | undefined;
  if (phase === previous.phase) {
    reason = previous.reason || apiStatus.reason;
    message = previous.message || apiStatus.message;
  }
  reason = observed.reason ?? reason;
  message = observed.message ?? message;
  if (observed.eviction !== undefined) {
    phase = 'Failed';
    ({ reason, message } = observed.eviction);
  }
  return {
    phase: isPodPhaseTerminal(apiStatus.phase) ? apiStatus.phase : phase,
    ...(reason && { reason }),
    ...(message && { message }),
  };
}

function conditions(
  pod: Pod,
  observed: ObservedPod,
  previous: PodStatusInput,
  phase: string,
): readonly PodConditionInput[] {
  const statuses = allStatuses(observed);
  const list: PodConditionInput[] = [
    ...(pod.status?.conditions ?? []).filter(({ type }) => !podConditionByKubelet(type ?? '')),
    ...(observed.podIsTerminal ? [] : resizeConditions(pod, observed.resizeConditions ?? [])),
  ];
  const disruption = getPodCondition(previous.conditions, disruptionTarget);
  if (disruption !== undefined) replaceOrAppendPodCondition(list, disruption);

  list.push(generatePodReadyToStartContainersCondition(pod, previous, observed.sandboxes));
  list.push(generatePodInitializedCondition(pod, previous, statuses, phase));
  list.push(generatePodReadyCondition(pod, previous, list, statuses, phase));
  list.push(generateContainersReadyCondition(pod, previous, statuses, phase));
  list.push(newCondition('PodScheduled', pod, previous, { status: 'True' }));
  if (hasRestartAllContainersRule(pod.spec ?? {})) {
    const runtimeContainers = observed.runtimeContainers ?? (statuses ?? []).flatMap(asRuntimeContainer);
    list.push(generateAllContainersRestartingCondition(pod, previous, runtimeContainers, phase));
  }
  if (observed.disruption !== undefined) {
    const { reason, message } = observed.disruption;
    replaceOrAppendPodCondition(
      list,
      newCondition(disruptionTarget, pod, previous, { status: 'True', reason, message }),
    );
  }
  return list;
}

/** The conditions of a pod without a generation have no observedGeneration. */
function resizeConditions(pod: Pod, conditions: readonly PodConditionInput[]): readonly PodConditionInput[] {
  if ((pod.metadata?.generation ?? 0) !== 0) return conditions;
  return conditions.map((condition) => ({ ...condition, observedGeneration: 0 }));
}

/** Undefined when nothing is known: the generators distinguish that from an empty list. */
function allStatuses(observed: ObservedPod): readonly ContainerStatusInput[] | undefined {
  const statuses = [...(observed.initContainerStatuses ?? []), ...observed.containerStatuses];
  return statuses.length > 0 ? statuses : undefined;
}

function asRuntimeContainer({ name, state }: ContainerStatusInput): RuntimeContainer[] {
  if (state?.running != null) return [{ name: name ?? '', exited: false }];
  if (state?.terminated == null) return [];
  return [{ name: name ?? '', exited: true, exitCode: state.terminated.exitCode ?? 0 }];
}
