import type { Measured, NodeContext } from '../node-context.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';
import { isCriticalPod, withDisruptionTarget } from '../pod-workers/evict-pod.ts';
import { killPodNow } from '../pod-workers/kill-pod-now.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import { podsToPreempt } from './preemption.ts';
import type { PredicateFailure } from './predicate-failure.ts';

export interface CriticalPodAdmissionOptions extends Pick<NodeContext, 'logger'>, Measured {
  readonly podWorkers: Pick<PodWorkers, 'updatePod'>;
  /** Aborted when the agent has stopped: preemptions are no longer awaited. */
  readonly stopSignal: AbortSignal;
  readonly clock: Pick<Clock, 'afterFunc'>;
  readonly eventRecorder: PodEventRecorder;
}

const message = 'Preempted in order to admit critical pod';
const disruptionMessage = 'Pod was preempted by Kubelet to accommodate a critical pod.';

/**
 * Frees resources for a critical pod by killing others, which fail with the reason `Preempting`.
 * Source: kubelet `CriticalPodAdmissionHandler`.
 *
 * Divergence: the kubelet's main loop waits until the preempted pods have terminated. Here the critical pod is admitted
 * immediately, and the requests of the preempted pods no longer count.
 */
export class CriticalPodAdmission {
  readonly #options: CriticalPodAdmissionOptions;
  /** UIDs of pods whose preemption is awaited. That may end before the pod's worker does. */
  readonly #preempting = new Set<string>();

  constructor(options: CriticalPodAdmissionOptions) {
    this.#options = options;
  }

  /** True while the pod is being preempted, until it has terminated. */
  isPreempting({ metadata }: ValidPod): boolean {
    return this.#preempting.has(metadata.uid);
  }

  /**
   * Returns the failures that remain. Source: kubelet `HandleAdmissionFailure`.
   * @throws Error when preempting all candidates is not enough
   */
  handleAdmissionFailure(
    pod: ValidPod,
    otherPods: readonly ValidPod[],
    failures: readonly PredicateFailure[],
  ): readonly PredicateFailure[] {
    if (!isCriticalPod(pod)) return failures;
    const others = failures.filter(({ kind }) => kind !== 'InsufficientResource');
    if (others.length > 0) return others;
    const requirements = failures.flatMap((failure) =>
      failure.kind === 'InsufficientResource'
        ? [{ resource: failure.resource, amount: failure.requested - (failure.capacity - failure.used) }]
        : [],
    );
    const resource = requirements[0]?.resource ?? '';
    for (const victim of podsToPreempt(pod, otherPods, requirements)) void this.#preempt(victim, pod, resource);
    return [];
  }

  async #preempt(pod: ValidPod, criticalPod: ValidPod, resource: string): Promise<void> {
    const { podWorkers, stopSignal: signal, clock, logger, eventRecorder, recordMetric } = this.#options;
    const { uid } = pod.metadata;
    const { name: forName, namespace: forNamespace } = criticalPod.metadata;
    const fields = { ...podFieldsOf(pod), criticalPod: `${forNamespace}/${forName}` };
    this.#preempting.add(uid);
    eventRecorder.event({ pod, type: 'Warning', reason: 'Preempting', message });
    logger.info(fields, 'Preempting a pod to free resources for a critical pod');
    try {
      await killPodNow(pod, {
        ...{ podWorkers, clock, eventRecorder, signal, evict: true },
        podStatusFn: (status) => ({
          ...withDisruptionTarget(status, pod, disruptionMessage),
          ...{ phase: 'Failed', reason: 'Preempting', message },
        }),
      });
      recordMetric?.('preemptions', 1, resource);
    } catch (thrown) {
      if (!signal.aborted) logger.error({ ...fields, reason: reasonOf(thrown) }, 'Failed to preempt a pod in time');
    } finally {
      this.#preempting.delete(uid);
    }
  }
}
