import { getPodFullName, isStaticPod } from '../../kube/pods/static-pods.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { MonotonicTimes } from '../../shared/time.ts';
import type { PodDeletionSafety, PodTermination } from '../../status-manager/pod-deletion-safety.ts';
import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import { OwnedPodScope } from '../owned-pod-scope.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';
import { isFinished, PodSyncStatus } from './pod-sync-status.ts';
import type { PodCache } from './pod-lifecycle-syncer.ts';
import { inspectPodWorker, type PodWorkerInspection, type PodWorkerSync } from './pod-worker-inspection.ts';
import { isStartedStaticPod } from './static-pod-starts.ts';

export interface PodSyncStatusesOptions {
  readonly podCache: Pick<PodCache, 'get'>;
  readonly clock: Pick<Clock, 'afterFunc' | 'now' | 'monotonicMs'>;
  readonly logger: Logger;
  /** Called with the time when a pod must be synced again, on the monotonic clock. */
  readonly onSyncDue: (dueMs: number) => void;
}

/**
 * Owns the records of all pods that have a worker or are remembered as finished. `PodWorkers` and its loop move a pod
 * through its lifecycle; all other code only reads. It exists before the workers, because the status manager asks it when a
 * pod may be deleted, and the workers' syncer sets statuses. Source: kubelet `podWorkers.podSyncStatuses`.
 */
export class PodSyncStatuses implements PodDeletionSafety {
  readonly #options: PodSyncStatusesOptions;
  readonly #statuses = new Map<string, PodSyncStatus>();
  #arePodsSynced = false;

  constructor(options: PodSyncStatusesOptions) {
    this.#options = options;
  }

  get(uid: string): PodSyncStatus | undefined {
    return this.#statuses.get(uid);
  }

