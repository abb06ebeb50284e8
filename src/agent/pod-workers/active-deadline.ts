import type { Clock } from '../../shared/clock.ts';
import type { ValidPod } from '../../kube/types.ts';
import type { PodStatusProvider } from '../../status-manager/status-manager-like.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';

/** Options of `ActiveDeadlineHandler`. */
export interface ActiveDeadlineHandlerOptions {
  readonly podStatusProvider: PodStatusProvider;
  readonly clock: Pick<Clock, 'now'>;
  readonly eventRecorder: PodEventRecorder;
}

const reason = 'DeadlineExceeded';
const message = 'Pod was active on the node longer than the specified deadline';

/** Terminates pods that ran for longer than their activeDeadlineSeconds. Source: kubelet `activeDeadlineHandler`. */
export class ActiveDeadlineHandler {
  readonly #options: ActiveDeadlineHandlerOptions;

  constructor(options: ActiveDeadlineHandlerOptions) {
    this.#options = options;
  }

  /** True when the pod is past its deadline; the sync loop calls it every second. */
  shouldSync({ metadata, spec, status }: ValidPod): boolean {
    if (spec?.activeDeadlineSeconds == null) return false;
    const { startTime } = this.#options.podStatusProvider.getPodStatus(metadata.uid) ?? status ?? {};
    if (typeof startTime !== 'string') return false;
    return startTime <= timeFromEpochMs(this.#options.clock.now() - spec.activeDeadlineSeconds * 1000);
  }

  /** Reason and message if the pod is past its deadline, otherwise undefined. */
  shouldEvict(pod: ValidPod): { readonly reason: string; readonly message: string } | undefined {
    if (!this.shouldSync(pod)) return undefined;
    this.#options.eventRecorder.event({ pod, type: 'Normal', reason, message });
    return { reason, message };
  }
}
