import type { StatusGauges } from '../metrics.ts';
import type { PodManager, UIDTranslations } from '../../kube/pod-manager/pod-manager.ts';
import type { PodStatus } from '../../kube/objects/types.ts';
import { isNewer } from '../../kube/objects/is-newer.ts';
import { type Adopted, adoptedFrom, type AdoptedFromServer } from './adopted-status.ts';

/** The API server has confirmed a version. */
export interface Confirmation {
  /** When the version was read from the cache, on the monotonic clock. */
  readonly readAtMs: number;
  /** When it was confirmed, on the monotonic clock. */
  readonly atMs: number;
  readonly as: NonNullable<VersionedPodStatus['sentAs']>;
}

/** One accepted status of a pod. Immutable except for the fields that are not `readonly`. */
export interface VersionedPodStatus {
  /** Starts at 1 and increases by 1 with each accepted change. */
  readonly version: number;
  /** Changes when the status is dropped and its versions restart at 1. */
  readonly incarnation: number;
  readonly podName: string;
  readonly podNamespace: string;
  /** All containers have stopped for good: `terminatePod` was called. */
  readonly podIsFinished: boolean;
  readonly status: PodStatus;
  /** The first version with this status: a second `terminatePod` makes a new version of the same one. */
  readonly sameSince: number;
  /** Monotonic time of the oldest unsent change; undefined if nothing is unsent. kubelet: `at`. */
  unsentSinceMs: number | undefined;
  /** When the newest sent version was confirmed or last rewritten; undefined if none was sent. */
  sentAtMs: number | undefined;
  /** How: by a PATCH, by a read, or because the status came from the API server (`seed`). */
  sentAs: 'written' | 'unchanged' | 'adopted' | undefined;
  /** An unsent change affects readiness, a terminal phase or the deletion: it is sent first. */
  urgent: boolean;
  /** Set while the status is of an earlier run, and this run has set none; see `Adopted`. */
  adopted: Adopted | undefined;
}

/** The content of a new version. */
export interface NewPodStatus extends Pick<
  VersionedPodStatus,
  'podName' | 'podNamespace' | 'podIsFinished' | 'status' | 'urgent' | 'adopted'
> {
  /** The status equals the cached one. Default: false. */
  readonly isSame?: boolean;
}

/**
 * The status of every pod, and which versions were sent:
 * - the cached version, by the pod's UID (kubelet: `podStatuses`);
 * - the version last written, by the UID of the API object (kubelet: `apiStatusVersions`);
 * - the pods with an unsent change, and those changed since the last `takeChanged`.
 *
 * The API object of a static pod is its mirror pod. Both maps behave exactly like the kubelet's:
 * dropping a status keeps the written version until the next full batch, so a status set again starts
 * at version 1, below it. Every method is synchronous and thus one critical section.
 */
export class PodStatusCache {
  readonly #podStatuses = new Map<string, VersionedPodStatus>();
  readonly #apiStatusVersions = new Map<string, number>();
  /** A superset of the UIDs with an unsent change; avoids scanning the complete cache. */
  readonly #unsentCandidates = new Set<string>();
  /** Pods set since the last `takeChanged`. */
  #changed = new Set<string>();
  readonly #podManager: PodManager;
  #incarnations = 0;

  constructor(podManager: PodManager) {
    this.#podManager = podManager;
  }

  get size(): number {
    return this.#podStatuses.size;
  }

