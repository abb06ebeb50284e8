import type { ValidPod } from '../../kube/types.ts';
import type { CallOptions } from '../runtime/container-runtime.ts';

/**
 * Mounts a pod's volumes before its containers are started, and unmounts them after they have ended. A
 * call that takes longer than 2 minutes and 3 seconds fails, and is retried later.
 */
export interface VolumeManager {
  /** Rejects when the pod cannot be started yet. */
  waitForAttachAndMount(pod: ValidPod, options: CallOptions): Promise<void>;
  /** Resolves when no volume of the pod is mounted any more. */
  waitForUnmount(pod: ValidPod, options: CallOptions): Promise<void>;
  /**
   * Removes the folders of all pods but these, which an earlier agent may have left. No pod is added or removed until it
   * resolves. Called every 2 seconds, so it should only list folders if there are none. Source: kubelet
   * `cleanupOrphanedPodDirs`.
   */
  cleanupOrphanedPodDirs?(existingPodUIDs: ReadonlySet<string>, options: CallOptions): Promise<void>;
  /**
   * Bytes on the disk of the pod's emptyDir volumes, by name; a volume in memory is left out. Default: pods are not
   * evicted for the limits of their volumes.
   */
  emptyDirUsage?(pod: ValidPod): Promise<ReadonlyMap<string, number>>;
}
