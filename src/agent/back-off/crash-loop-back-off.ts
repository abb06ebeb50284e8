import type { Clock } from '../../shared/clock.ts';
import { canonicalQuantity } from '../../kube/objects/quantity.ts';
import type { Container, EphemeralContainer, ValidPod } from '../../kube/objects/types.ts';
import { ObservedTimes } from '../../shared/time.ts';
import { crashLoopMessage, crashLoopRange, type RuntimePodStatus } from '../../node/index.ts';
import { BackOff } from './flowcontrol-back-off.ts';

/** 10 seconds, doubled up to 5 minutes. Source: kubelet `imageBackOff`. */
export function createImagePullBackOff(clock: Pick<Clock, 'monotonicMs'>): BackOff {
  return new BackOff({ clock, baseMs: 10_000, maxMs: 300_000 });
}

/** A container whose start is delayed. */
export interface CrashLoop {
  /** For the container's status and the event. */
  readonly message: string;
  /** When it may be started, on the monotonic clock. */
  readonly untilMs: number;
}

/**
 * Delays restarts of containers as `crashLoopRange` says. There is no delay before the first restart. Source: kubelet
 * `crashLoopBackOff`.
 *
 * Divergence: delays are measured on the monotonic clock; the wall clock only tells how old an exit was when it was first
 * seen. In the kubelet, setting the wall clock back delays restarts for as long.
 */
export class CrashLoopBackOff {
  readonly #backOff: BackOff;
  readonly #exits: ObservedTimes;

  constructor(clock: Pick<Clock, 'now' | 'monotonicMs'>) {
    const { firstMs, maxMs, expiresAfterMs } = crashLoopRange;
    this.#backOff = new BackOff({ clock, baseMs: firstMs, maxMs, expiresAfterMs });
    this.#exits = new ObservedTimes(clock);
  }

  /**
   * Whether the start of a container must wait. Undefined means that it may be started now, which is then
   * counted as a start. Source: kubelet `doBackOff`.
   */
  doBackOff(
    pod: ValidPod,
    container: Container | EphemeralContainer,
    runtimeStatus: RuntimePodStatus,
  ): CrashLoop | undefined {
    const exited = runtimeStatus.containers.find(({ name, state }) => name === container.name && state === 'exited');
    if (exited === undefined) return undefined;
    const key = backoffKey(pod, container);
    const finishedMs = this.#exits.monotonicMs(key, exited.finishedAtMs ?? 0);
    if (!this.#backOff.isInBackOffSince(key, finishedMs)) {
      this.#backOff.next(key, finishedMs);
      return undefined;
    }
    const delayMs = this.#backOff.get(key);
    return {
      message: crashLoopMessage(delayMs, pod, container.name),
      untilMs: finishedMs + delayMs,
    };
  }

  /** Removes entries that have expired. */
  gc(): void {
    this.#backOff.gc();
    this.#exits.retain(this.#backOff);
  }
}

/** A container with another image or other resources has no back-off. Source: kubelet `GetBackoffKey`. */
function backoffKey({ metadata }: ValidPod, { name, image, resources }: Container | EphemeralContainer): string {
  const { limits, requests } = resources ?? {};
  return JSON.stringify([metadata.uid, name, image, ...[limits, requests].map(canonicalEntries)]);
}

/** Equal for equal resources, whatever their order and format. */
function canonicalEntries(list: Readonly<Record<string, string>> | null | undefined): (string | undefined)[][] {
  return Object.entries(list ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, quantity]) => [name, canonicalQuantity(quantity)]);
}
