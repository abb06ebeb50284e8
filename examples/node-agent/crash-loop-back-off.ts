/** How long a container that keeps ending waits before it is started again, in milliseconds. */
export interface CrashLoopLimits {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** The kubelet's own: 10 seconds, doubled at each restart, at most 5 minutes. */
export const kubeletCrashLoopLimits: CrashLoopLimits = { baseMs: 10_000, maxMs: 300_000 };

/** The delay that the next restart of one container has to keep, counted from its last exit. */
export interface CrashLoopBackOff {
  readonly delayMs: number;
  readonly updatedAtMs: number;
}

/**
 * The back-off after a restart at `nowMs`. The first restart is immediate, so it is called for the
 * first time when that one is made. A container that ran for more than twice the longest delay
 * starts over.
 */
export function nextCrashLoopBackOff(
  previous: CrashLoopBackOff | undefined,
  nowMs: number,
  limits: CrashLoopLimits,
): CrashLoopBackOff {
  const startsOver = previous === undefined || nowMs - previous.updatedAtMs > 2 * limits.maxMs;
  const delayMs = startsOver ? limits.baseMs : Math.min(2 * previous.delayMs, limits.maxMs);
  return { delayMs, updatedAtMs: nowMs };
}
