import { type Clock, sleep } from '../../shared/clock.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import {
  type EventRecorder,
  killPodNow,
  type PodWorkers,
  withDisruptionTarget,
  type NodeContext,
} from '../../node/index.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { Pod, PodStatusInput, ValidPod } from '../../kube/objects/types.ts';

const reason = 'Terminated';
const message = 'Pod was terminated in response to imminent node shutdown.';

const finishPollMs = 100;
/** A pod needs a few more syncs after its containers have stopped, and longer if it has volumes. */
const finishTimeoutMs = 10_000;

/** Dependencies of `terminateAllPods`. */
interface TerminateAllPodsParts extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly eventRecorder: EventRecorder;
  readonly getActivePods: () => readonly ValidPod[];
  readonly podWorkers: PodWorkers;
}

/**
 * Sets all pods to Failed and kills them, as the kubelet does when its machine shuts down. Never rejects:
 * pods that take too long are logged. Source: kubelet `nodeshutdown.podManager.killPods`.
 */
export async function terminateAllPods(
  parts: TerminateAllPodsParts,
  gracePeriodSeconds = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { getActivePods, podWorkers, clock, eventRecorder, logger } = parts;
  await Promise.all(
    getActivePods().map(async (pod) => {
      // Never aborted: stop() waits for the grace period of each pod.
      const { signal } = new AbortController();
      const override = Math.min(gracePeriodSeconds, pod.spec?.terminationGracePeriodSeconds ?? 30);
      try {
        await killPodNow(pod, {
          ...{ podWorkers, clock, eventRecorder, signal },
          podTerminationGracePeriodSecondsOverride: override,
          podStatusFn: (status) => shutdownStatus(status, pod),
        });
        await untilFinished(pod.metadata.uid, podWorkers, clock);
      } catch (thrown) {
        logger.warn({ ...podFieldsOf(pod), reason: reasonOf(thrown) }, 'Failed to terminate pod');
      }
    }),
  );
}

async function untilFinished(podUID: string, podWorkers: PodWorkers, clock: Clock): Promise<void> {
  const untilMs = clock.monotonicMs() + finishTimeoutMs;
  const { signal } = new AbortController();
  while (!podWorkers.statuses.shouldPodBeFinished(podUID) && clock.monotonicMs() < untilMs)
    await sleep(clock, finishPollMs, signal);
}

/** The status of a pod that is terminated because the node shuts down. Source: kubelet `nodeshutdown.podManager.killPods`. */
function shutdownStatus(status: PodStatusInput, pod: Pod): PodStatusInput {
  const phase = status.phase === 'Succeeded' ? 'Succeeded' : 'Failed';
  return { ...withDisruptionTarget(status, pod, message), phase, reason, message };
}
