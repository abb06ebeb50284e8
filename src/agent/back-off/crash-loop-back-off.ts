import type { Clock } from '../../shared/clock.ts';
import type { Container, EphemeralContainer, ValidPod } from '../../kube/types.ts';
import { hashContainer } from '../runtime/hash-container.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';
import { BackOff } from './flowcontrol-back-off.ts';

/** 10 seconds, doubled up to 5 minutes; reset after a run of more than 10 minutes. Source: kubelet `crashLoopBackOff`. */
export function createCrashLoopBackOff(clock: Pick<Clock, 'now'>): BackOff {
  return new BackOff({ clock, baseMs: 10_000, maxMs: 300_000, expiresAfterMs: 600_000 });
}

/** 10 seconds, doubled up to 5 minutes. Source: kubelet `imageBackOff`. */
export function createImagePullBackOff(clock: Pick<Clock, 'now'>): BackOff {
  return new BackOff({ clock, baseMs: 10_000, maxMs: 300_000 });
}

/** A container whose start is delayed. */
export interface CrashLoop {
  /** For the container's status and the event. */
  readonly message: string;
  /** When it may be started, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/**
 * Whether the start of a container must wait. Undefined means that it may be started now, which is then
 * counted as a start. There is no delay before the first restart.
 * Source: kubelet `doBackOff`.
 */
export function doBackOff(
  pod: ValidPod,
  container: Container | EphemeralContainer,
  runtimeStatus: RuntimePodStatus,
  backoff: BackOff,
): CrashLoop | undefined {
  const exited = runtimeStatus.containers.find(({ name, state }) => name === container.name && state === 'exited');
  if (exited === undefined) return undefined;
  const finishedAtMs = exited.finishedAtMs ?? 0;
  const key = backoffKey(pod, container);
  if (!backoff.isInBackOffSince(key, finishedAtMs)) {
    backoff.next(key, finishedAtMs);
    return undefined;
  }
  const delayMs = backoff.get(key);
  return {
    message: `back-off ${formatGoDuration(delayMs)} restarting failed container=${container.name} pod=${formatPod(pod)}`,
    untilMs: finishedAtMs + delayMs,
  };
}

/** The key depends on the image, so that a changed image has no back-off. Source: kubelet `GetBackoffKey`. */
function backoffKey({ metadata }: ValidPod, container: Container | EphemeralContainer): string {
  return [metadata.name, metadata.namespace, metadata.uid, container.name, hashContainer(container)].join('_');
}

/** Source: kubelet `format.Pod`. */
function formatPod({ metadata }: ValidPod): string {
  return `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
}

/** Formats whole seconds like Go's `time.Duration`: `40s`, `1m20s`, `5m0s`. */
function formatGoDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds % 60}s`;
}
