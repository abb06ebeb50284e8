import { formatPod } from '../../kube/pods/pod-log-fields.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { formatGoDuration } from '../../shared/go-duration.ts';
import type { PodEvent } from '../events/event-recorder.ts';
import { BackOffError } from './next-sync-delay.ts';
import { SyncActionError } from './sync-action.ts';

/** 10 seconds, doubled up to 5 minutes; reset after a run of more than 10 minutes. Source: kubelet `crashLoopBackOff`. */
export const crashLoopRange = { firstMs: 10_000, maxMs: 300_000, expiresAfterMs: 600_000 };

/** The reason of a container that waits for its next start. */
export const crashLoopReason = 'CrashLoopBackOff';

/** For the container's status. Source: kubelet `doBackOff`. */
export function crashLoopMessage(delayMs: number, pod: ValidPod, containerName: string): string {
  const delay = formatGoDuration(Math.floor(delayMs / 1000) * 1000);
  return `back-off ${delay} restarting failed container=${containerName} pod=${formatPod(pod)}`;
}

/** Source: kubelet `doBackOff`. */
export function crashLoopEvent(pod: ValidPod, containerName: string): PodEvent {
  const message = `Back-off restarting failed container ${containerName} in pod ${formatPod(pod)}`;
  return { pod, container: containerName, type: 'Warning', reason: 'BackOff', message };
}

/** @param untilMs when the container may be started, on the monotonic clock */
export function crashLoopError(message: string, untilMs: number): SyncActionError {
  return new SyncActionError(crashLoopReason, message, { cause: new BackOffError(crashLoopReason, untilMs) });
}
