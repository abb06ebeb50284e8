import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Pod, PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import { refuseArgument } from '../../shared/errors.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { killPodNow } from './kill-pod-now.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';
import type { PodWorkers } from './pod-workers.ts';
import { isMirrorPod, isStaticPod } from '../../kube/pods/static-pods.ts';
import { replaceOrAppendPodCondition } from '../../status-manager/status/conditions.ts';
import { newCondition } from '../../status-manager/status/generate-conditions.ts';
import { disruptionTarget } from '../../status-manager/status/ownership.ts';

/** Why a pod is evicted. */
export interface Eviction {
  /** Reason in the status and the event, in CamelCase. Default: `Evicted`. */
  readonly reason?: string | undefined;
  /** A human-readable explanation. */
  readonly message: string;
  /**
   * The maximum grace period of the containers; the pod's own applies if it is shorter. Default:
   * `eviction.maxPodGracePeriodSeconds` of the agent. With its default, 0, they are killed after a second or two.
   */
  readonly gracePeriodSeconds?: number | undefined;
}

export interface EvictPodOptions extends Eviction {
  /** False if the pod itself is to blame: it gets no DisruptionTarget condition. Default: true. */
  readonly isDisruption?: boolean | undefined;
  /** Annotations of the Event. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly podWorkers: Pick<PodWorkers, 'updatePod'>;
  readonly clock: Pick<Clock, 'afterFunc'>;
  readonly logger: Logger;
  readonly eventRecorder: PodEventRecorder;
  /** Aborted when the caller stops waiting for the end of the pod. */
  readonly signal: AbortSignal;
}

/**
 * Sets the pod's phase to Failed with a reason, a message and a DisruptionTarget condition, and kills
 * it; the pod object is not deleted. Resolves with true when none of its containers is running. Resolves
 * with false for a critical pod (`isCriticalPod`), which is not evicted. Rejects like `killPodNow` if the
 * containers take too long; the pod still fails and is killed. Rejects with StatusManagerError
 * INVALID_ARGUMENT, and does nothing, if the message or the grace period is invalid.
 * Source: kubelet `evictPod`.
 */
export async function evictPod(pod: ValidPod, options: EvictPodOptions): Promise<boolean> {
  const { podWorkers, clock, logger, eventRecorder, signal } = options;
  const { reason = 'Evicted', message, gracePeriodSeconds, isDisruption = true } = options;
  if (typeof message !== 'string') refuseArgument('message', 'a string', message);
  if (gracePeriodSeconds !== undefined && !(gracePeriodSeconds >= 0))
    refuseArgument('gracePeriodSeconds', 'seconds >= 0', gracePeriodSeconds);
  const fields = podFieldsOf(pod);
  if (isCriticalPod(pod)) {
    logger.error(fields, 'Not evicting a critical pod');
    return false;
  }
  eventRecorder.event({ pod, type: 'Warning', reason, message, annotations: options.annotations });
  await killPodNow(pod, {
    ...{ podWorkers, clock, eventRecorder, signal, evict: true },
    podStatusFn: (status) => ({
      ...(isDisruption ? withDisruptionTarget(status, pod, message) : status),
      ...{ phase: 'Failed', reason, message },
    }),
    podTerminationGracePeriodSecondsOverride: gracePeriodSeconds,
  });
  logger.info(fields, 'Pod evicted');
  return true;
}

/** The grace period of an eviction that is not urgent: the pod's own, at most the configured one. Source: kubelet `synchronize`. */
export function evictionGracePeriod({ spec }: Pod, maxPodGracePeriodSeconds: number): number {
  return Math.min(maxPodGracePeriodSeconds, spec?.terminationGracePeriodSeconds ?? maxPodGracePeriodSeconds);
}

/** Source: `scheduling.SystemCriticalPriority`. */
const systemCriticalPriority = 2_000_000_000;

/** True for static pods, mirror pods, and pods with a system-critical priority. Source: kubelet `types.IsCriticalPod`. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec?.priority ?? 0) >= systemCriticalPriority;
}

/** Adds a DisruptionTarget condition with the kubelet's reason. Source: `podutil.UpdatePodCondition`. */
export function withDisruptionTarget(status: PodStatusInput, pod: Pod, message: string): PodStatusInput {
  const conditions = [...(status.conditions ?? [])];
  const reason = 'TerminationByKubelet';
  replaceOrAppendPodCondition(
    conditions,
    newCondition(disruptionTarget, pod, status, { status: 'True', reason, message }),
  );
  return { ...status, conditions };
}
