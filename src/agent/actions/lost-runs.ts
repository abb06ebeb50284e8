import {
  containerShouldRestart,
  hasRestartAllContainersRule,
  isRestartableInitContainer,
} from '../../status-manager/status/container-restart.ts';
import type {
  Container,
  ContainerStatusInput,
  EphemeralContainer,
  Pod,
  PodStatusInput,
} from '../../kube/objects/types.ts';
import { canonicalTime, epochMsOf } from '../../shared/time.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../node/index.ts';

/**
 * The runs that the runtime does not know, although `reported`, the pod's last status, shows that they
 * ended for good: an ephemeral container, one that its restart policy does not restart, an init container of the present
 * sandbox.
 *
 * Divergence: the kubelet starts such a container again, and then cannot report its status.
 */
export function lostRuns(
  pod: Pod,
  runtimeStatus: RuntimePodStatus,
  reported: PodStatusInput | undefined,
): readonly RuntimeContainerStatus[] {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  // A restart of all containers removes the runs on purpose.
  if (reported === undefined || hasRestartAllContainersRule(pod.spec ?? {})) return [];
  const [sandbox] = runtimeStatus.sandboxes;
  const known = new Set(runtimeStatus.containers.map(({ name }) => name));
  const lost = (
    specs: readonly (Container | EphemeralContainer)[],
    statuses: readonly ContainerStatusInput[] | null | undefined,
    isOver: (container: Container, run: RuntimeContainerStatus) => boolean,
  ): RuntimeContainerStatus[] => {
    const statusOf = new Map(statuses?.map((status) => [status.name, status]));
    return specs.flatMap((container) => {
      const run = known.has(container.name) ? undefined : endedRun(statusOf.get(container.name), sandbox?.id);
      return run !== undefined && isOver(container, run) ? [run] : [];
    });
  };
  const restarts = (container: Container, { exitCode = 0 }: RuntimeContainerStatus): boolean =>
    containerShouldRestart(container, pod.spec ?? {}, exitCode);
  return [
    ...lost(ephemeralContainers, reported.ephemeralContainerStatuses, () => true),
    ...lost(containers, reported.containerStatuses, (container, run) => !restarts(container, run)),
    ...lost(initContainers, reported.initContainerStatuses, (container, run) => {
      if (isRestartableInitContainer(container)) return false;
      // Each sandbox needs its own runs of the init containers.
      const isOfSandbox = sandbox?.ready === true && (run.finishedAtMs ?? 0) >= (sandbox.createdAtMs ?? 0);
      return isOfSandbox && (run.exitCode === 0 || !restarts(container, run));
    }),
  ];
}

function endedRun(
  status: ContainerStatusInput | undefined,
  sandboxID: string | undefined,
): RuntimeContainerStatus | undefined {
  const terminated = status?.state?.terminated;
  if (terminated == null) return undefined;
  const finishedAt = canonicalTime(terminated.finishedAt);
  const finishedAtMs = finishedAt == null ? 0 : epochMsOf(finishedAt);
  return {
    id: terminated.containerID ?? status?.containerID ?? '',
    name: status?.name ?? '',
    state: 'exited',
    createdAtMs: 0,
    finishedAtMs,
    exitCode: terminated.exitCode ?? 0,
    ...(terminated.reason != null && { reason: terminated.reason }),
    ...(sandboxID !== undefined && { sandboxID }),
  };
}
