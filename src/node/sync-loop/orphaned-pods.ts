import type { ValidPod } from '../../kube/objects/types.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import type { AllocationManager } from '../allocation/allocation-manager.ts';
import type { PodSyncStatuses } from '../pod-workers/pod-sync-statuses.ts';

/** The pods that are left, by UID. */
export interface RemainingPods {
  /** Pods that the agent should have. */
  readonly desired: ReadonlySet<string>;
  /** Pods whose worker has not terminated them. */
  readonly possiblyRunning: ReadonlySet<string>;
  /** Pods and mirror pods that the agent should have, that have a worker, or that run. */
  readonly existing: ReadonlySet<string>;
  readonly orphanedMirrorPods: readonly ValidPod[];
}

/** The parts that keep something of a pod which its worker's record does not have: each says there why. */
export interface OrphanedPodsParticipants {
  /** Default: nothing is probed. */
  readonly probeManager?: { cleanupPods(possiblyRunning: Iterable<string>): void } | undefined;
  readonly statusManager: Pick<StatusManagerLike, 'removeOrphanedStatuses'>;
  readonly allocationManager: Pick<AllocationManager, 'removeOrphanedPods'>;
  readonly podSyncer: { removeOrphanedPods(desired: ReadonlySet<string>): void };
  /** Default: there are no folders of pods. */
  readonly orphanedPodDirs?: { cleanUp(existing: Pick<ReadonlySet<string>, 'has'>): void } | undefined;
  /** Default: there are no mirror pods. */
  readonly mirrorPods?:
    | { deleteOrphans(orphans: readonly ValidPod[], isTerminating: (fullName: string) => boolean): void }
    | undefined;
  readonly statuses: Pick<
    PodSyncStatuses,
    'couldHaveRunningContainers' | 'isPodForMirrorPodTerminatingByFullName' | 'shouldPodContentBeRemoved'
  >;
  readonly logger: Logger;
}

/** Removes all that is left of pods that are gone, folders in the background. A failure is logged; the next housekeeping tries again. */
export function removeOrphanedPods(
  { desired, possiblyRunning, existing, orphanedMirrorPods }: RemainingPods,
  participants: OrphanedPodsParticipants,
): void {
  const { probeManager, statusManager, allocationManager, podSyncer } = participants;
  const { orphanedPodDirs, mirrorPods, statuses, logger } = participants;
  const removals: readonly (() => void)[] = [
    () => probeManager?.cleanupPods(possiblyRunning),
    // Divergence: the kubelet also drops the statuses of removed pods that are still being ended.
    () => statusManager.removeOrphanedStatuses(existing),
    () => allocationManager.removeOrphanedPods(desired),
    () => podSyncer.removeOrphanedPods(desired),
    () =>
      orphanedPodDirs?.cleanUp({
        // Pods are added while folders are being removed, and may be evicted while their containers run.
        has: (podUID) =>
          existing.has(podUID) ||
          !statuses.shouldPodContentBeRemoved(podUID) ||
          statuses.couldHaveRunningContainers(podUID),
      }),
    () =>
      mirrorPods?.deleteOrphans(orphanedMirrorPods, (name) => statuses.isPodForMirrorPodTerminatingByFullName(name)),
  ];
  for (const remove of removals) {
    try {
      remove();
    } catch (thrown) {
      logger.warn({ reason: reasonOf(thrown) }, 'Failed to remove what is left of orphaned pods');
    }
  }
}
