import type { RequestVerb } from '../../kube/client/pod-client.ts';
import { jitter, nextDelayMs } from '../../shared/exponential-back-off.ts';
import { type BackOffDelays, failureClassTable, type RetriedFailureClass } from './failure-classes.ts';

/** Why a pod's next sync is delayed: a request failed, or the API server does not keep what is written. */
export type BackOffReason = RetriedFailureClass | 'hot-loop';

const hotLoop: BackOffDelays = { firstMs: 20_000, maxMs: 600_000, newVersionWaitMs: 0 };

/** What has delayed a pod. */
export interface BackOffCause {
  readonly reason: BackOffReason;
  /** The cached version that was synced. */
  readonly version: number;
  /** The request that failed; undefined for a hot loop. */
  readonly verb?: RequestVerb;
  readonly statusCode?: number | undefined;
  /** A short text, safe to show. */
  readonly message: string;
  /** The pod manager shows the pod. */
  readonly isShown: boolean;
  /** What the server asked to wait. */
  readonly atLeastMs?: number | undefined;
}

/** Why a pod waits, since when and until when. */
export interface BackOffEntry extends BackOffCause {
  /** When the first failure in this row happened, on the monotonic clock. */
  readonly sinceMs: number;
  /** When the last one happened. */
  readonly failedAtMs: number;
  /** Failures in a row, of whatever reason. */
  readonly tries: number;
  /** The last wait, without jitter. */
  readonly delayMs: number;
  /** The same version is not tried before. */
  readonly dueMs: number;
  /** A newer version is not tried before. */
  readonly newVersionDueMs: number;
  /** This row of failures has been logged at warn, so its end is, too. */
  isLoggedAtWarn: boolean;
}

/** When a pod that failed is tried again. Pure bookkeeping: it sets no timer. */
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

  /** Delays the pod again. */
  add(uid: string, cause: BackOffCause, nowMs: number): BackOffEntry {
    const last = this.#entries.get(uid);
    // Failures in a row count together even if their reasons differ; a hot loop is counted separately.
    const old = (last?.reason === 'hot-loop') === (cause.reason === 'hot-loop') ? last : undefined;
    const tries = (old?.tries ?? 0) + 1;
    const delays = cause.reason === 'hot-loop' ? hotLoop : failureClassTable[cause.reason].backOff;
    const { firstMs, freeTries = 0 } = delays;
    const { maxMs, newVersionWaitMs } = { ...delays, ...(cause.isShown && delays.whenShown) };
    const delayMs = tries <= freeTries ? 0 : nextDelayMs(old?.delayMs ?? 0, { firstMs, maxMs });
    // Up to a fifth less, so that pods which failed together are not tried again together.
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

  /** In how many milliseconds this version may be tried; 0: now. */
  waitMs(uid: string, version: number, nowMs: number): number {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return 0;
    return Math.max(0, (version > entry.version ? entry.newVersionDueMs : entry.dueMs) - nowMs);
  }

  /** Ends the pod's wait, but for what the server asked for. */
  endWait(uid: string, nowMs: number): void {
    const entry = this.#entries.get(uid);
    const dueMs = (entry?.failedAtMs ?? 0) + (entry?.atLeastMs ?? 0);
    if (entry === undefined || dueMs <= nowMs) this.forget(uid);
    else this.#entries.set(uid, { ...entry, delayMs: 0, dueMs, newVersionDueMs: dueMs });
  }

  /** The pod is as it should be, or gone. */
  forget(uid: string): void {
    this.#entries.delete(uid);
  }
}
