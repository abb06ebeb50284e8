import type { AllocationManager } from '../allocation/allocation-manager.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { BasicPodManager } from '../../kube/pod-manager/basic-pod-manager.ts';
import { isStaticPod } from '../../kube/pods/static-pods.ts';
import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import type { ValidPod, Pod } from '../../kube/objects/types.ts';
import type { RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { toAPIPod } from '../pod-workers/update-pod-options.ts';
import type { PodWorkerSync } from '../pod-workers/pod-worker-inspection.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import type { RuntimePod } from '../runtime/container-runtime.ts';
import { filterOutInactivePods } from './active-pods.ts';
import type { PodWorkerState } from '../pod-workers/pod-sync-status.ts';
import type { PodDispatcher } from './pod-dispatcher.ts';

/** The pods that are left, by UID. */
interface RemainingPods {
  /** Pods that the agent should have. */
  readonly desired: ReadonlySet<string>;
  /** Pods and mirror pods that the agent should have, that have a worker, or that run. */
  readonly existing: ReadonlySet<string>;
  readonly orphanedMirrorPods: readonly ValidPod[];
}

/** The parts that remember something about a pod outside of its worker's record; each says why. */
export interface OrphanedPodsParticipants {
  readonly statusManager: Pick<StatusManagerLike, 'removeOrphanedStatuses'>;
  readonly allocationManager: Pick<AllocationManager, 'removeOrphanedPods'>;
  readonly podSyncer: { removeOrphanedPods(desired: ReadonlySet<string>): void };
  /** Default: there are no folders of pods. */
  readonly orphanedPodDirs?: { cleanUp(existing: Pick<ReadonlySet<string>, 'has'>): void } | undefined;
  /** Default: there are no mirror pods. */
  readonly mirrorPods?:
    | { deleteOrphans(orphans: readonly ValidPod[], isTerminating: (fullName: string) => boolean): void }
    | undefined;
  readonly podWorkers: Pick<PodWorkers, 'statuses'>;
  readonly logger: Logger;
}

export interface PodCleanupsOptions extends OrphanedPodsParticipants {
  readonly podManager: BasicPodManager;
  readonly podWorkers: PodWorkers;
  readonly dispatcher: Pick<PodDispatcher, 'isRejected'>;
  readonly statusManager: Pick<StatusManagerLike, 'getPodStatus' | 'removeOrphanedStatuses'>;
  /** The pods of the runtime; rejects if it cannot list them. */
  readonly listPods: (signal: AbortSignal) => Promise<readonly RuntimePod[]>;
  /** Default: nothing is measured. */
  readonly recordMetric?: RecordKubeletMetric | undefined;
}

/** An orphan has no spec, so its grace period is unknown. */
const orphanGracePeriodSeconds = 1;

/**
 * Housekeeping: reconciles the pod workers and other data of the agent with the desired pods. Rejects if the runtime cannot
 * list its pods; the next call tries again. Only the list is awaited. Everything else is done synchronously after it, so the
 * sync loop does not wait for the runtime. One call at a time.
 *
 * 1. Workers of pods that are gone are terminated, and removed when they have finished.
 * 2. What else is left of pods that are gone is removed: see `OrphanedPodsParticipants`.
 * 3. Pods that should run and have no worker get one: static pods that were added again with the same UID.
 * 4. Pods that have ended, are deleted and were never started are finished.
 * 5. Pods that only the runtime knows are killed.
 *
 * Divergence: the kubelet's sync loop waits for the list, and for the removal of folders. Until a list has succeeded, a pod
 * without a worker could have running containers; the kubelet writes the terminal phase of a rejected pod whose containers have
 * outlived a restart, and deletes it, while its runtime does not respond. A rejected pod is never started;
 * the kubelet starts it if its status was dropped because another pod now has its name. Source: kubelet `HandlePodCleanups`.
 */
export async function handlePodCleanups(options: PodCleanupsOptions, signal: AbortSignal): Promise<void> {
  const { podManager, podWorkers, dispatcher, statusManager, listPods, recordMetric, logger } = options;
  const { statuses } = podWorkers;
  const workersBefore = podWorkers.syncKnownPods(podManager.getPods());
  // Listed after the workers, so that a pod that has just ended does not look like an orphan.
  const runningPods = (await listPods(signal)).filter(isRunning);
  signal.throwIfAborted();

  // No await from here on: whatever only the runtime knows has a worker at the end. Pods may have been added since, and may have
  // ended.
  statuses.podsSynced();
  const { pods, mirrorPods, orphanedMirrorPods } = podManager.getPodsAndMirrorPods();
  const desired = new Set(pods.map(uidOf));
  const workers = statuses.knownPods(desired);
  const existing = [...[...pods, ...mirrorPods].map(uidOf), ...workers.keys(), ...runningPods.map(({ uid }) => uid)];
  removeOrphanedPods({ desired, existing: new Set(existing), orphanedMirrorPods }, options);

  const active = filterOutInactivePods(pods, { statuses, podStatusProvider: statusManager });
  const restarted = active.filter((pod) => !workers.has(uidOf(pod)) && !dispatcher.isRejected(uidOf(pod)));
  for (const pod of restarted) {
    logger.info(
      podFieldsOf(pod),
      'Pod will be restarted because it is in the desired set and not known to the pod workers',
    );
    podWorkers.updatePod({ updateType: 'create', pod, mirrorPod: podManager.getMirrorPodByPod(pod) });
    workers.set(uidOf(pod), { state: 'syncing', isOrphan: false, hasConfig: true, isStatic: isStaticPod(pod) });
  }
  for (const pod of terminalPodsToDelete(pods, runningPods, workers))
    podWorkers.updatePod({ updateType: 'kill', pod, mirrorPod: podManager.getMirrorPodByPod(pod) });
  const orphaned = runningPods.filter(({ uid }) => !workersBefore.has(uid) && !workers.has(uid));
  for (const runningPod of orphaned) {
    logger.info(podFieldsOf(toAPIPod(runningPod)), 'Killing orphaned pod that only the runtime knows');
    const killPodOptions = { podTerminationGracePeriodSecondsOverride: orphanGracePeriodSeconds };
    podWorkers.updatePod({ updateType: 'kill', runningPod, killPodOptions });
    workers.set(runningPod.uid, { state: 'terminating', isOrphan: true, hasConfig: false, isStatic: false });
  }
  const counts = { desired: pods, active, mirrorPods, restarted, orphaned: orphaned.length, workers: workers.values() };
  if (recordMetric !== undefined) recordPodCounts(recordMetric, counts);
}

/**
 * Removes everything that is left of pods that are gone; folders are removed in the background. A failure is logged; the
 * next housekeeping tries again.
 */
export function removeOrphanedPods(
  { desired, existing, orphanedMirrorPods }: RemainingPods,
  {
    statusManager,
    allocationManager,
    podSyncer,
    orphanedPodDirs,
    mirrorPods,
    podWorkers,
    logger,
  }: OrphanedPodsParticipants,
): void {
  const { statuses } = podWorkers;
  const removals: readonly (() => void)[] = [
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

/** Source: kubelet `filterTerminalPodsToDelete`. */
function terminalPodsToDelete(
  pods: readonly ValidPod[],
  runningPods: readonly RuntimePod[],
  workers: ReadonlyMap<string, PodWorkerSync>,
): ValidPod[] {
  const running = new Set(runningPods.map(({ uid }) => uid));
  return pods.filter(
    ({ metadata, status }) =>
      metadata?.deletionTimestamp != null &&
      isPodPhaseTerminal(status?.phase) &&
      !workers.has(metadata.uid) &&
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

/** What one housekeeping found and did. */
interface PodCounts {
  readonly desired: readonly Pod[];
  readonly active: readonly Pod[];
  readonly mirrorPods: readonly Pod[];
  readonly restarted: readonly Pod[];
  /** Pods that only the runtime knew. */
  readonly orphaned: number;
  /** The workers of all pods, including restarted and orphaned ones. */
  readonly workers: Iterable<PodWorkerSync>;
}

/** The label `lifecycle`. Source: kubelet `PodWorkerState.String`. */
const lifecycles: Readonly<Record<PodWorkerState, string>> = {
  syncing: 'sync',
  terminating: 'terminating',
  terminated: 'terminated',
};

const staticLabels = ['', 'true'] as const;

/** Sets the gauges of pods, and counts restarted and orphaned ones. Source: kubelet `HandlePodCleanups`. */
function recordPodCounts(
  recordMetric: RecordKubeletMetric,
  { desired, active, mirrorPods, restarted, orphaned, workers }: PodCounts,
): void {
  for (const label of staticLabels) {
    const count = (pods: readonly Pod[]): number =>
      pods.filter((pod) => staticLabel(isStaticPod(pod)) === label).length;
    recordMetric('desired_pods', count(desired), label);
    recordMetric('active_pods', count(active), label);
    recordMetric('restarted_pods_total', count(restarted), label);
  }
  recordMetric('mirror_pods', mirrorPods.length);
  recordMetric('orphaned_runtime_pods_total', orphaned);

  const working = new Map<string, number>();
  for (const worker of workers) {
    const key = workerKey(lifecycles[worker.state], ...labelsOf(worker));
    working.set(key, (working.get(key) ?? 0) + 1);
  }
  const kinds = ['desired', 'orphan'].flatMap((config) => staticLabels.map((label) => [config, label] as const));
  for (const lifecycle of Object.values(lifecycles)) {
    for (const [config, label] of [...kinds, ['runtime_only', 'unknown'] as const])
      recordMetric('working_pods', working.get(workerKey(lifecycle, config, label)) ?? 0, lifecycle, config, label);
  }
}

function staticLabel(isStatic: boolean): (typeof staticLabels)[number] {
  return isStatic ? 'true' : '';
}

/** The labels `config` and `static` of a worker. */
function labelsOf({ hasConfig, isOrphan, isStatic }: PodWorkerSync): [config: string, static_: string] {
  if (!hasConfig) return ['runtime_only', 'unknown'];
  return [isOrphan ? 'orphan' : 'desired', staticLabel(isStatic)];
}

function workerKey(...labels: readonly string[]): string {
  return labels.join('/');
}
