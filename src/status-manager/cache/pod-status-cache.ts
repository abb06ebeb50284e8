import type { StatusGauges } from '../metrics.ts';
import type { PodManager, UIDTranslations } from '../../kube/pod-manager.ts';
import type { PodStatus } from '../../kube/types.ts';

/** How the API server confirmed a version: it took a PATCH, showed the same already, or was the source of it (`seed`). */
export type SentAs = 'written' | 'unchanged' | 'adopted';

/** The API server has confirmed a version. */
export interface Confirmation {
  /** When the version was read from the cache, on the monotonic clock. */
  readonly readAtMs: number;
  /** When it was confirmed, on the monotonic clock. */
  readonly atMs: number;
  readonly as: SentAs;
}

/** One accepted status of a pod. Replaced, never changed, but for what is not `readonly`. */
export interface VersionedPodStatus {
  /** 1 at first, one more at each accepted change. */
  readonly version: number;
  /** Distinguishes these versions from those that start at 1 again after the status was dropped. */
  readonly incarnation: number;
  readonly podName: string;
  readonly podNamespace: string;
  /** The pod's containers have stopped for good: `terminatePod` was called. */
  readonly podIsFinished: boolean;
  readonly status: PodStatus;
  /** Monotonic time of the oldest change that has not reached the API server; undefined when all have. kubelet: `at`. */
  unsentSinceMs: number | undefined;
  /** When the newest sent version was confirmed, or was last written again; undefined when none was sent. */
  sentAtMs: number | undefined;
  sentAs: SentAs | undefined;
  /** An unsent change moves readiness, a terminal phase or the deletion: it is sent before others. */
  urgent: boolean;
}

/** What a new version consists of. */
export type NewPodStatus = Pick<VersionedPodStatus, 'podName' | 'podNamespace' | 'podIsFinished' | 'status' | 'urgent'>;

/**
 * Every pod's status, and how much of it the API server has been sent:
 * - the cached version, by the pod's UID (kubelet: `podStatuses`);
 * - the version that was last written, by the UID of the API object (kubelet: `apiStatusVersions`);
 * - which pods have an unsent change, and which of them changed since the loop last asked.
 *
 * The API object of a static pod is its mirror pod. Both maps follow the kubelet's exactly: dropping
 * a status keeps the version that was written until the next full batch, so a status that is set
 * again starts at version 1 below it. Every method is synchronous: each call is one critical section.
 */
export class PodStatusCache {
  readonly #podStatuses = new Map<string, VersionedPodStatus>();
  readonly #apiStatusVersions = new Map<string, number>();
  /** All UIDs with an unsent change, and maybe others, so that the complete cache never has to be scanned. */
  readonly #unsentCandidates = new Set<string>();
  /** Pods that were set since the last `takeChanged`. */
  #changed = new Set<string>();
  readonly #podManager: PodManager;
  #incarnations = 0;

  constructor(podManager: PodManager) {
    this.#podManager = podManager;
  }

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

  /** Caches the next version. The one place where a status enters the cache. */
  set(
    uid: string,
    { podName, podNamespace, podIsFinished, status, urgent }: NewPodStatus,
    nowMs: number,
  ): VersionedPodStatus {
    const old = this.#podStatuses.get(uid);
    const versioned: VersionedPodStatus = {
      version: (old?.version ?? 0) + 1,
      incarnation: old?.incarnation ?? ++this.#incarnations,
      podName,
      podNamespace,
      podIsFinished,
      status,
      // Divergence: the kubelet keeps the time of the first change for good; ours starts again after a write.
      unsentSinceMs: old?.unsentSinceMs ?? nowMs,
      sentAtMs: old?.sentAtMs,
      sentAs: old?.sentAs,
      urgent: urgent || (old?.urgent ?? false),
    };
    this.#podStatuses.set(uid, versioned);
    this.#unsentCandidates.add(uid);
    this.#changed.add(uid);
    return versioned;
  }