  /** If the status was adopted from the API server, a newer object of the pod manager replaces it first. */
  get(uid: string): VersionedPodStatus | undefined {
    const versioned = this.#podStatuses.get(uid);
    if (versioned?.adopted?.from !== 'api-server' || versioned.podIsFinished) return versioned;
    return this.#refreshed(uid, versioned, versioned.adopted);
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

  /** Caches the next version. Every status enters the cache here. */
  set(
    uid: string,
    { podName, podNamespace, podIsFinished, status, urgent, adopted, isSame = false }: NewPodStatus,
    nowMs: number,
  ): VersionedPodStatus {
    const old = this.#podStatuses.get(uid);
    const version = (old?.version ?? 0) + 1;
    const versioned: VersionedPodStatus = {
      version,
      incarnation: old?.incarnation ?? ++this.#incarnations,
      podName,
      podNamespace,
      podIsFinished,
      status,
      sameSince: isSame ? (old?.sameSince ?? version) : version,
      // Divergence: the kubelet never resets the time of the first change; ours is reset by a write.
      unsentSinceMs: old?.unsentSinceMs ?? nowMs,
      sentAtMs: old?.sentAtMs,
      sentAs: old?.sentAs,
      urgent: urgent || (old?.urgent ?? false),
      adopted,
    };
    this.#podStatuses.set(uid, versioned);
    this.#unsentCandidates.add(uid);
    this.#changed.add(uid);
    return versioned;
  }

  /** This run has set the very status that is cached. */
  confirm(uid: string): void {
    const versioned = this.#podStatuses.get(uid);
    if (versioned !== undefined) versioned.adopted = undefined;
  }

  /** Sets since when the pod of a recovered status is said to be gone, which its next GET confirms; undefined: it is not. */
  setOrphaned(uid: string, orphanedSinceMs: number | undefined): void {
    const versioned = this.#podStatuses.get(uid);
    if (versioned?.adopted?.from !== 'journal') return;
    versioned.adopted = { ...versioned.adopted, orphanedSinceMs };
    if (orphanedSinceMs !== undefined) this.forgetSent(uid, this.apiUIDOf(uid));
  }

  /** Replaces parts of this version if it is still the newest. Does not change whether it counts as sent. */
  replace(
    uid: string,
    versioned: VersionedPodStatus,
    parts: Partial<Pick<VersionedPodStatus, 'adopted' | 'status'>>,
  ): VersionedPodStatus {
    if (this.#podStatuses.get(uid) !== versioned) return versioned;
    const replaced = { ...versioned, ...parts };
    this.#podStatuses.set(uid, replaced);
    return replaced;
  }

  delete(uid: string): void {
    this.#podStatuses.delete(uid);
    this.#unsentCandidates.delete(uid);
    this.#changed.delete(uid);
  }

  /** True if the status was dropped after this version was read, even if it was set again. */
  wasDropped(uid: string, { incarnation }: VersionedPodStatus): boolean {
    return this.#podStatuses.get(uid)?.incarnation !== incarnation;
  }

  /** Marks this version as sent to the API object `apiUID`. Precondition: not `wasDropped`. */
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
    if (current.adopted?.from === 'journal') {
      // Until the pod manager has shown the pod, the lists may be older than the pod: only a GET proves that it is gone.
      const isShown = this.#podManager.getPodByUID(uid) !== undefined;
      current.adopted = isShown ? undefined : { ...current.adopted, orphanedSinceMs: undefined };
    }
    this.#changed.delete(uid);
    // A mirror pod may be replaced by a new one that has not received this version.
    if (apiUID === uid) this.#unsentCandidates.delete(uid);
  }

  /** The API object `apiUID` no longer has the sent status: the status is sent again. */
  forgetSent(uid: string, apiUID: string): void {
    this.#apiStatusVersions.delete(apiUID);
    this.#unsentCandidates.add(uid);
  }

  /** Deletes the sent versions of pods that are neither cached nor known to the pod manager. */
  forgetUnknownAPIObjects({ mirrorToPod }: UIDTranslations): void {
    for (const apiUID of this.#apiStatusVersions.keys()) {
      if (!this.#podStatuses.has(apiUID) && !mirrorToPod.has(apiUID)) this.#apiStatusVersions.delete(apiUID);
    }
  }

  /** UID of the pod's API object; `''` for a static pod without a known mirror: it has none. */
  apiUIDOf(uid: string, translations = this.#podManager.getUIDTranslations()): string {
    return translations.podToMirror.get(uid) ?? uid;
  }

  /** The version last written to the API object; undefined if none was, or if the object no longer has it. */
  sentVersion(apiUID: string): number | undefined {
    return this.#apiStatusVersions.get(apiUID);
  }

  /** A copy of all written versions, by UID of the API object. */
  sentVersions(): Map<string, number> {
    return new Map(this.#apiStatusVersions);
  }

  /** The pods of the kubelet's incremental batch: cached version above the written one. */
  uidsOfUnsentVersions(): string[] {
    const translations = this.#podManager.getUIDTranslations();
    return this.#allCandidates(translations).filter((uid) => this.#isVersionUnsent(uid, translations));
  }

  /**
   * The pods with an unsent change and an API object to send it to.
   * Divergence: includes a status that was dropped and set again, although its version is below the
   * written one; the kubelet sends it with the next full batch.
   */
  unsentUIDs(): string[] {
    const translations = this.#podManager.getUIDTranslations();
    return this.#allCandidates(translations).filter((uid) => this.#isUnsent(uid, translations));
  }

  /** Whether `unsentUIDs` includes the pod. */
  isUnsent(uid: string): boolean {
    return this.#isUnsent(uid, this.#podManager.getUIDTranslations());
  }

  /** Makes `takeChanged` return the pod again, if it is unsent. */
  markChanged(uid: string): void {
    if (this.#podStatuses.has(uid)) this.#changed.add(uid);
  }

  /** The subset of `unsentUIDs` set or marked as changed since the last call. */
  takeChanged(): string[] {
    const changed = this.#changed;
    if (changed.size === 0) return [];
    this.#changed = new Set();
    const translations = this.#podManager.getUIDTranslations();
    return [...changed].filter((uid) => this.#isUnsent(uid, translations));
  }

  /** A superset of the pods with an unsent change. */
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

  /** The unsent pods and all static pods, because their mirror may be a new object. */
  #allCandidates({ podToMirror }: UIDTranslations): string[] {
    return [...new Set([...this.#unsentCandidates, ...podToMirror.keys()])];
  }

  #refreshed(uid: string, versioned: VersionedPodStatus, { resourceVersion }: AdoptedFromServer): VersionedPodStatus {
    const pod = this.#podManager.getPodByUID(uid);
    const apiPod = pod && (this.#podManager.getMirrorPodByPod(pod) ?? pod);
    if (apiPod === undefined || !isNewer(apiPod, resourceVersion)) return versioned;
    return this.replace(uid, versioned, adoptedFrom(apiPod));
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