  /** In the order in which the pods became known. */
  all(): PodSyncStatus[] {
    return [...this.#statuses.values()];
  }

  /** A pod that is seen for the first time. */
  add(uid: string, pod: Pod): PodSyncStatus {
    const { podCache, clock, logger } = this.#options;
    const cached = isPodPhaseTerminal(pod.status?.phase) ? podCache.get(uid) : undefined;
    const endedPhase = isPodPhaseTerminal(pod.status?.phase) ? pod.status?.phase : undefined;
    const status = new PodSyncStatus(
      { uid, fullName: getPodFullName(pod), scope: new OwnedPodScope({ pod, clock, logger }), endedPhase },
      // The pod ended before the agent was restarted.
      cached !== undefined && !isAnythingRunning(cached)
        ? { state: 'terminated', sinceMs: clock.monotonicMs(), isFinished: false }
        : { state: 'syncing' },
    );
    this.#statuses.set(uid, status);
    return status;
  }

  /** Drops the record of the pod, and closes its scope. */
  forget(status: PodSyncStatus): void {
    if (this.#statuses.get(status.uid) === status) this.#statuses.delete(status.uid);
    void status.scope.close();
  }

  /** Called when the workers know the pods of all sources and of the runtime: from now on, an unknown pod is gone. */
  podsSynced(): void {
    this.#arePodsSynced = true;
  }

  /** The pods that have a worker, or are remembered as finished. */
  knownPods(desired: ReadonlySet<string>): Map<string, PodWorkerSync> {
    const workers = new Map<string, PodWorkerSync>();
    for (const [uid, status] of this.#statuses) {
      const pod = (status.activeUpdate ?? status.pendingUpdate)?.pod;
      workers.set(uid, {
        state: status.lifecycle.state,
        isOrphan: !desired.has(uid),
        hasConfig: pod !== undefined,
        isStatic: pod !== undefined && isStaticPod(pod),
      });
    }
    return workers;
  }

  /** Returns the UIDs of the pods that must be synced now, each once: call `updatePod` for them. Source: kubelet `GetWork`. */
  getWork(): string[] {
    const nowMs = this.#options.clock.monotonicMs();
    const due = [...this.#statuses.values()].filter(({ nextSyncMs = Infinity }) => nextSyncMs <= nowMs);
    for (const status of due) status.nextSyncMs = undefined;
    return due.map(({ uid }) => uid);
  }

  /** The time when `getWork` next returns a pod, on the monotonic clock; Infinity if none is due. */
  nextWorkMs(): number {
    let nextMs = Infinity;
    for (const { nextSyncMs = Infinity } of this.#statuses.values()) nextMs = Math.min(nextMs, nextSyncMs);
    return nextMs;
  }

  /** From this time on, `getWork` returns the pod. Source: kubelet `WorkQueue.Enqueue`. */
  enqueue(status: PodSyncStatus, dueMs: number): void {
    status.nextSyncMs = dueMs;
    this.#options.onSyncDue(dueMs);
  }

  /** All containers of the pod have stopped and its worker has ended. kubelet: `IsPodKnownTerminated`. */
  isPodKnownTerminated(uid: string): boolean {
    return this.#statuses.get(uid)?.lifecycle.state === 'terminated';
  }

  /** True unless the pod is terminated, or unknown after `podsSynced`. */
  couldHaveRunningContainers(uid: string): boolean {
    const status = this.#statuses.get(uid);
    return status === undefined ? !this.#arePodsSynced : status.lifecycle.state !== 'terminated';
  }

  /** For the option `podDeletionSafety` of a `StatusManager`. */
  podCouldHaveRunningContainers({ metadata }: Pod): boolean {
    return this.couldHaveRunningContainers(metadata?.uid ?? '');
  }

  /** The pods whose containers are being stopped. */
  terminations(): PodTermination[] {
    const times = new MonotonicTimes(this.#options.clock);
    return [...this.#statuses.values()].flatMap(({ uid, lifecycle, failures }) => {
      if (lifecycle.state !== 'terminating') return [];
      // 0: not determined yet.
      const gracePeriodSeconds = Math.max(lifecycle.gracePeriodSeconds, 1);
      return [
        {
          podUID: uid,
          since: times.format(lifecycle.sinceMs),
          gracePeriodSeconds,
          gracePeriodEndsAt: times.format(lifecycle.sinceMs + gracePeriodSeconds * 1000),
          hasRunningContainers: hasRunningContainers(this.#options.podCache.get(uid)),
          lastError: failures?.reason,
        },
      ];
    });
  }

  /** True when nothing is left to do for the pod. */
  shouldPodBeFinished(uid: string): boolean {
    const status = this.#statuses.get(uid);
    return status === undefined ? this.#arePodsSynced : isFinished(status);
  }

  /** The pod is terminating or terminated. kubelet: `IsPodTerminationRequested`. */
  isPodTerminationRequested(uid: string): boolean {
    const status = this.#statuses.get(uid);
    return status !== undefined && status.lifecycle.state !== 'syncing';
  }

  /** True when the pod's sandboxes and containers may be removed from the runtime. */
  shouldPodRuntimeBeRemoved(uid: string): boolean {
    const status = this.#statuses.get(uid);
    return status === undefined ? this.#arePodsSynced : status.lifecycle.state === 'terminated';
  }

  /** True when all data of the pod on the node may be removed. */
  shouldPodContentBeRemoved(uid: string): boolean {
    const status = this.#statuses.get(uid);
    if (status === undefined) return this.#arePodsSynced;
    return status.isEvicted || (status.isDeleted && status.lifecycle.state === 'terminated');
  }

  /** True while the static pod of this name is being terminated; its mirror pod must wait. */
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean {
    return [...this.#statuses.values()].some(
      (status) =>
        status.fullName === fullName && isStartedStaticPod(status) && status.lifecycle.state === 'terminating',
    );
  }

  /** A snapshot with one entry for each pod. */
  inspect(): PodWorkerInspection[] {
    const times = new MonotonicTimes(this.#options.clock);
    return Array.from(this.#statuses.values(), (status) => inspectPodWorker(status, times));
  }
}

/** Source: kubelet `isPodStatusCacheTerminal`, negated. */
function isAnythingRunning(status: RuntimePodStatus): boolean {
  return hasRunningContainers(status) || status.sandboxes.some(({ ready }) => ready);
}

/** True if the pod has not been observed yet. */
function hasRunningContainers(status: RuntimePodStatus | undefined): boolean {
  return status?.containers.some(({ state }) => state === 'running') ?? true;
}
