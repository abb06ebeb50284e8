import { minBackoffExpiration } from './backoff-error.ts';

/** How the sync of a pod ended. */
export interface SyncOutcome {
  /** True when the pod came into its next state, for which it has to be synced. */
  readonly isPhaseTransition: boolean;
  /** undefined: it succeeded. */
  readonly error: unknown;
}

export interface SyncIntervals {
  readonly nowMs: number;
  readonly resyncIntervalMs: number;
  readonly backOffPeriodMs: number;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Spreads the syncs of pods that began together. */
const jitterFactor = 0.5;

/**
 * When a pod is to be synced again: immediately after a change of its state, else after the resync
 * interval, or after the back-off of the error. Up to half as much is added at random.
 * Source: kubelet `completeWork`.
 */
export function nextSyncDelayMs(
  { isPhaseTransition, error }: SyncOutcome,
  { nowMs, resyncIntervalMs, backOffPeriodMs, random }: SyncIntervals,
): number {
  if (isPhaseTransition) return 0;
  if (error === undefined) return withJitter(resyncIntervalMs, random);
  const untilMs = minBackoffExpiration(error);
  const backoffMs = untilMs === undefined ? backOffPeriodMs : untilMs - nowMs;
  return withJitter(Math.min(Math.max(0, backoffMs), resyncIntervalMs), random);
}

function withJitter(ms: number, random: () => number): number {
  return ms + random() * jitterFactor * ms;
}
