import type { PressureType } from '../../node/index.ts';
import { type Observation, type Observations, signals, type Threshold, thresholdsMet } from './thresholds.ts';

/** A threshold that is met. */
export interface MetThreshold {
  readonly threshold: Threshold;
  readonly metSinceMs: number;
  readonly observed: Observation;
  /** False while the grace period of a soft threshold has not passed. */
  readonly isGracePeriodOver: boolean;
}

/**
 * Which thresholds are met, and since when. A threshold that has caused evictions stays met until its minimum has been
 * reclaimed. Times are on the monotonic clock. Source: kubelet `eviction.managerImpl`, `synchronize`.
 */
export class MetThresholds {
  readonly #thresholds: readonly Threshold[];
  readonly #pressureTransitionPeriodMs: number;
  #met: readonly MetThreshold[] = [];
  /** Condition → when it was last observed. */
  readonly #observedMs = new Map<PressureType, number>();

  constructor(thresholds: readonly Threshold[], pressureTransitionPeriodMs: number) {
    this.#thresholds = thresholds;
    this.#pressureTransitionPeriodMs = pressureTransitionPeriodMs;
  }

  get met(): readonly MetThreshold[] {
    return this.#met;
  }

  /** @returns the thresholds that have become met, and those that no longer are */
  observe(
    observations: Observations,
    nowMs: number,
  ): { readonly begun: readonly MetThreshold[]; readonly ended: readonly MetThreshold[] } {
    const before = this.#met;
    const acted = before.filter(({ isGracePeriodOver }) => isGracePeriodOver).map(({ threshold }) => threshold);
    const met = new Set([
      ...thresholdsMet(this.#thresholds, observations),
      ...thresholdsMet(acted, observations, { enforceMinimumReclaim: true }),
    ]);
    this.#met = this.#thresholds
      .filter((threshold) => met.has(threshold))
      .map((threshold) => {
        const metSinceMs = before.find((earlier) => earlier.threshold === threshold)?.metSinceMs ?? nowMs;
        const isGracePeriodOver = nowMs - metSinceMs >= threshold.gracePeriodMs;
        return { threshold, metSinceMs, observed: observations.get(threshold.signal)!, isGracePeriodOver };
      });
    for (const { threshold } of this.#met) this.#observedMs.set(signals[threshold.signal].condition, nowMs);
    return {
      begun: this.#met.filter(({ threshold }) => !before.some((earlier) => earlier.threshold === threshold)),
      ended: before.filter(({ threshold }) => !met.has(threshold)),
    };
  }

  /** What to evict pods for; undefined if nothing. Memory comes first. Source: kubelet `byEvictionPriority`. */
  mostUrgent(): MetThreshold | undefined {
    const due = this.#met.filter(({ isGracePeriodOver }) => isGracePeriodOver);
    return due.find(({ threshold }) => threshold.signal === 'memory.available') ?? due[0];
  }

  /** The conditions that were observed within the transition period. */
  pressure(nowMs: number): ReadonlySet<PressureType> {
    return new Set(
      [...this.#observedMs]
        .filter(([, atMs]) => nowMs - atMs < this.#pressureTransitionPeriodMs)
        .map(([condition]) => condition),
    );
  }
}
