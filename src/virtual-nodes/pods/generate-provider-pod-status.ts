import { generatePodInitializedCondition } from '../../status-manager/status/generate-conditions.ts';
import { hasRun, isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import type { Container, PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import {
  crashLoopMessage,
  crashLoopReason,
  generatePodStatus,
  keepReasonOfEnd,
  keepReportedEnds,
  type PodObservation,
  type ProbeResults,
  type StartFailure,
} from '../../node/index.ts';
import {
  appliedPod,
  type PodFailure,
  type ProviderPodRecord,
  type ProviderPodStatusInputs,
  reportedPod,
} from './provider-pod-record.ts';
import {
  endedContainers,
  failedInitContainer,
  reportedProbeResults,
  runtimePodStatus,
  shortText,
  unlistedReason,
  unstartedContainers,
  waitingReason,
  withoutWaitingRuns,
} from './provider-pod-status.ts';

/** What else is observed of the pod. */
export interface ProviderPodObservation extends Pick<
  PodObservation,
  'agentStartedAtMs' | 'hostIPs' | 'resizeConditions'
> {
  /** The last status of the pod. */
  readonly previous: PodStatusInput | null | undefined;
  /** Why the node gives up the pod. */
  readonly failure: PodFailure | undefined;
  readonly deadlineExceeded: PodFailure | undefined;
  /** Results of the probes that the node runs; undefined if the provider runs them. */
  readonly ownProbeResults: ProbeResults | undefined;
  readonly nowMs: number;
}

/** A pod that its provider has stopped although it should always run. */
const notRestarted: PodFailure = {
  reason: 'NotRestartedByProvider',
  message: 'The provider has stopped the pod, whose restartPolicy is Always',
};
const noContainers: ReadonlySet<string> = new Set();

/** What is known of a pod, as far as its status shows it. */
export function providerPodStatusInputs(
  pod: ValidPod,
  record: ProviderPodRecord,
  known: Pick<ProviderPodStatusInputs, 'crashLoopDelayMs' | 'podIsTerminal'> & {
    /** The pod has stopped, and is to be started again. */
    readonly isRestarting: boolean;
  },
): ProviderPodStatusInputs {
  const present = reportedPod(record);
  const reported = present ?? record.stopped;
  const isStopped = present?.state === 'stopped';
  const podIsTerminal = known.podIsTerminal || (isStopped && !known.isRestarting);
  const isEndKnown = isStopped || (podIsTerminal && reported !== undefined);
  return {
    pod,
    reported,
    accepted: appliedPod(record),
    restartCount: record.restartCount,
    isBetweenRuns: known.isRestarting || (reported !== undefined && reported === record.stopped),
    podIsTerminal,
    createFailure: isEndKnown ? undefined : record.createFailure,
    unlistedSinceMs: record.unlistedSinceMs,
    crashLoopDelayMs: known.crashLoopDelayMs,
  };
}

/**
 * The complete status of a pod in the cloud: `generatePodStatus` of the provider's report, and then what no container runtime
 * can report. Pure.
 */
export function generateProviderPodStatus(
  inputs: ProviderPodStatusInputs,
  { previous, failure, deadlineExceeded, ownProbeResults, nowMs, ...observation }: ProviderPodObservation,
): PodStatusInput {
  const { pod, reported, accepted, restartCount, isBetweenRuns, podIsTerminal } = inputs;
  const failedInit = failedInitContainer(pod, reported);
  const ended = restartCount === 0 ? noContainers : endedContainers(pod, previous, failedInit);
  const hidden = new Set([...ended, ...containersBehind(failedInit, inputs)]);
  const mustNotWait = new Set([...ended, ...completedBefore(failedInit, pod, previous)]);
  const asRuntime = runtimePodStatus(pod, reported, { previous, accepted, isBetweenRuns, nowMs });
  const containers = asRuntime.containers.filter(({ name }) => !hidden.has(name));
  const runtimeStatus = keepReportedEnds({ ...asRuntime, containers }, previous);

  const generate = (eviction: PodFailure | undefined): PodStatusInput => {
    const generated = generatePodStatus(pod, {
      runtimeStatus,
      podIsTerminal,
      eviction,
      previous: withoutWaitingRuns(pod, reported, previous),
      startFailures: { get: (name) => (mustNotWait.has(name) ? undefined : startFailureOf(name, failedInit, inputs)) },
      probeResults: reportedProbeResults(pod, runtimeStatus, reported, ownProbeResults, previous),
      // The reason of a terminal pod is kept.
      ...(reported !== undefined &&
        !isPodPhaseTerminal(previous?.phase) && {
          reason: shortText(reported.reason ?? ''),
          message: shortText(reported.message ?? ''),
        }),
      ...observation,
    });
    return keepReasonOfEnd(generated, previous);
  };
  let status = generate(failure ?? deadlineExceeded);
  if (status.phase === 'Succeeded' && mustAlwaysRun(inputs, previous)) status = generate(notRestarted);

  // A container that waits to be restarted looks like one that has never run if the end of its last run is not known.
  if (previous?.phase === 'Running' && status.phase === 'Pending') return { ...status, phase: 'Running' };
  const hasNeverRun = reported === undefined && !hasPodRun(previous);
  const isRefused = failure !== undefined || hasFailedWithoutContainers(previous);
  // As for a pod that the node has rejected: kubectl then shows the reason of the pod.
  return status.phase === 'Failed' && hasNeverRun && isRefused ? withoutContainers(pod, status, previous) : status;
}

/** The containers that cannot have started, because an init container before them has failed. */
function containersBehind(
  failedInit: Container | undefined,
  { pod, reported, isBetweenRuns }: ProviderPodStatusInputs,
): string[] {
  if (failedInit === undefined || reported === undefined) return [];
  return isBetweenRuns || pod.spec?.restartPolicy === 'Never' ? unstartedContainers(pod, reported) : [];
}

/**
 * The init container, if it had completed in an earlier run. Its failure must be shown first: from its end with exit code 0, the
 * status manager lets it change to another end, but to waiting only with the restartPolicy Always.
 */
function completedBefore(
  failedInit: Container | undefined,
  { spec }: ValidPod,
  previous: PodStatusInput | null | undefined,
): string[] {
  if (failedInit === undefined || (spec?.restartPolicy ?? 'Always') === 'Always') return [];
  const shown = previous?.initContainerStatuses?.find(({ name }) => name === failedInit.name);
  return shown?.state?.terminated?.exitCode === 0 ? [failedInit.name] : [];
}

/** Why a container waits. */
function startFailureOf(
  name: string,
  failedInit: Container | undefined,
  inputs: ProviderPodStatusInputs,
): StartFailure | undefined {
  const { pod, reported, createFailure, unlistedSinceMs, crashLoopDelayMs } = inputs;
  const isCrashing = failedInit === undefined || failedInit.name === name;
  if (crashLoopDelayMs !== undefined && isCrashing)
    return { reason: crashLoopReason, message: crashLoopMessage(crashLoopDelayMs, pod, name) };
  return (
    waitingReason(reported, name) ?? createFailure ?? unlistedReason(unlistedSinceMs) ?? startingAgainReason(inputs)
  );
}

/** Why the containers of a pod that is started again wait: as before the first start. */
function startingAgainReason(inputs: ProviderPodStatusInputs): StartFailure | undefined {
  const { pod, reported, restartCount, podIsTerminal } = inputs;
  if (restartCount === 0 || podIsTerminal || reported?.state === 'running') return undefined;
  return { reason: (pod.spec?.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating' };
}

/**
 * True if the pod should run until it is deleted: it has not succeeded, even if its containers have.
 *
 * Divergence: the kubelet restarts its containers.
 */
function mustAlwaysRun(
  { pod: { metadata, spec }, reported }: ProviderPodStatusInputs,
  previous: PodStatusInput | null | undefined,
): boolean {
  const runsAlways = (spec?.restartPolicy ?? 'Always') === 'Always' && metadata.deletionTimestamp == null;
  return runsAlways && reported?.state === 'stopped' && previous?.phase !== 'Succeeded';
}

function hasFailedWithoutContainers(previous: PodStatusInput | null | undefined): boolean {
  return previous?.phase === 'Failed' && (previous.containerStatuses ?? []).length === 0;
}

/**
 * Leaves out the container statuses, and adapts the condition that depends on them.
 *
 * Divergence: the kubelet shows the containers with the reason ContainerStatusUnknown.
 */
function withoutContainers(
  pod: ValidPod,
  status: PodStatusInput,
  previous: PodStatusInput | null | undefined,
): PodStatusInput {
  const initialized = generatePodInitializedCondition(pod, previous, [], status.phase);
  return {
    ...status,
    conditions: status.conditions?.map((condition) => (condition.type === initialized.type ? initialized : condition)),
    ...{ initContainerStatuses: [], containerStatuses: [], ephemeralContainerStatuses: [] },
  };
}

/** True when a container of the pod has been started, by its status. */
export function hasPodRun(status: PodStatusInput | null | undefined): boolean {
  const { initContainerStatuses, containerStatuses } = status ?? {};
  return [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].some(hasRun);
}
