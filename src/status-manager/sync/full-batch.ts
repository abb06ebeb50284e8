import type { AbortSignalLike } from '../../shared/abort.ts';
import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { thrownFields } from '../../shared/logger.ts';
import type { UIDTranslations } from '../../kube/pod-manager/pod-manager.ts';
import { isStaticPod } from '../../kube/pods/static-pods.ts';
import { canonicalPodStatus } from '../status/canonical.ts';
import { canBeDeleted } from '../status/deletion.ts';
import { reflectsStatus } from '../status/equality.ts';
import { normalizeStatus } from '../status/normalize.ts';
import type { Pod, PodStatus } from '../../kube/objects/types.ts';
import { withoutDroppedFields } from './dropped-fields.ts';
import type { HotLoops } from './hot-loops.ts';
import type { SyncPorts } from './sync-ports.ts';

export interface FullBatchOptions extends Pick<
  SyncPorts,
  'cache' | 'clock' | 'logger' | 'podManager' | 'records' | 'section'
> {
  readonly hotLoops: HotLoops;
}

/** A comparison without a difference, valid for this pod object and cached status. */
interface Comparison {
  readonly resourceVersion: string | undefined;
  readonly status: PodStatus;
}

/** Longest time a full batch occupies the event loop before it yields. */
const sliceMs = 4;
/** Pods compared between two readings of the clock. */
const podsPerClockReading = 32;

/** Finds the pods that a full batch has to sync. Source: kubelet `syncBatch`. */
export class FullBatch {
  readonly #options: FullBatchOptions;
  readonly #compared = new WeakMap<Pod, Comparison>();

  constructor(options: FullBatchOptions) {
    this.#options = options;
  }

  /**
   * Compares every cached status with the version sent and with the pod manager's pod, and calls
   * `onPod` for each pod. Works in slices, each a critical section, and yields between them. Skips
   * pods removed in the meantime. A pod that cannot be compared does not delay the others.
   */
  async run(onPod: (uid: string, needsSync: boolean) => void, signal?: AbortSignalLike): Promise<void> {
    const { cache, clock, podManager, section } = this.#options;
    let translations = podManager.getUIDTranslations();
    cache.forgetUnknownAPIObjects(translations);
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
        section.run(() => onPod(uid, this.#needsSync(uid, translations)));
      } catch (error) {
        this.#options.logger.error(
          { ...thrownFields(error), podUID: uid },
          'Failed to compare a cached status with the pod manager',
        );
      }
    }
  }

  #needsSync(uid: string, translations: UIDTranslations): boolean {
    const { cache, hotLoops, records } = this.#options;
    const versioned = cache.get(uid);
    const apiUID = cache.apiUIDOf(uid, translations);
    if (versioned === undefined || apiUID === '') return false;
    if (this.#needsUpdate(apiUID, versioned)) return true;
    if (!this.#needsReconcile(uid, versioned)) {
      const record = records.get(uid);
      if (record !== undefined) hotLoops.kept(record, versioned);
      return false;
    }
    cache.forgetSent(uid, apiUID);
    return true;
  }

  /** Source: kubelet `needsUpdate`. */
  #needsUpdate(apiUID: string, { version, podIsFinished }: VersionedPodStatus): boolean {
    const { cache, podManager } = this.#options;
    if ((cache.sentVersion(apiUID) ?? 0) < version) return true;
    if (!podIsFinished) return false;
    const pod = podManager.getPodByUID(apiUID);
    return pod !== undefined && canBeDeleted(pod, podIsFinished);
  }

  /** Source: kubelet `needsReconcile`. */
  #needsReconcile(uid: string, { status }: VersionedPodStatus): boolean {
    const { podManager, records } = this.#options;
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
    const expected = withoutDroppedFields(records.get(uid)?.droppedFields, status, podStatus);
    if (!reflectsStatus(podStatus, expected)) return true;
    this.#compared.set(pod, { resourceVersion, status });
    return false;
  }
}
