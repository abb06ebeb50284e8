import type { FailureClass } from '../client/api-error.ts';

/** Why a pod's next sync is put off: a failed request, or a patch that does not stick. */
export type HoldReason = Exclude<FailureClass, 'aborted'> | 'hot-loop';

interface Delays {
  readonly firstMs: number;
  readonly maxMs: number;
  /** A new version of the status ends the wait. */
  readonly endedByNewVersion: boolean;
  /** This many tries in a row go without a wait. */
  readonly freeTries?: number;
}

/**
 * Nothing waits for good: each delay doubles up to its bound; docs/parity.md has the requests an hour.
 * Divergence: the kubelet tries every failed pod again at every wake-up and every tick.
 */
const delays: Readonly<Record<HoldReason, Delays>> = {
  'not-visible': { firstMs: 1_000, maxMs: 600_000, endedByNewVersion: false },
  refused: { firstMs: 5_000, maxMs: 300_000, endedByNewVersion: true },
  stale: { firstMs: 500, maxMs: 30_000, endedByNewVersion: true, freeTries: 3 },
  throttled: { firstMs: 1_000, maxMs: 60_000, endedByNewVersion: false },
  transient: { firstMs: 500, maxMs: 30_000, endedByNewVersion: false },
  'hot-loop': { firstMs: 20_000, maxMs: 600_000, endedByNewVersion: true },
};

/** Why a pod waits, and until when. */
export interface Hold {
  readonly reason: HoldReason;
  readonly version: number;
  /** Failures in a row, of whatever reason. */
  readonly tries: number;
  /** The last wait, without jitter. */
  readonly delayMs: number;
  readonly dueMs: number;
  /** A short text, safe to show. */
  readonly lastError: string;
}

/** When a pod that failed is tried again. Pure bookkeeping: it sets no timer. */
export class BackOff {
  readonly #holds = new Map<string, Hold>();
  readonly #random: () => number;

  /** @param random a number in [0, 1) for the jitter */
  constructor(random: () => number) {
    this.#random = random;
  }

  get(uid: string): Hold | undefined {
    return this.#holds.get(uid);
  }

  /** Puts the pod off once more, by `atLeastMs` (what the server asked for) or longer; returns by how many milliseconds. */
  hold(uid: string, reason: HoldReason, version: number, nowMs: number, lastError: string, atLeastMs = 0): number {
    const last = this.#holds.get(uid);
    // A row of failures is one row, though their reasons change; a patch that does not stick is none.
    const old = (last?.reason === 'hot-loop') === (reason === 'hot-loop') ? last : undefined;
    const tries = (old?.tries ?? 0) + 1;
    const { firstMs, maxMs, freeTries = 0 } = delays[reason];
    const delayMs = tries <= freeTries ? 0 : Math.min(maxMs, Math.max(firstMs, 2 * (old?.delayMs ?? 0)));
    // Up to a fifth less, so that pods which failed together do not come back together.
    const jitteredMs = Math.max(atLeastMs, delayMs * (1 - 0.2 * this.#random()));
    this.#holds.set(uid, { reason, version, tries, delayMs, dueMs: nowMs + jitteredMs, lastError });
    return jitteredMs;
  }

  /** True while the pod has to wait; a version newer than the one that failed may end the wait. */
  isHeld(uid: string, version: number, nowMs: number): boolean {
    const hold = this.#holds.get(uid);
    if (hold === undefined || hold.dueMs <= nowMs) return false;
    return !(delays[hold.reason].endedByNewVersion && version > hold.version);
  }

  release(uid: string): void {
    this.#holds.delete(uid);
  }
}
