import sumBy from 'lodash/sumBy.js';
import type { PodStats } from '../runtime/pod-stats.ts';

/** What a running pod uses. */
export interface PodUsage {
  /** Undefined if the runtime reports none. */
  readonly stats: PodStats | undefined;
  /** Bytes of its emptyDir volumes on the disk, by name. */
  readonly volumeBytes: ReadonlyMap<string, number>;
}

/** Parts of a pod's usage of local storage. Source: kubelet `fsStatsType`. */
export type StoragePart = 'rootfs' | 'logs' | 'volumes';

const allParts: readonly StoragePart[] = ['rootfs', 'logs', 'volumes'];

/** The bytes of local storage that a pod uses. Source: kubelet `podDiskUsage`. */
export function podStorageBytes({ stats, volumeBytes }: PodUsage, parts: readonly StoragePart[] = allParts): number {
  const containers = stats?.containers ?? [];
  return (
    (parts.includes('rootfs') ? sumBy(containers, ({ rootfs }) => rootfs?.usedBytes ?? 0) : 0) +
    (parts.includes('logs') ? sumBy(containers, ({ logs }) => logs?.usedBytes ?? 0) : 0) +
    (parts.includes('volumes') ? sumBy([...volumeBytes.values()]) : 0)
  );
}

/** The inodes of the containers; those of volumes are not measured. */
export function podInodes({ stats }: PodUsage): number {
  return sumBy(stats?.containers ?? [], ({ rootfs, logs }) => (rootfs?.inodesUsed ?? 0) + (logs?.inodesUsed ?? 0));
}
