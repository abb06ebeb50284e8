/** How long a container that keeps ending waits before it is started again, in milliseconds. */
export interface CrashLoopLimits {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** The kubelet's limits: 10 seconds, doubled at each restart, at most 5 minutes. */
export const kubeletCrashLoopLimits: CrashLoopLimits = { baseMs: 10_000, maxMs: 300_000 };

/** The delay before the next restart of one container, counted from its last exit. */
export interface CrashLoopBackOff {
  readonly delayMs: number;
  /** When the container was restarted last. */
  readonly restartedAtMs: number;
}

/**
 * The back-off after a restart at `nowMs`. There is none before the first restart, which is
 * therefore immediate.
 */
export function nextCrashLoopBackOff(
  previous: CrashLoopBackOff | undefined,
  nowMs: number,
  limits: CrashLoopLimits,
): CrashLoopBackOff {
  const delayMs = previous === undefined ? limits.baseMs : Math.min(2 * previous.delayMs, limits.maxMs);
  return { delayMs, restartedAtMs: nowMs };
}

/** The back-off that still applies after an exit: none after a run of more than twice the longest delay. */
export function crashLoopBackOffAfterExit(
  previous: CrashLoopBackOff | undefined,
  finishedAtMs: number,
  limits: CrashLoopLimits,
): CrashLoopBackOff | undefined {
  const isOver = previous !== undefined && finishedAtMs - previous.restartedAtMs > 2 * limits.maxMs;
  return isOver ? undefined : previous;
}
