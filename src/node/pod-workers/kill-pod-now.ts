import type { Clock } from '../../shared/clock.ts';
import { untilAborted } from '../../shared/abort.ts';
import { withDeadline } from '../../shared/deadline.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';
import type { KillPodOptions } from './update-pod-options.ts';
import type { PodWorkers } from './pod-workers.ts';

export interface KillPodNowOptions extends Omit<KillPodOptions, 'onCompleted'> {
  readonly podWorkers: Pick<PodWorkers, 'updatePod'>;
  readonly clock: Pick<Clock, 'afterFunc'>;
  readonly eventRecorder: PodEventRecorder;
  /** Aborted when the caller stops waiting for the end of the pod; the pod is still killed. */
  readonly signal: AbortSignal;
}

const minimumTimeoutSeconds = 10;

/**
 * Kills a pod because the agent decided so, for example to evict it. Resolves when none of its containers is running.
 * Rejects after one and a half times the grace period, at least 10 seconds, and when the signal is aborted; the pod is still
 * killed later. Source: kubelet `killPodNow`.
 */
export async function killPodNow(pod: ValidPod, options: KillPodNowOptions): Promise<void> {
  const { podWorkers, clock, eventRecorder, signal, ...killPodOptions } = options;
  const gracePeriodSeconds =
    options.podTerminationGracePeriodSecondsOverride ?? pod.spec?.terminationGracePeriodSeconds ?? 0;
  const timeoutSeconds = Math.max(gracePeriodSeconds + Math.floor(gracePeriodSeconds / 2), minimumTimeoutSeconds);
  await withDeadline(clock, timeoutSeconds * 1000, signal, async (deadline) => {
    const completed = new Promise<void>((resolve) =>
      podWorkers.updatePod({
        ...{ updateType: 'kill', pod },
        killPodOptions: { ...killPodOptions, onCompleted: resolve },
      }),
    );
    try {
      await untilAborted(completed, deadline.signal);
    } catch (thrown) {
      if (!deadline.isExceeded) throw thrown;
      const message = 'Container runtime did not kill the pod within specified grace period.';
      eventRecorder.event({ pod, type: 'Warning', reason: 'ExceededGracePeriod', message });
      throw new Error('timeout waiting to kill pod', { cause: thrown });
    }
  });
}
