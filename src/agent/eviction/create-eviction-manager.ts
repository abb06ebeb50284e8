import type { ValidPod } from '../../kube/objects/types.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { ContainerGC } from '../container-gc/container-gc.ts';
import {
  type BoundedRuntime,
  type EventRecorder,
  evictPod,
  fileSystemInfo,
  systemFiles,
  type FsStats,
  nodeStats,
  type PodSyncStatuses,
  type PodWorkers,
  type NodeContext,
} from '../../node/index.ts';
import type { ImageGCManager } from '../image-gc/image-gc-manager.ts';
import type { BoundedVolumeManager } from '../volumes/bounded-volume-manager.ts';
import { EvictionManager, type EvictionManagerOptions } from './eviction-manager.ts';
import type { PodUsage } from './pod-usage.ts';
import {
  type EvictionSignal,
  type Observation,
  type Observations,
  parseThresholds,
  type ThresholdOptions,
} from './thresholds.ts';

/** When pods are evicted because the machine runs out of a resource. */
export interface EvictionOptions extends ThresholdOptions {
  /**
   * The longest grace period of a pod that is evicted for a soft threshold; its own is used if it is shorter. Default: 0,
   * which is 1 s. kubelet: `--eviction-max-pod-grace-period`.
   */
  readonly maxPodGracePeriodSeconds?: number | undefined;
  /** A path on the node's main file system, which `nodefs` signals are about. Default: `/var/lib/kubelet`. */
  readonly rootDirectory?: string | undefined;
  /**
   * How long the Node reports pressure after a threshold was last met, in milliseconds. Default: 300,000. kubelet:
   * `--eviction-pressure-transition-period`.
   */
  readonly pressureTransitionPeriodMs?: number | undefined;
}

export interface EvictionSources extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly nodeName: string;
  readonly runtime: Pick<BoundedRuntime, 'imageFsStats' | 'listPodStats'>;
  readonly volumeManager: BoundedVolumeManager | undefined;
  /** Undefined: only limits of local storage are enforced. */
  readonly eviction: EvictionOptions | undefined;
  readonly podWorkers: Pick<PodWorkers, 'updatePod'>;
  readonly statuses: Pick<PodSyncStatuses, 'isPodKnownTerminated' | 'shouldPodContentBeRemoved'>;
  readonly getActivePods: () => readonly ValidPod[];
  readonly containerGC: ContainerGC;
  readonly imageGC: ImageGCManager | undefined;
  readonly podEvicted: (signal: string) => void;
  readonly eventRecorder: EventRecorder;
}

/**
 * Undefined if there is nothing to measure.
 * @throws StatusManagerError INVALID_OPTION
 */
export function createEvictionManager(sources: EvictionSources): EvictionManager | undefined {
  const { runtime, volumeManager, eviction, statuses, podWorkers, eventRecorder, clock, logger } = sources;
  const isMeasured = runtime.listPodStats !== undefined || volumeManager?.getPodVolumeStats !== undefined;
  const thresholds = parseThresholds(eviction ?? {});
  if (!isMeasured && thresholds.length === 0) return undefined;
  const { rootDirectory = '/var/lib/kubelet', pressureTransitionPeriodMs = 300_000 } = eviction ?? {};
  const { maxPodGracePeriodSeconds = 0 } = eviction ?? {};
  return new EvictionManager({
    ...sources,
    ...{ thresholds, pressureTransitionPeriodMs, maxPodGracePeriodSeconds },
    observe: (signal) => observe(sources, rootDirectory, signal),
    hasDedicatedImageFs: async (signal) =>
      eviction !== undefined &&
      hasDedicatedImageFs(await fileSystemInfo(systemFiles, rootDirectory), await imageFs(runtime, signal)),
    podUsage: podUsageReader(sources),
    evict: (pod, options, signal) => evictPod(pod, { ...options, signal, podWorkers, clock, logger, eventRecorder }),
    isTerminated: (uid) => statuses.isPodKnownTerminated(uid) || statuses.shouldPodContentBeRemoved(uid),
    reclaimDisk: async () => {
      await sources.containerGC.deleteAllUnusedContainers();
      await sources.imageGC?.deleteUnusedImages();
    },
  });
}

/** Source: kubelet `makeSignalObservations`. */
async function observe(
  { nodeName, runtime, clock }: EvictionSources,
  rootDirectory: string,
  signal: AbortSignal,
): Promise<Observations> {
  const [{ memory, rlimit }, nodefs, imagefs] = await Promise.all([
    nodeStats(nodeName, clock.now()),
    fileSystemInfo(systemFiles, rootDirectory),
    imageFs(runtime, signal),
  ]);
  const observations = new Map<EvictionSignal, Observation>();
  const set = (name: EvictionSignal, available: number | undefined, capacity: number | undefined): void => {
    if (available !== undefined && capacity !== undefined) observations.set(name, { available, capacity });
  };
  set('memory.available', memory?.availableBytes, (memory?.availableBytes ?? 0) + (memory?.workingSetBytes ?? 0));
  set('nodefs.available', nodefs.availableBytes, nodefs.capacityBytes);
  set('nodefs.inodesFree', nodefs.inodesFree, nodefs.inodes);
  set('imagefs.available', imagefs?.availableBytes, imagefs?.capacityBytes);
  set('imagefs.inodesFree', imagefs?.inodesFree, imagefs?.inodes);
  const { maxpid, curproc } = rlimit ?? {};
  set('pid.available', maxpid === undefined || curproc === undefined ? undefined : maxpid - curproc, maxpid);
  return observations;
}

async function imageFs(
  { imageFsStats }: EvictionSources['runtime'],
  signal: AbortSignal,
): Promise<FsStats | undefined> {
  return (await imageFsStats?.({ signal }))?.imageFs;
}

/**
 * Source: kubelet `HasDedicatedImageFs`.
 *
 * Divergence: the port does not show devices, so file systems are compared by size and number of inodes, which hardly
 * coincide on one machine. A third file system for containers is not distinguished from that of images.
 */
function hasDedicatedImageFs(nodefs: Partial<FsStats>, imagefs: FsStats | undefined): boolean {
  return imagefs?.capacityBytes !== undefined
    ? imagefs.capacityBytes !== nodefs.capacityBytes || imagefs.inodes !== nodefs.inodes
    : false;
}

/** Leaves out pods whose usage is unknown, and volumes of a pod that cannot be read. */
function podUsageReader({
  runtime,
  volumeManager,
  clock,
  logger,
}: EvictionSources): EvictionManagerOptions['podUsage'] {
  const failures = new FailureLog({ clock, logger, what: 'Reading the stats of the volumes of pods' });
  return async (pods, signal) => {
    const stats = new Map((await runtime.listPodStats?.({ signal }))?.map((one) => [one.podRef.uid, one]));
    let failed: [error: unknown, fields: object] | undefined;
    const usages = pods.map(async (pod): Promise<[string, PodUsage]> => {
      const volumeStats = await volumeManager?.getPodVolumeStats?.(pod, { signal }).catch((error: unknown) => {
        failed = [error, podFieldsOf(pod)];
        return undefined;
      });
      return [pod.metadata.uid, { stats: stats.get(pod.metadata.uid), volumeStats }];
    });
    const all = await Promise.all(usages);
    signal.throwIfAborted();
    if (failed === undefined) failures.succeeded();
    else failures.failed(...failed);
    return new Map(all.filter(([, usage]) => usage.stats !== undefined || usage.volumeStats !== undefined));
  };
}
