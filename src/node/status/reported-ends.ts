import type { PodStatusInput } from '../../kube/objects/types.ts';
import { containerStatusesOf } from '../../status-manager/status/container-statuses.ts';
import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';

/**
 * The runtime status of a pod, whose last status was `reported`, without runs that must not replace the reported end of a
 * container. Once the pod has a terminal phase and the runtime no longer has the reported run as exited, no other run up to
 * its restart count is shown. `generatePodStatus` then keeps the reported status of the container, as if the runtime had
 * lost all runs.
 *
 * Divergence: the kubelet shows the newest run that is left, for example an earlier one or one that was created but never
 * started, so that a pod that has Succeeded can become Failed.
 */
export function keepReportedEnds(
  runtimeStatus: RuntimePodStatus,
  reported: PodStatusInput | null | undefined,
): RuntimePodStatus {
  if (!isPodPhaseTerminal(reported?.phase)) return runtimeStatus;
  const restartCounts = new Map<string | null | undefined, number>();
  for (const { name, state, containerID, restartCount } of containerStatusesOf(reported)) {
    const isLost = !runtimeStatus.containers.some((run) => run.id === containerID && run.state === 'exited');
    if (state?.terminated != null && isLost) restartCounts.set(name, restartCount ?? 0);
  }
  const containers = runtimeStatus.containers.filter(
    ({ name, state, attempt = 0 }) => state === 'running' || attempt > (restartCounts.get(name) ?? -1),
  );
  return { ...runtimeStatus, containers };
}

/**
 * The generated status of a pod, whose last status was `reported`. A pod that has ended keeps the reason and the message of
 * its end.
 *
 * Divergence: the kubelet forgets why a pod has failed if its containers have exited with 0.
 */
export function keepReasonOfEnd(
  generated: PodStatusInput,
  reported: PodStatusInput | null | undefined,
): PodStatusInput {
  const hasEnded = isPodPhaseTerminal(generated.phase) && generated.phase === reported?.phase;
  return hasEnded ? { ...whyEnded(reported), ...generated } : generated;
}

/** Reason and message of a status, as far as it has them. */
export function whyEnded(status: PodStatusInput | null | undefined): Pick<PodStatusInput, 'reason' | 'message'> {
  const { reason, message } = status ?? {};
  return { ...(reason && { reason }), ...(message && { message }) };
}
