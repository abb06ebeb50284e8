import type { BasicPodManager } from '../../kube/basic-pod-manager.ts';
import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { ValidPod } from '../../kube/types.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import { podFieldsOf } from '../../kube/log-fields.ts';
import type { MirrorPods } from '../mirror/mirror-pods.ts';
import type { VolumeManager } from '../pod-workers/agent-pod-syncer.ts';
import { toAPIPod } from '../pod-workers/pod-update.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { ProberManager } from '../prober/prober-manager.ts';
import type { ContainerRuntime, RuntimePod } from '../runtime/container-runtime.ts';
import { filterOutInactivePods } from './active-pods.ts';

export interface PodCleanupsOptions {
  readonly podManager: BasicPodManager;
  readonly podWorkers: PodWorkers;
  readonly statusManager: Pick<StatusManagerLike, 'getPodStatus' | 'removeOrphanedStatuses'>;
  /** A runtime whose calls have a time-out: see `boundedRuntime`. */
  readonly runtime: Pick<ContainerRuntime, 'listPods'>;
  readonly probeManager: Pick<ProberManager, 'cleanupPods'>;
  /** Default: there are no mirror pods. */
  readonly mirrorPods?: Pick<MirrorPods, 'deleteOrphans'> | undefined;
  /** Removes stored data of all pods except these. */
  readonly removeOrphanedPods: (remainingPodUIDs: ReadonlySet<string>) => void;
  /** Removes the folders of all pods except these. Default: there are none. */
  readonly cleanupOrphanedPodDirs?: VolumeManager['cleanupOrphanedPodDirs'];
  /** Removes expired back-off entries. */
  readonly gcBackOffs: () => void;
  readonly logger: Logger;
}

/** An orphan has no spec, so its grace period is unknown. */
const orphanGracePeriodSeconds = 1;

/**
 * Housekeeping: reconciles the pod workers and other data of the agent with the desired pods. The sync
 * loop calls it when all sources are ready, and does nothing else until it is done. Rejects if the
 * runtime cannot list its pods; the next call tries again.
 *
 * 1. Workers of pods that are gone are terminated, and removed when they have finished.
 * 2. Probes, statuses, allocations and mirror pods of pods that are gone are removed.
 * 3. Pods that should run and have no worker get one: static pods that were added again with the same UID.
 * 4. Pods that have ended, are deleted and were never started are finished.
 * 5. Pods that only the runtime knows are killed.
 * 6. Folders of pods that are gone are removed.
 *
 * Source: kubelet `HandlePodCleanups`.
 */
export async function handlePodCleanups(options: PodCleanupsOptions, signal: AbortSignal): Promise<void> {
  const { podManager, podWorkers, statusManager, runtime, probeManager, mirrorPods, logger } = options;
  const { pods, orphanedMirrorPods, mirrorPods: allMirrorPods } = podManager.getPodsAndMirrorPods();
  const workers = podWorkers.syncKnownPods(pods);
  const known = new Set(workers.keys());
  const possiblyRunning = [...workers].filter(([, { state }]) => state !== 'terminated').map(([uid]) => uid);

  // Listed after the workers, so that a pod that has just ended does not look like an orphan.
  const runningPods = (await runtime.listPods({ signal })).filter(isRunning);

  probeManager.cleanupPods(possiblyRunning);
  // Divergence: the kubelet also drops the statuses of removed pods whose workers are still ending them.
  statusManager.removeOrphanedStatuses([...[...pods, ...allMirrorPods].map(uidOf), ...known]);
  options.removeOrphanedPods(new Set(pods.map(uidOf)));
  mirrorPods?.deleteOrphans(orphanedMirrorPods, (name) => podWorkers.isPodForMirrorPodTerminatingByFullName(name));

  for (const pod of filterOutInactivePods(pods, { podWorkers, podStatusProvider: statusManager })) {
    if (known.has(uidOf(pod))) continue;
    logger.info(
      podFieldsOf(pod),
      'Pod will be restarted because it is in the desired set and not known to the pod workers',
    );
    podWorkers.updatePod({ updateType: 'create', pod, mirrorPod: podManager.getMirrorPodByPod(pod) });
    known.add(uidOf(pod));
  }
  for (const pod of terminalPodsToDelete(pods, runningPods, known)) {
    podWorkers.updatePod({ updateType: 'kill', pod, mirrorPod: podManager.getMirrorPodByPod(pod) });
    known.add(uidOf(pod));
  }
  for (const runningPod of runningPods) {
    if (known.has(runningPod.uid)) continue;
    logger.info(podFieldsOf(toAPIPod(runningPod)), 'Killing orphaned pod that only the runtime knows');
    const killPodOptions = { podTerminationGracePeriodSecondsOverride: orphanGracePeriodSeconds };
    podWorkers.updatePod({ updateType: 'kill', runningPod, killPodOptions });
  }
  options.gcBackOffs();
  const existing = new Set([...pods.map(uidOf), ...known, ...runningPods.map(({ uid }) => uid)]);
  try {
    await options.cleanupOrphanedPodDirs?.(existing, { signal });
  } catch (thrown) {
    if (!signal.aborted) logger.warn({ reason: reasonOf(thrown) }, 'Failed to remove the folders of orphaned pods');
  }
}

/** Source: kubelet `filterTerminalPodsToDelete`. */
function terminalPodsToDelete(
  pods: readonly ValidPod[],
  runningPods: readonly RuntimePod[],
  known: ReadonlySet<string>,
): ValidPod[] {
  const running = new Set(runningPods.map(({ uid }) => uid));
  return pods.filter(
    ({ metadata, status }) =>
      metadata?.deletionTimestamp != null &&
      isPodPhaseTerminal(status?.phase) &&
      !known.has(metadata.uid) &&
      !running.has(metadata.uid),
  );
}

/** Source: kubelet `GetPods(all: false)`. */
function isRunning({ sandboxes = [], containers }: RuntimePod): boolean {
  return sandboxes.some(({ ready }) => ready) || containers.some(({ state }) => state === 'running');
}

function uidOf({ metadata }: ValidPod): string {
  return metadata.uid;
}