  /** Replaces the status of this version, if it is still the newest; the version stays as sent or unsent as it was. */
  replaceStatus(uid: string, versioned: VersionedPodStatus, status: PodStatus): VersionedPodStatus {
    if (this.#podStatuses.get(uid) !== versioned) return versioned;
    const replaced = { ...versioned, status };
    this.#podStatuses.set(uid, replaced);
    return replaced;
  }

  delete(uid: string): void {
    this.#podStatuses.delete(uid);
    this.#unsentCandidates.delete(uid);
    this.#changed.delete(uid);
  }

  /** True when the status was dropped since this version was read from the cache, even if it was set again. */
  wasDropped(uid: string, { incarnation }: VersionedPodStatus): boolean {
    return this.#podStatuses.get(uid)?.incarnation !== incarnation;
  }

  /** The API object `apiUID` shows this version, which has not been dropped since it was read from the cache. */
  markSent(uid: string, apiUID: string, { version }: VersionedPodStatus, { readAtMs, atMs, as }: Confirmation): void {
    this.#apiStatusVersions.set(apiUID, version);
    const current = this.#podStatuses.get(uid)!;
    if (as === 'written' || current.unsentSinceMs !== undefined) {
      current.sentAtMs = atMs;
      current.sentAs = as;
    }
    if (current.version > version) {
      current.unsentSinceMs = readAtMs;
      return;
    }
    current.unsentSinceMs = undefined;
    current.urgent = false;
    this.#changed.delete(uid);
    // A mirror pod may be replaced by another one, to which this version has not been sent.
    if (apiUID === uid) this.#unsentCandidates.delete(uid);
  }

  /** The API object `apiUID` no longer shows what was sent: the pod's status is sent again. */
  forgetSent(uid: string, apiUID: string): void {
    this.#apiStatusVersions.delete(apiUID);
    this.#unsentCandidates.add(uid);
  }

  /** Forgets what was sent to API objects of pods that are neither cached nor known to the pod manager. */
  forgetUnknownAPIObjects({ mirrorToPod }: UIDTranslations): void {
    for (const apiUID of this.#apiStatusVersions.keys()) {
      if (!this.#podStatuses.has(apiUID) && !mirrorToPod.has(apiUID)) this.#apiStatusVersions.delete(apiUID);
    }
  }

  /** UID of the pod's API object; `''` for a static pod without a known mirror: it has none. */
  apiUIDOf(uid: string, translations = this.#podManager.getUIDTranslations()): string {
    return translations.podToMirror.get(uid) ?? uid;
  }

  /** The version that was last written to the API object; undefined when none was, or when the object no longer shows it. */
  sentVersion(apiUID: string): number | undefined {
    return this.#apiStatusVersions.get(apiUID);
  }

  /** A copy of all versions written, by UID of the API object. */
  sentVersions(): Map<string, number> {
    return new Map(this.#apiStatusVersions);
  }

  /** The pods of the kubelet's incremental batch: those with a version above the one that was written. */
  uidsOfUnsentVersions(): string[] {
    const translations = this.#podManager.getUIDTranslations();
    return this.#allCandidates(translations).filter((uid) => this.#isVersionUnsent(uid, translations));
  }

  /**
   * The pods with an unsent change and an API object to send it to.
   * Divergence: a status that was dropped and set again counts although its version is below the one
   * that was written; the kubelet sends it with the next full batch.
   */
  unsentUIDs(): string[] {
    const translations = this.#podManager.getUIDTranslations();
    return this.#allCandidates(translations).filter((uid) => this.#isUnsent(uid, translations));
  }

  /** True for the pods that `unsentUIDs` lists. */
  isUnsent(uid: string): boolean {
    return this.#isUnsent(uid, this.#podManager.getUIDTranslations());
  }

  /** What `takeChanged` hands out again, if the pod is unsent. */
  markChanged(uid: string): void {
    if (this.#podStatuses.has(uid)) this.#changed.add(uid);
  }

  /** Those of `unsentUIDs` that were set or marked as changed since the last call. */
  takeChanged(): string[] {
    const changed = this.#changed;
    if (changed.size === 0) return [];
    this.#changed = new Set();
    const translations = this.#podManager.getUIDTranslations();
    return [...changed].filter((uid) => this.#isUnsent(uid, translations));
  }

  /** The pods with an unsent change, and maybe others. */
  unsentCandidates(): IterableIterator<string> {
    return this.#unsentCandidates.values();
  }

  gauges(nowMs: number): Pick<StatusGauges, 'cachedStatuses' | 'unsentStatuses' | 'oldestUnsentAgeSeconds'> {
    let unsentStatuses = 0;
    let oldestMs = nowMs;
    for (const uid of this.#unsentCandidates) {
      const unsentSinceMs = this.#podStatuses.get(uid)?.unsentSinceMs;
      if (unsentSinceMs === undefined) continue;
      unsentStatuses++;
      oldestMs = Math.min(oldestMs, unsentSinceMs);
    }
    return { cachedStatuses: this.size, unsentStatuses, oldestUnsentAgeSeconds: (nowMs - oldestMs) / 1000 };
  }

  /** The unsent pods, and static pods, whose mirror may be another object now. */
  #allCandidates({ podToMirror }: UIDTranslations): string[] {
    return [...new Set([...this.#unsentCandidates, ...podToMirror.keys()])];
  }

  #isUnsent(uid: string, translations: UIDTranslations): boolean {
    if (this.#isVersionUnsent(uid, translations)) return true;
    return this.#podStatuses.get(uid)?.unsentSinceMs !== undefined && this.apiUIDOf(uid, translations) !== '';
  }

  #isVersionUnsent(uid: string, translations: UIDTranslations): boolean {
    const versioned = this.#podStatuses.get(uid);
    if (versioned === undefined) return false;
    const apiUID = this.apiUIDOf(uid, translations);
    return apiUID !== '' && (this.sentVersion(apiUID) ?? 0) < versioned.version;
  }
}
