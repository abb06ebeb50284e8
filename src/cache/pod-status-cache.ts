import type { PodStatus } from '../types.ts';

/** One accepted status of a pod. Replaced, never changed, but for `unsentSinceMs` and `urgent`. */
export interface VersionedPodStatus {
  /** 1 at first, one more at each accepted change. */
  readonly version: number;
  readonly podName: string;
  readonly podNamespace: string;
  /** The pod's containers have stopped for good: `terminatePod` was called. */
  readonly podIsFinished: boolean;
  readonly status: PodStatus;
  /** Monotonic time of the oldest change that has not reached the API server; undefined when all have. kubelet: `at`. */
  unsentSinceMs: number | undefined;
  /** An unsent change moves readiness, a terminal phase or the deletion: it goes before others. */
  urgent: boolean;
}

/**
 * The truth about every pod's status: pod UID → versioned status. Every method is synchronous, so
 * that each call is one critical section.
 * Source: kubelet `podStatuses`.
 */
export class PodStatusCache {
  readonly #podStatuses = new Map<string, VersionedPodStatus>();
  /** All UIDs with an unsent version, and maybe others: a batch need not scan the whole cache. */
  readonly #unsent = new Set<string>();

  get size(): number {
    return this.#podStatuses.size;
  }

  get(uid: string): VersionedPodStatus | undefined {
    return this.#podStatuses.get(uid);
  }

  has(uid: string): boolean {
    return this.#podStatuses.has(uid);
  }

  /** UIDs in order of their first status. */
  uids(): IterableIterator<string> {
    return this.#podStatuses.keys();
  }

  entries(): IterableIterator<[string, VersionedPodStatus]> {
    return this.#podStatuses.entries();
  }

  set(uid: string, versioned: VersionedPodStatus): void {
    this.#podStatuses.set(uid, versioned);
    this.#unsent.add(uid);
  }

  delete(uid: string): void {
    this.#unsent.delete(uid);
    this.#podStatuses.delete(uid);
  }

  /** Puts another status under this version, if it is still the newest: what the API server is told has not changed. */
  replaceStatus(uid: string, versioned: VersionedPodStatus, status: PodStatus): void {
    if (this.#podStatuses.get(uid) === versioned) this.#podStatuses.set(uid, { ...versioned, status });
  }

  unsentUIDs(): Iterable<string> {
    return this.#unsent;
  }

  markUnsent(uid: string): void {
    if (this.#podStatuses.has(uid)) this.#unsent.add(uid);
  }

  /** Version `version`, read from the cache at `readAtMs`, has reached the API server. */
  markSent(uid: string, version: number, readAtMs: number): void {
    const versioned = this.#podStatuses.get(uid);
    if (versioned === undefined) return;
    if (versioned.version > version) {
      versioned.unsentSinceMs = readAtMs;
      return;
    }
    versioned.unsentSinceMs = undefined;
    versioned.urgent = false;
    this.#unsent.delete(uid);
  }
}
