import { firstBy } from '../../shared/by-field.ts';
import type { Container, ContainerStatusInput, Pod } from '../../kube/objects/types.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { epochMsOf } from '../../shared/time.ts';
import { isOlderThanAgent } from './older-than-agent.ts';
import type { ProbeResults } from '../probes/probe-results.ts';

/** The container statuses of a pod that depend on probes. */
export interface ProbedStatuses {
  readonly initContainerStatuses: readonly ContainerStatusInput[];
  readonly containerStatuses: readonly ContainerStatusInput[];
}

/** The results of probes, and when this agent was started. */
export interface ProbeState {
  readonly results: ProbeResults;
  /**
   * When this agent was started, in milliseconds since the epoch. A container that started more than
   * 10 seconds earlier stays ready until its first probe result if the API server shows the pod as
   * Ready, so that a restart of the agent does not take the pod out of service. Default: no container is older.
   */
  readonly agentStartedAtMs?: number | undefined;
}

/**
 * Sets `started` and `ready` of container statuses according to the probe results. A running container has started if it has
 * no startup probe, or if that probe has succeeded (before its first result: if the container had started before). It is
 * ready if it has started and has no readiness probe, or if that probe has succeeded. An init container that is not a
 * sidecar is ready when it has completed. Does not mutate its arguments. Source: kubelet `prober.UpdatePodStatus`.
 *
 * Divergence: after a restart of the agent, a container whose probes have no result yet counts as neither started nor ready.
 * The kubelet checks whether the probes run, and none does right after its restart.
 */
export function updatePodStatus(pod: Pod, statuses: ProbedStatuses, probes: ProbeState): ProbedStatuses {
  const containers: ReadonlyMap<unknown, Container> = firstBy(pod.spec?.containers, 'name');
  const initContainers: ReadonlyMap<unknown, Container> = firstBy(pod.spec?.initContainers, 'name');
  const wasReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  return {
    containerStatuses: statuses.containerStatuses.map((status) =>
      probedStatus(wasReady, containers.get(status.name), status, probes),
    ),
    initContainerStatuses: statuses.initContainerStatuses.map((status) => {
      const container = initContainers.get(status.name);
      if (container !== undefined && isRestartableInitContainer(container)) {
        return probedStatus(wasReady, container, status, probes);
      }
      // No other init container is probed.
      const started = isStarted(undefined, status, probes);
      const hasCompleted = status.state?.terminated != null && (status.state.terminated.exitCode ?? 0) === 0;
      return { ...status, started, ...(hasCompleted && { ready: true }) };
    }),
  };
}

function probedStatus(
  wasReady: boolean,
  container: Container | undefined,
  status: ContainerStatusInput,
  probes: ProbeState,
): ContainerStatusInput {
  const started = isStarted(container, status, probes);
  return { ...status, started, ...(started && { ready: isReady(wasReady, container, status, probes) }) };
}

function isStarted(container: Container | undefined, status: ContainerStatusInput, { results }: ProbeState): boolean {
  if (status.state?.running == null) return false;
  const result = results.startup.get(status.containerID ?? '');
  if (result !== undefined) return result === 'success';
  return container?.startupProbe == null || status.started === true;
}

function isReady(
  wasReady: boolean,
  container: Container | undefined,
  status: ContainerStatusInput,
  { results, agentStartedAtMs }: ProbeState,
): boolean {
  const isProbed = container?.readinessProbe != null;
  const result = results.readiness.get(status.containerID ?? '');
  if (result !== undefined && (isProbed || results.areReported === true)) return result === 'success';
  if (!isProbed) return true;
  const startedAt = status.state?.running?.startedAt;
  return (
    agentStartedAtMs !== undefined &&
    typeof startedAt === 'string' &&
    isOlderThanAgent(epochMsOf(startedAt), agentStartedAtMs) &&
    wasReady
  );
}
