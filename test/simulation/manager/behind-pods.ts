import type { StatusOutcome } from '../../../src/status-manager/index.ts';

/** Since when the API server has not had the newest status of which pod. */
export class BehindPods {
  /** By pod UID: when each version was accepted that has no final outcome yet, in order. */
  readonly #open = new Map<string, number[]>();
  readonly #since = new Map<string, number>();

  accepted(podUID: string, atMs: number): void {
    const open = this.#open.get(podUID) ?? [];
    if (open.length === 0) this.#since.set(podUID, atMs);
    this.#open.set(podUID, [...open, atMs]);
  }

  /** A version has its final outcome. @returns since when the pod had been behind; undefined if not known */
  ended({ podUID, outcome }: StatusOutcome): number | undefined {
    const [, ...open] = this.#open.get(podUID) ?? [];
    const sinceMs = this.#since.get(podUID);
    if (open.length > 0) this.#open.set(podUID, open);
    else this.#open.delete(podUID);
    if (outcome === 'superseded') return sinceMs;
    if (open.length > 0) this.#since.set(podUID, open[0]!);
    else this.#since.delete(podUID);
    return sinceMs;
  }

  /** The pods that are behind, and since when. */
  get entries(): ReadonlyMap<string, number> {
    return this.#since;
  }
}
