import type { Clock } from '../../shared/clock.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { PodStatusProvider } from '../../status-manager/status-manager-like.ts';
import { epochMsOf, ObservedTimes } from '../../shared/time.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';

/** Options of `ActiveDeadlineHandler`. */
export interface ActiveDeadlineHandlerOptions {
  readonly podStatusProvider: PodStatusProvider;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly eventRecorder: PodEventRecorder;
}

const reason = 'DeadlineExceeded';
const message = 'Pod was active on the node longer than the specified deadline';

/**
 * Terminates pods that ran for longer than their activeDeadlineSeconds. Source: kubelet `activeDeadlineHandler`.
 *
 * Divergence: the duration is measured on the monotonic clock; the wall clock only tells how old the start time was when it
 * was first seen. In the kubelet, setting the wall clock forward ends pods.
 */
export class ActiveDeadlineHandler {
  readonly #options: ActiveDeadlineHandlerOptions;
  /** By pod UID, and not in the worker's record, because the sync loop asks between syncs. */
  readonly #startTimes: ObservedTimes;

  constructor(options: ActiveDeadlineHandlerOptions) {
    this.#options = options;
    this.#startTimes = new ObservedTimes(options.clock);
  }

  /** True when the pod is past its deadline; the sync loop calls it every second. */
  shouldSync({ metadata, spec, status }: ValidPod): boolean {
    if (spec?.activeDeadlineSeconds == null) return false;
    const { startTime } = this.#options.podStatusProvider.getPodStatus(metadata.uid) ?? status ?? {};
    if (typeof startTime !== 'string') return false;
    const startedMs = this.#startTimes.monotonicMs(metadata.uid, epochMsOf(startTime));
    return this.#options.clock.monotonicMs() - startedMs >= spec.activeDeadlineSeconds * 1000;
  }

  removeOrphanedPods(remainingPodUIDs: ReadonlySet<string>): void {
    this.#startTimes.retain(remainingPodUIDs);
  }

  /** Reason and message if the pod is past its deadline, otherwise undefined. */
  shouldEvict(pod: ValidPod): { readonly reason: string; readonly message: string } | undefined {
    if (!this.shouldSync(pod)) return undefined;
    this.#options.eventRecorder.event({ pod, type: 'Normal', reason, message });
    return { reason, message };
  }
}
