import { type Container, type ContainerStatusInput, isRestartableInitContainer, type Pod } from '../../index.ts';
import { isOlderThanAgent } from '../prober/older-than-agent.ts';
import type { ProbeResults } from '../prober/probe-results.ts';

/** The container statuses of a pod that probes have a say in. */
export interface ProbedStatuses {
  readonly initContainerStatuses: readonly ContainerStatusInput[];
  readonly containerStatuses: readonly ContainerStatusInput[];
}

/** What probes have found, and since when this agent probes. */
export interface ProbeState {
  readonly results: ProbeResults;
  /**
   * When this agent was started, in milliseconds since the epoch. A container that started more than
   * 10 seconds before stays ready until its first probe result if the API server shows the pod as
   * Ready: a restart of the agent is no reason to take a pod out of service. Default: none is older.
   */
  readonly agentStartedAtMs?: number | undefined;
}

/**
 * Sets `started` and `ready` of container statuses by the probe results: a running container has
 * started when it has no startup probe or that has succeeded (or, before its first result, when it
 * had started before), and is ready when it has started and has no readiness probe or that has
 * succeeded. An init container that is no sidecar is ready when it has completed.
 * Changes nothing that it is given. Source: kubelet `prober.UpdatePodStatus`.
 */
export function updatePodStatus(pod: Pod, statuses: ProbedStatuses, probes: ProbeState): ProbedStatuses {
  const specOf = (containers: readonly Container[] | undefined, name: unknown): Container | undefined =>
    containers?.find((container) => container.name === name);
  return {
    containerStatuses: statuses.containerStatuses.map((status) =>
      probedStatus(pod, specOf(pod.spec?.containers, status.name), status, probes),
    ),
    initContainerStatuses: statuses.initContainerStatuses.map((status) => {
      const container = specOf(pod.spec?.initContainers, status.name);
      if (container !== undefined && isRestartableInitContainer(container)) {
        return probedStatus(pod, container, status, probes);
      }
      // No other init container is probed.
      const started = isStarted(undefined, status, probes);
      const hasCompleted = status.state?.terminated != null && (status.state.terminated.exitCode ?? 0) === 0;
      return { ...status, started, ...(hasCompleted && { ready: true }) };
    }),
  };
}

function probedStatus(
  pod: Pod,
  container: Container | undefined,
  status: ContainerStatusInput,
  probes: ProbeState,
): ContainerStatusInput {
  const started = isStarted(container, status, probes);
  return { ...status, started, ...(started && { ready: isReady(pod, container, status, probes) }) };
}

function isStarted(container: Container | undefined, status: ContainerStatusInput, { results }: ProbeState): boolean {
  if (status.state?.running == null) return false;
  const result = results.startup.get(status.containerID ?? '');
  if (result !== undefined) return result === 'success';
  return container?.startupProbe == null || status.started === true;
}

function isReady(
  pod: Pod,
  container: Container | undefined,
  status: ContainerStatusInput,
  { results, agentStartedAtMs }: ProbeState,
): boolean {
  const result = results.readiness.get(status.containerID ?? '');
  if (result === 'success' || container?.readinessProbe == null) return true;
  return (
    result === undefined &&
    isOlderThanAgent(status.state?.running?.startedAt, agentStartedAtMs) &&
    pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
  );
}
