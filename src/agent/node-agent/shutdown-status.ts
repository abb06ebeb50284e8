import type { Pod, PodStatusInput } from '../../kube/types.ts';
import { withDisruptionTarget } from '../eviction/disruption-target.ts';

const reason = 'Terminated';
const message = 'Pod was terminated in response to imminent node shutdown.';

/** For new pods while the node shuts down. Source: kubelet `nodeShutdownNotAdmittedReason`. */
export const shutdownRejection = {
  admit: false,
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
} as const;

/** The status of a pod that is terminated because the node shuts down. Source: kubelet `nodeshutdown.podManager.killPods`. */
export function shutdownStatus(status: PodStatusInput, pod: Pod, nowMs: number): PodStatusInput {
  const phase = status.phase === 'Succeeded' ? 'Succeeded' : 'Failed';
  return { ...withDisruptionTarget(status, pod, message, nowMs), phase, reason, message };
}
