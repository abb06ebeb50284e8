import type { BasicPodManager } from '../../kube/pod-manager/basic-pod-manager.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { SyncPodType } from '../pod-workers/update-pod-options.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';

export interface PodDispatcherOptions {
  readonly podManager: Pick<BasicPodManager, 'getMirrorPodByPod' | 'getPodByUID'>;
  readonly podWorkers: Pick<PodWorkers, 'statuses' | 'updatePod'>;
}

/** Passes pods to their workers. A rejected pod has none until housekeeping finishes or kills it. */
export class PodDispatcher {
  readonly #options: PodDispatcherOptions;
  /** Kept here until the pod is removed, because a rejected pod has no worker. */
  readonly #rejected = new Set<string>();

  constructor(options: PodDispatcherOptions) {
    this.#options = options;
  }

  dispatch(updateType: SyncPodType, pod: ValidPod, mirrorPod: ValidPod | undefined): void {
    const { podWorkers } = this.#options;
    const { uid } = pod.metadata;
    if (this.isRejected(uid) && podWorkers.statuses.get(uid) === undefined) return;
    podWorkers.updatePod({ updateType, pod, mirrorPod });
  }

  /** Source: kubelet `HandlePodSyncs`. */
  syncPods(pods: readonly ValidPod[]): void {
    for (const pod of pods) this.dispatch('sync', pod, this.#options.podManager.getMirrorPodByPod(pod));
  }

  /** Does nothing for an unknown pod. */
  syncPod(podUID: string): void {
    const pod = this.#options.podManager.getPodByUID(podUID);
    if (pod !== undefined) this.syncPods([pod]);
  }

  /** From now on, nothing here gives the pod a worker. */
  reject({ metadata }: ValidPod): void {
    this.#rejected.add(metadata.uid);
  }

  isRejected(podUID: string): boolean {
    return this.#rejected.has(podUID);
  }

  /** Call it when the pod is gone. */
  forget({ metadata }: ValidPod): void {
    this.#rejected.delete(metadata.uid);
  }
}
