import type { ValidPod } from '../../kube/objects/types.ts';
import type { CallOptions, UsageInfo } from '../../node/index.ts';

/**
 * Mounts a pod's volumes before its containers are started, and unmounts them after they have ended. A
 * call that takes longer than 2 minutes and 3 seconds fails, and is retried later.
 */
export interface VolumeManager {
  /** Rejects when the pod cannot be started yet. */
  waitForAttachAndMount(pod: ValidPod, options: CallOptions): Promise<void>;
  /** Resolves when all volumes of the pod are unmounted. */
  waitForUnmount(pod: ValidPod, options: CallOptions): Promise<void>;
  /**
   * Removes the folders of all other pods, which an earlier agent may have left. `existingPodUIDs` also has pods that are
   * added in the meantime, so ask it right before each removal; `waitForAttachAndMount` of a pod must wait while its folder
   * is being removed. Called every 2 seconds unless a call is in progress, so it should only list folders if there are none.
   * A call that takes longer than 10 minutes fails. Source: kubelet `cleanupOrphanedPodDirs`.
   */
  cleanupOrphanedPodDirs?(existingPodUIDs: Pick<ReadonlySet<string>, 'has'>, options: CallOptions): Promise<void>;
  /**
   * What the pod has on the disk of the node apart from its containers. Must resolve soon, with earlier stats if the volumes
   * have many files, or with undefined if there are none yet. After 10 s, they count as unknown. Default: pods are not
   * evicted for the limits of their volumes. Source: kubelet `GetPodVolumeStats`.
   */
  getPodVolumeStats?(pod: ValidPod, options: CallOptions): Promise<PodVolumeStats | undefined>;
}

/** Source: kubelet `PodVolumeStats`, `getPodEtcHostsStats`. */
export interface PodVolumeStats {
  /** When they were measured. RFC 3339. */
  readonly time: string;
  /** By name: emptyDir volumes, without those in memory, and configMap volumes. */
  readonly volumes: ReadonlyMap<string, UsageInfo>;
  /** The usage of the file that containers see as `/etc/hosts`. */
  readonly etcHosts?: UsageInfo | undefined;
}
