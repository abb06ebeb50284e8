import { jitter } from '../../shared/exponential-back-off.ts';

/** An action was delayed and may be retried at a certain time. Source: kubelet `BackOffError`. */
export class BackOffError extends Error {
  override readonly name = 'BackOffError';
  /** On the monotonic clock. */
  readonly untilMs: number;

  constructor(message: string, untilMs: number) {
    super(message);
    this.untilMs = untilMs;
  }
}

/**
 * The earliest time of the back-off errors in `error`, its causes and the errors of an
 * `AggregateError`; undefined if there is none. Source: kubelet `MinBackoffExpiration`.
 */
function minBackOffExpiration(error: unknown): number | undefined {
  if (error instanceof BackOffError) return error.untilMs;
  if (error instanceof AggregateError) {
    const times = error.errors.map(minBackOffExpiration).filter((time) => time !== undefined);
    return times.length > 0 ? Math.min(...times) : undefined;
  }
  return error instanceof Error && error.cause !== undefined ? minBackOffExpiration(error.cause) : undefined;
}

/** How the sync of a pod ended. */
export interface SyncOutcome {
  /** True when the pod has entered its next state and must be synced for it. */
  readonly isPhaseTransition: boolean;
  /** Undefined if the sync succeeded. */
  readonly error: unknown;
}

/** After a success. */
const resyncIntervalMs = 60_000;
/** After a failure. */
const backOffPeriodMs = 10_000;
/** Spreads the syncs of pods that were started at the same time. */
const jitterFactor = 0.5;

/**
 * The delay before the next sync of a pod: none after a change of its state, otherwise a minute, or the
 * back-off of the error, at most a minute. Jitter adds up to half as much. Source: kubelet `completeWork`.
 */
export function nextSyncDelayMs(
  { isPhaseTransition, error }: SyncOutcome,
  nowMs: number,
  random: () => number,
): number {
  if (isPhaseTransition) return 0;
  if (error === undefined) return jitter(resyncIntervalMs, jitterFactor, random);
  const untilMs = minBackOffExpiration(error);
  const backoffMs = untilMs === undefined ? backOffPeriodMs : untilMs - nowMs;
  return jitter(Math.min(Math.max(0, backoffMs), resyncIntervalMs), jitterFactor, random);
}
