import type { PodStatusCache, VersionedPodStatus } from '../cache/pod-status-cache.ts';
import type { Clock } from '../clock.ts';
import { type Logger, thrownFields } from '../logger.ts';
import type { PodManager, UIDTranslations } from '../pods/pod-manager.ts';
import { isStaticPod } from '../status/static-pods.ts';
import { canonicalPodStatus } from '../status/canonical.ts';
import { canBeDeleted } from '../status/deletion.ts';
import { showsPodStatus } from '../status/equality.ts';
import { normalizeStatus } from '../status/normalize.ts';
import type { Pod, PodStatus } from '../types.ts';
import type { ResendDetector } from './resend-detector.ts';

export interface SyncBatchOptions {
  readonly cache: PodStatusCache;
  readonly apiStatusVersions: Map<string, number>;
  readonly podManager: PodManager;
  readonly resendDetector: ResendDetector;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A comparison that found no difference: still good for the same pod object and cached status. */
interface Comparison {
  readonly resourceVersion: string | undefined;
  readonly status: PodStatus;
}

/** How long a full scan may hold the event loop before it lets others run. */
const sliceMs = 4;
/** So many pods are looked at between two readings of the clock. */
const podsPerClockReading = 32;

/** Which pods a batch has to sync. Source: kubelet `syncBatch`. */
export class SyncBatch {
  readonly #options: SyncBatchOptions;
  readonly #compared = new WeakMap<Pod, Comparison>();

  constructor(options: SyncBatchOptions) {
    this.#options = options;
  }

  /** The pods with a version that was not sent. One critical section. */
  incremental(): string[] {
    const translations = this.#options.podManager.getUIDTranslations();
    return this.#candidates(translations).filter((uid) => this.#isUnsent(uid, translations));
  }

  /**
   * Those of `uids`, or of all pods, with something to send and an object to send it to.
   * Divergence: a status that was set again after it had been dropped counts. Its versions start at
   * 1, below the one that was sent, and the kubelet leaves it to the next full batch.
   */
  pending(uids?: Iterable<string>): string[] {
    const { cache, podManager } = this.#options;
    const translations = podManager.getUIDTranslations();
    const candidates = uids === undefined ? this.#candidates(translations) : [...uids];
    return candidates.filter(
      (uid) =>
        this.#isUnsent(uid, translations) ||
        (cache.get(uid)?.unsentSinceMs !== undefined && translations.podToMirror.get(uid) !== ''),
    );
  }

  /**
   * Compares every cached status with what was sent and with what the pod manager shows, and calls
   * `onPod` for each pod. Works in slices, each a critical section; between them others run, and
   * what has gone meanwhile is skipped. A pod that cannot be compared holds up no other.
   */
  async full(onPod: (uid: string, needsSync: boolean) => void, signal?: AbortSignal): Promise<void> {
    const { cache, clock, podManager } = this.#options;
    let translations = podManager.getUIDTranslations();
    this.#forgetVersionsOfStrangers(translations);
    const uids = [...cache.uids()];
    let sliceEndsMs = clock.monotonicMs() + sliceMs;
    for (let i = 0; i < uids.length; i++) {
      if (i % podsPerClockReading === 0 && clock.monotonicMs() >= sliceEndsMs) {
        await clock.yieldToEventLoop();
        if (signal?.aborted) return;
        translations = podManager.getUIDTranslations();
        sliceEndsMs = clock.monotonicMs() + sliceMs;
      }
      const uid = uids[i]!;
      try {
        onPod(uid, this.#needsSync(uid, translations));
      } catch (error) {
        this.#options.logger.error({ ...thrownFields(error), podUID: uid }, 'A pod cannot be compared');
      }
    }
  }

  /** The unsent ones, and those whose mirror may have become another object. */
  #candidates({ podToMirror }: UIDTranslations): string[] {
    return [...new Set([...this.#options.cache.unsentUIDs(), ...podToMirror.keys()])];
  }

  #forgetVersionsOfStrangers({ mirrorToPod }: UIDTranslations): void {
    const { cache, apiStatusVersions } = this.#options;
    for (const apiUID of apiStatusVersions.keys()) {
      if (!cache.has(apiUID) && !mirrorToPod.has(apiUID)) apiStatusVersions.delete(apiUID);
    }
  }

  #isUnsent(uid: string, { podToMirror }: UIDTranslations): boolean {
    const versioned = this.#options.cache.get(uid);
    const apiUID = podToMirror.get(uid) ?? uid;
    // A static pod without a known mirror has nothing on the API server to write to.
    return (
      versioned !== undefined && apiUID !== '' && (this.#options.apiStatusVersions.get(apiUID) ?? 0) < versioned.version
    );
  }

  #needsSync(uid: string, { podToMirror }: UIDTranslations): boolean {
    const { cache, apiStatusVersions, resendDetector } = this.#options;
    const versioned = cache.get(uid);
    const apiUID = podToMirror.get(uid) ?? uid;
    if (versioned === undefined || apiUID === '') return false;
    if (this.#needsUpdate(apiUID, versioned)) return true;
    if (!this.#needsReconcile(uid, versioned)) {
      resendDetector.forget(uid);
      return false;
    }
    apiStatusVersions.delete(apiUID);
    cache.markUnsent(uid);
    return true;
  }

  /** Source: kubelet `needsUpdate`. */
  #needsUpdate(apiUID: string, { version, podIsFinished }: VersionedPodStatus): boolean {
    const { apiStatusVersions, podManager } = this.#options;
    if ((apiStatusVersions.get(apiUID) ?? 0) < version) return true;
    if (!podIsFinished) return false;
    const pod = podManager.getPodByUID(apiUID);
    return pod !== undefined && canBeDeleted(pod, podIsFinished);
  }

  /** Source: kubelet `needsReconcile`. */
  #needsReconcile(uid: string, { status }: VersionedPodStatus): boolean {
    const { podManager } = this.#options;
    let pod = podManager.getPodByUID(uid);
    if (pod === undefined) return false;
    if (isStaticPod(pod)) {
      pod = podManager.getMirrorPodByPod(pod);
      if (pod === undefined) return false;
    }
    const resourceVersion = pod.metadata?.resourceVersion;
    const compared = this.#compared.get(pod);
    if (compared !== undefined && compared.status === status && compared.resourceVersion === resourceVersion)
      return false;
    const podStatus = normalizeStatus(pod, canonicalPodStatus(pod.status, { strict: false }));
    if (!showsPodStatus(podStatus, status)) return true;
    this.#compared.set(pod, { resourceVersion, status });
    return false;
  }
}
