import sumBy from 'lodash/sumBy.js';
import type { FsStats, PodStats } from '../../node/index.ts';
import type { PodVolumeStats } from '../volumes/volume-manager.ts';

/** What a running pod uses. */
export interface PodUsage {
  /** Undefined if the runtime reports none. */
  readonly stats: PodStats | undefined;
  /** Undefined if they are not known yet. */
  readonly volumeStats: PodVolumeStats | undefined;
}

/** Parts of a pod's usage of local storage. Source: kubelet `fsStatsType`. */
export type StoragePart = 'rootfs' | 'logs' | 'volumes';

const allParts: readonly StoragePart[] = ['rootfs', 'logs', 'volumes'];

/** The bytes of local storage that a pod uses. Source: kubelet `podDiskUsage`. */
export function podStorageBytes(usage: PodUsage, parts: readonly StoragePart[]): number {
  return sumOfParts(usage, parts, ({ usedBytes }) => usedBytes, 'bytes');
}

/** Source: kubelet `podDiskUsage`. */
export function podInodes(usage: PodUsage, parts: readonly StoragePart[]): number {
  return sumOfParts(usage, parts, ({ inodesUsed }) => inodesUsed, 'inodes');
}

/** The bytes that count towards the limit of a pod. Source: kubelet `calcEphemeralStorage`. */
export function ephemeralStorageBytes(usage: PodUsage): number {
  return podStorageBytes(usage, allParts) + (usage.volumeStats?.etcHosts?.bytes ?? 0);
}

function sumOfParts(
  { stats, volumeStats }: PodUsage,
  parts: readonly StoragePart[],
  amountOf: (fs: FsStats) => number | undefined,
  amount: 'bytes' | 'inodes',
): number {
  const volumes = parts.includes('volumes') ? [...(volumeStats?.volumes.values() ?? [])] : [];
  const fileSystems = (stats?.containers ?? []).flatMap(({ rootfs, logs }) => [
    parts.includes('rootfs') ? rootfs : undefined,
    parts.includes('logs') ? logs : undefined,
  ]);
  return sumBy(volumes, (volume) => volume[amount]) + sumBy(fileSystems, (fs) => (fs && amountOf(fs)) ?? 0);
}
