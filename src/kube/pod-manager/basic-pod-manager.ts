import type { Pod, ValidPod } from '../objects/types.ts';
import { requireText } from '../../shared/validate.ts';
import { requirePod, requirePods } from '../pods/require-pod.ts';
import type { PodManager, UIDTranslations } from './pod-manager.ts';
import { getPodFullName, isMirrorPod, isStaticPod } from '../pods/static-pods.ts';

/** What `getPodAndMirrorPod` returns. */
export interface PodAndMirrorPod {
  readonly pod: ValidPod | undefined;
  readonly mirrorPod: ValidPod | undefined;
  readonly wasMirror: boolean;
}

/**
 * The pods of this node and their mirror pods, in memory. Stores the given objects: pass a new object
 * for every change.
 * Source: kubelet `pod.basicManager`.
 *
 * @example
 * ```ts
 * import { BasicPodManager } from 'kubelet-status-manager';
 *
 * const podManager = new BasicPodManager();
 * podManager.setPods([pod]); // all pods of the node
 * podManager.updatePod({ ...pod, metadata: { ...pod.metadata, labels: { app: 'web' } } });
 * podManager.removePod(pod);
 * ```
 */
export class BasicPodManager implements PodManager {
  readonly #podByUID = new Map<string, ValidPod>();
  readonly #podByFullName = new Map<string, ValidPod>();
  readonly #mirrorPodByFullName = new Map<string, ValidPod>();
  readonly #podUIDByMirrorUID = new Map<string, string>();
  readonly #staticPodUIDs = new Set<string>();
  readonly #mirrorListeners = new Set<{ readonly listener: (podUID: string) => void }>();

  /**
   * Replaces all pods. Known translations of mirrors that stay are rebuilt.
   * @throws StatusManagerError INVALID_ARGUMENT; nothing has changed then
   */
  setPods(pods: Iterable<Pod>): void {
    const all = requirePods(pods);
    this.#podByUID.clear();
    this.#podByFullName.clear();
    this.#mirrorPodByFullName.clear();
    this.#podUIDByMirrorUID.clear();
    this.#staticPodUIDs.clear();
    for (const pod of all) this.addPod(pod);
  }

  /** Adds the pod, or replaces the one with the same UID. */
  addPod(pod: Pod): void {
    this.updatePod(pod);
  }

  /** @throws StatusManagerError INVALID_ARGUMENT; nothing has changed then */
  updatePod(pod: Pod): void {
    requirePod(pod);
    const uid = pod.metadata.uid;
    const fullName = getPodFullName(pod);
    if (isMirrorPod(pod)) {
      this.#mirrorPodByFullName.set(fullName, pod);
      const mirrored = this.#podByFullName.get(fullName);
      if (mirrored) this.#setTranslation(uid, mirrored.metadata.uid);
      return;
    }
    this.#podByUID.set(uid, pod);
    this.#podByFullName.set(fullName, pod);
    if (isStaticPod(pod)) this.#staticPodUIDs.add(uid);
    else this.#staticPodUIDs.delete(uid);
    const mirror = this.#mirrorPodByFullName.get(fullName);
    if (mirror) this.#setTranslation(mirror.metadata.uid, uid);
  }

  /**
   * Forgets the pod. Removing a mirror forgets its translation; removing a pod keeps it, but drops
   * the entry under its full name even when a newer pod has taken the name, as the kubelet does.
   */
  removePod(pod: Pod): void {
    const uid = pod?.metadata?.uid;
    requireText('pod.metadata.uid', uid);
    const fullName = getPodFullName(pod);
    if (isMirrorPod(pod)) {
      this.#mirrorPodByFullName.delete(fullName);
      this.#podUIDByMirrorUID.delete(uid);
      return;
    }
    this.#podByUID.delete(uid);
    this.#podByFullName.delete(fullName);
    this.#staticPodUIDs.delete(uid);
  }

  /** All pods except mirror pods. */
  getPods(): ValidPod[] {
    return [...this.#podByUID.values()];
  }

  getPodByUID(uid: string): ValidPod | undefined {
    return this.#podByUID.get(uid);
  }

  /** Never a mirror pod. Source: kubelet `GetPodByFullName`. */
  getPodByFullName(fullName: string): ValidPod | undefined {
    return this.#podByFullName.get(fullName);
  }

  /**
   * The pod and its mirror, whichever of them `pod` is. `pod` is undefined for the mirror of a pod that
   * is not known. Source: kubelet `GetPodAndMirrorPod`.
   */
  getPodAndMirrorPod(pod: Pod): PodAndMirrorPod {
    requirePod(pod);
    if (isMirrorPod(pod)) return { pod: this.#podByFullName.get(getPodFullName(pod)), mirrorPod: pod, wasMirror: true };
    return { pod, mirrorPod: this.getMirrorPodByPod(pod), wasMirror: false };
  }

  /** All pods, all mirrors, and the mirrors of pods that are not known. Source: kubelet `GetPodsAndMirrorPods`. */
  getPodsAndMirrorPods(): {
    readonly pods: readonly ValidPod[];
    readonly mirrorPods: readonly ValidPod[];
    readonly orphanedMirrorPods: readonly ValidPod[];
  } {
    const orphaned = [...this.#mirrorPodByFullName].filter(([fullName]) => !this.#podByFullName.has(fullName));
    return {
      pods: this.getPods(),
      mirrorPods: [...this.#mirrorPodByFullName.values()],
      orphanedMirrorPods: orphaned.map(([, mirrorPod]) => mirrorPod),
    };
  }

  getMirrorPodByPod(pod: Pod): ValidPod | undefined {
    // Hot path: most nodes have no mirror pods, so skip building the name.
    return this.#mirrorPodByFullName.size === 0 ? undefined : this.#mirrorPodByFullName.get(getPodFullName(pod));
  }

  translatePodUID(uid: string): string {
    return this.#podUIDByMirrorUID.get(uid) ?? uid;
  }

  onMirrorPodAdded(listener: (podUID: string) => void): () => void {
    const subscription = { listener };
    this.#mirrorListeners.add(subscription);
    return () => void this.#mirrorListeners.delete(subscription);
  }

  getUIDTranslations(): UIDTranslations {
    const podToMirror = new Map<string, string>();
    for (const uid of this.#staticPodUIDs) podToMirror.set(uid, '');
    for (const [mirrorUID, podUID] of this.#podUIDByMirrorUID) podToMirror.set(podUID, mirrorUID);
    return { podToMirror, mirrorToPod: new Map(this.#podUIDByMirrorUID) };
  }

  #setTranslation(mirrorUID: string, podUID: string): void {
    if (this.#podUIDByMirrorUID.get(mirrorUID) === podUID) return;
    this.#podUIDByMirrorUID.set(mirrorUID, podUID);
    for (const { listener } of this.#mirrorListeners) listener(podUID);
  }
}
