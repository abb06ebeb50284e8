import type { Clock } from '../../shared/clock.ts';
import type { ValidPod } from '../../kube/types.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';
import type { KillPodOptions } from './pod-update.ts';
import type { PodWorkers } from './pod-workers.ts';

export interface KillPodNowOptions extends Omit<KillPodOptions, 'onCompleted'> {
  readonly podWorkers: Pick<PodWorkers, 'updatePod'>;
  readonly clock: Pick<Clock, 'afterFunc'>;
  readonly eventRecorder: PodEventRecorder;
}

const minimumTimeoutSeconds = 10;

/**
 * Kills a pod for a reason of the agent, such as an eviction, and resolves when none of its containers is
 * running. Rejects after one and a half times the grace period, at least 10 seconds; the pod is still
 * killed later. Source: kubelet `killPodNow`.
 */
export function killPodNow(pod: ValidPod, options: KillPodNowOptions): Promise<void> {
  const { podWorkers, clock, eventRecorder, ...killPodOptions } = options;
  const gracePeriodSeconds =
    options.podTerminationGracePeriodSecondsOverride ?? pod.spec?.terminationGracePeriodSeconds ?? 0;
  const timeoutSeconds = Math.max(gracePeriodSeconds + Math.floor(gracePeriodSeconds / 2), minimumTimeoutSeconds);
  return new Promise((resolve, reject) => {
    const timer = clock.afterFunc(timeoutSeconds * 1000, () => {
      const message = 'Container runtime did not kill the pod within specified grace period.';
      eventRecorder.event({ pod, type: 'Warning', reason: 'ExceededGracePeriod', message });
      reject(new Error('timeout waiting to kill pod'));
    });
    const onCompleted = (): void => {
      timer.stop();
      resolve();
    };
    podWorkers.updatePod({ updateType: 'kill', pod, killPodOptions: { ...killPodOptions, onCompleted } });
  });
}
