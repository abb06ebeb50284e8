/*
 * Types of the kubelet's Summary API. Times are RFC 3339; fields that are not known are absent.
 * Source: k8s.io/kubelet `stats/v1alpha1`.
 */

/** How long tasks have waited for a resource: percentages of the last 10, 60 and 300 s, and the sum in microseconds. */
export interface PSIData {
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** Pressure stall information, of cgroup v2: `full` is the time in which all tasks waited. */
export interface PSIStats {
  readonly full: PSIData;
  readonly some: PSIData;
}

/** Input and output. */
export interface IOStats {
  readonly time: string;
  readonly psi?: PSIStats | undefined;
}

/** CPU usage. */
export interface CPUStats {
  /** When it was measured. */
  readonly time: string;
  /** Average over a recent time, in 10^-9 CPUs. Default: calculated from two values of `usageCoreNanoSeconds`. */
  readonly usageNanoCores?: number | undefined;
  /** Since the start. */
  readonly usageCoreNanoSeconds?: number | undefined;
  readonly psi?: PSIStats | undefined;
}

/** Memory usage. */
export interface MemoryStats {
  readonly time: string;
  readonly availableBytes?: number | undefined;
  readonly usageBytes?: number | undefined;
  /** Memory that counts towards the limit, without what can be reclaimed immediately. */
  readonly workingSetBytes?: number | undefined;
  readonly rssBytes?: number | undefined;
  readonly pageFaults?: number | undefined;
  readonly majorPageFaults?: number | undefined;
  readonly psi?: PSIStats | undefined;
}

/** Swap usage. */
export interface SwapStats {
  readonly time: string;
  readonly swapAvailableBytes?: number | undefined;
  readonly swapUsageBytes?: number | undefined;
}

/** Usage of a file system; `usedBytes` and `inodesUsed` are the part of the container. */
export interface FsStats {
  readonly time: string;
  readonly availableBytes?: number | undefined;
  readonly capacityBytes?: number | undefined;
  readonly usedBytes?: number | undefined;
  readonly inodesFree?: number | undefined;
  readonly inodes?: number | undefined;
  readonly inodesUsed?: number | undefined;
}

/** Counters of one network interface. */
export interface InterfaceStats {
  readonly name: string;
  readonly rxBytes?: number | undefined;
  readonly rxErrors?: number | undefined;
  readonly txBytes?: number | undefined;
  readonly txErrors?: number | undefined;
}

/** Counters of the default interface, and of all. */
export interface NetworkStats extends InterfaceStats {
  readonly time: string;
  readonly interfaces?: readonly InterfaceStats[] | undefined;
}

/** Statistics of a running container. */
export interface ContainerStats {
  readonly name: string;
  /** When it was created. */
  readonly startTime: string;
  readonly cpu?: CPUStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly io?: IOStats | undefined;
  readonly rootfs?: FsStats | undefined;
  readonly logs?: FsStats | undefined;
  readonly swap?: SwapStats | undefined;
}

/** Statistics of a running pod. */
export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  /** When its sandbox was created. */
  readonly startTime: string;
  readonly containers: readonly ContainerStats[];
  readonly cpu?: CPUStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly io?: IOStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly 'ephemeral-storage'?: FsStats | undefined;
  readonly process_stats?: { readonly process_count?: number | undefined } | undefined;
  readonly swap?: SwapStats | undefined;
}

/** The file systems of a runtime. */
export interface ImageFsStats {
  readonly imageFs?: FsStats | undefined;
  readonly containerFs?: FsStats | undefined;
}
