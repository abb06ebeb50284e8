import { type PodCondition, type PodStatusInput, timeFromEpochMs } from '../../index.ts';

const reason = 'Terminated';
const message = 'Pod was terminated in response to imminent node shutdown.';

/** For new pods while the node shuts down. Source: kubelet `nodeShutdownNotAdmittedReason`. */
export const shutdownRejection = {
  admit: false,
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
} as const;

/** The status of a pod that is terminated because the node shuts down. Source: kubelet `nodeshutdown.podManager.killPods`. */
export function shutdownStatus(status: PodStatusInput, nowMs: number): PodStatusInput {
  const condition: PodCondition = {
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    reason: 'TerminationByKubelet',
    message,
    lastTransitionTime: timeFromEpochMs(nowMs),
  };
  return {
    ...status,
    phase: status.phase === 'Succeeded' ? 'Succeeded' : 'Failed',
    reason,
    message,
    conditions: [...(status.conditions ?? []).filter(({ type }) => type !== condition.type), condition],
  };
}
