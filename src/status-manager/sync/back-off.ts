import type { RequestVerb } from '../../kube/client/pod-client.ts';
import { jitter, nextDelayMs } from '../../shared/exponential-back-off.ts';
import { type BackOffDelays, failureClassTable, type RetriedFailureClass } from './failure-classes.ts';

/** Why a pod's next sync is delayed: a failed request, or a hot loop. */
export type BackOffReason = RetriedFailureClass | 'hot-loop';

/**
 * Retried by every second full batch, so that within 30 s after the other writer has stopped one batch
 * writes the status and the next one sees that it is kept.
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
export interface BackOffEntry extends BackOffCause {
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
  /** These failures have been logged at warn, so the recovery is logged at warn too. */
  isLoggedAtWarn: boolean;
}

/** Back-off entries by pod. Sets no timer. */
export class BackOff {
  readonly #entries = new Map<string, BackOffEntry>();
  readonly #random: () => number;

  /** @param random a number in [0, 1) for the jitter */
  constructor(random: () => number) {
    this.#random = random;
  }

  get(uid: string): BackOffEntry | undefined {
    return this.#entries.get(uid);
  }

  uids(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** Records a failure and returns the pod's new back-off entry. */
  add(uid: string, cause: BackOffCause, nowMs: number): BackOffEntry {
    const last = this.#entries.get(uid);
    // Failures in a row count together even if their reasons differ; a hot loop is counted separately.
    const old = (last?.reason === 'hot-loop') === (cause.reason === 'hot-loop') ? last : undefined;
    const tries = (old?.tries ?? 0) + 1;
    const delays = cause.reason === 'hot-loop' ? hotLoop : failureClassTable[cause.reason].backOff;
    const { firstMs, freeTries = 0 } = delays;
    const { maxMs, newVersionWaitMs } = { ...delays, ...(cause.isShown && delays.whenShown) };
    const delayMs = tries <= freeTries ? 0 : nextDelayMs(old?.delayMs ?? 0, { firstMs, maxMs });
    // Up to 20% less, so that pods that failed together are not retried together.
    const waitMs = Math.max(cause.atLeastMs ?? 0, jitter(delayMs, -0.2, this.#random));
    const entry: BackOffEntry = {
      ...cause,
      tries,
      delayMs,
      sinceMs: old?.sinceMs ?? nowMs,
      failedAtMs: nowMs,
      dueMs: nowMs + waitMs,
      newVersionDueMs: nowMs + Math.min(waitMs, newVersionWaitMs ?? waitMs),
      isLoggedAtWarn: old?.isLoggedAtWarn ?? false,
    };
    this.#entries.set(uid, entry);
    return entry;
  }

  /** Milliseconds until this version may be tried; 0: now. */
  waitMs(uid: string, version: number, nowMs: number): number {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return 0;
    return Math.max(0, (version > entry.version ? entry.newVersionDueMs : entry.dueMs) - nowMs);
  }

  /** Ends the pod's wait, except for `Retry-After`. */
  endWait(uid: string, nowMs: number): void {
    const entry = this.#entries.get(uid);
    const dueMs = (entry?.failedAtMs ?? 0) + (entry?.atLeastMs ?? 0);
    if (entry === undefined || dueMs <= nowMs) this.forget(uid);
    else this.#entries.set(uid, { ...entry, delayMs: 0, dueMs, newVersionDueMs: dueMs });
  }

  /** Deletes the entry: the pod is in sync, or gone. */
  forget(uid: string): void {
    this.#entries.delete(uid);
  }
}
