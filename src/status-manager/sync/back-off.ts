import type { RequestVerb } from '../../kube/client/pod-client.ts';
import { jitter, nextDelayMs } from '../../shared/exponential-back-off.ts';
import { type BackOffDelays, failureClassTable, type RetriedFailureClass } from './failure-classes.ts';

/** Why a pod's next sync is delayed: a failed request, or a hot loop. */
export type BackOffReason = RetriedFailureClass | 'hot-loop';

/**
 * Every second full batch retries the pod. Within 30 s after the other writer has stopped, one batch
 * writes the status and the next one sees that the API server keeps it.
 */
const hotLoop: BackOffDelays = { firstMs: 15_000, maxMs: 15_000, newVersionWaitMs: 0 };

/** The cause of a pod's delay. */
export interface BackOffCause {
  readonly reason: BackOffReason;
  /** The cached version that was synced. */
  readonly version: number;
  /** The request that failed; undefined for a hot loop. */
  readonly verb?: RequestVerb;
  readonly statusCode?: number | undefined;
  /** A short text, safe to show. */
  readonly message: string;
  /** The pod manager has the pod. */
  readonly isShown: boolean;
  /** The server's `Retry-After`. */
  readonly atLeastMs?: number | undefined;
}

/** Why a pod waits, since when and until when. */
export interface PodBackOff extends BackOffCause {
  /** When the first failure in a row happened, on the monotonic clock. */
  readonly sinceMs: number;
  /** When the last failure happened. */
  readonly failedAtMs: number;
  /** Failures in a row, for any reason. */
  readonly tries: number;
  /** The last wait, without jitter. */
  readonly delayMs: number;
  /** Earliest retry of the same version. */
  readonly dueMs: number;
  /** Earliest try of a newer version. */
  readonly newVersionDueMs: number;
  /** These failures have been logged at warn, so the recovery is logged, at info. */
  readonly isLoggedAtWarn: boolean;
}

/**
 * The pod's back-off entry after a failure.
 * @param last its entry before
 * @param random returns a number in [0, 1) for the jitter
 */
export function nextBackOff(
  last: PodBackOff | undefined,
  cause: BackOffCause,
  nowMs: number,
  random: () => number,
): PodBackOff {
  // Failures in a row count together even if their reasons differ; a hot loop is counted separately.
  const old = (last?.reason === 'hot-loop') === (cause.reason === 'hot-loop') ? last : undefined;
  const tries = (old?.tries ?? 0) + 1;
  const delays = cause.reason === 'hot-loop' ? hotLoop : failureClassTable[cause.reason].backOff;
  const { firstMs, freeTries = 0 } = delays;
  const { maxMs, newVersionWaitMs } = { ...delays, ...(cause.isShown && delays.whenShown) };
  const delayMs = tries <= freeTries ? 0 : nextDelayMs(old?.delayMs ?? 0, { firstMs, maxMs });
  // Up to 20% less, so that pods that failed together are not retried together.
  const waitMs = Math.max(cause.atLeastMs ?? 0, jitter(delayMs, -0.2, random));
  return {
    ...cause,
    tries,
    delayMs,
    sinceMs: old?.sinceMs ?? nowMs,
    failedAtMs: nowMs,
    dueMs: nowMs + waitMs,
    newVersionDueMs: nowMs + Math.min(waitMs, newVersionWaitMs ?? waitMs),
    isLoggedAtWarn: old?.isLoggedAtWarn ?? false,
  };
}

/** Milliseconds until this version may be tried; 0: now. */
export function remainingWaitMs(entry: PodBackOff | undefined, version: number, nowMs: number): number {
  return entry === undefined ? 0 : Math.max(0, dueMsOf(entry, version) - nowMs);
}

/** Earliest try of this version, on the monotonic clock. */
export function dueMsOf(entry: PodBackOff, version: number): number {
  return version > entry.version ? entry.newVersionDueMs : entry.dueMs;
}

/** The entry whose wait has been ended, except for `Retry-After`. The next failure continues the back-off. */
export function withoutCurrentWait(entry: PodBackOff, nowMs: number): PodBackOff {
  const dueMs = Math.max(nowMs, entry.failedAtMs + (entry.atLeastMs ?? 0));
  return { ...entry, dueMs, newVersionDueMs: Math.min(dueMs, entry.newVersionDueMs) };
}

/** Like `withoutCurrentWait`, but the next failure begins a new back-off. */
export function withoutWait(entry: PodBackOff | undefined, nowMs: number): PodBackOff | undefined {
  const dueMs = (entry?.failedAtMs ?? 0) + (entry?.atLeastMs ?? 0);
  return entry === undefined || dueMs <= nowMs ? undefined : { ...entry, delayMs: 0, dueMs, newVersionDueMs: dueMs };
}
