import { getPodFullName, isStaticPod } from '../../kube/static-pods.ts';
import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import type { Pod, ValidPod } from '../../kube/types.ts';
import { MonotonicTimes } from '../../shared/time.ts';
import type { PodDeletionSafety, PodTermination } from '../../status-manager/pod-deletion-safety.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';
import {
  calculateEffectiveGracePeriod,
  isFinished,
  newPodSyncStatus,
  type PodSyncStatus,
  terminatingSince,
} from './pod-sync-status.ts';
import { OwnedPodScope } from '../owned-pod-scope.ts';
import { PodWorkerLoop } from './pod-worker-loop.ts';
import {
  inspectPodWorker,
  type PodWorkerInspection,
  type PodWorkersOptions,
  type PodWorkerSync,
} from './pod-workers-options.ts';
import type { PodLifecycleSyncer } from './pod-syncer.ts';
import { toAPIPod, type UpdatePodOptions } from './pod-update.ts';
import { isStartedStaticPod } from './static-pod-starts.ts';
import { podFieldsOf } from '../../kube/log-fields.ts';

/**
 * One worker for each pod, which does one thing at a time and moves the pod through its lifecycle:
 * `syncing`, `terminating`, `terminated` (see `PodLifecycle`). An update waits while the worker is busy,
 * and is replaced by a newer one. A kill request is never lost, because it moves the pod to `terminating`
 * immediately. A finished pod is remembered until `syncKnownPods` no longer finds it among the desired
 * pods, so that it cannot start again.
 *
 * Methods are synchronous. Nothing here sets a timer. Source: kubelet `podWorkers`.
 *
 * Divergence: a sync in progress is aborted (`signal`) when the pod must be terminated, and also if the
 * grace period becomes shorter while the pod is terminating. The kubelet finishes the sync in the first
 * case, and waits for the longer period in the second.
 */
export class PodWorkers implements PodDeletionSafety {
  readonly #options: PodWorkersOptions;
  readonly #loop: PodWorkerLoop;
  readonly #statuses = new Map<string, PodSyncStatus>();
  #podSyncer: PodLifecycleSyncer | undefined;
  #arePodsSynced = false;

  constructor(options: PodWorkersOptions) {
    this.#options = options;
    this.#loop = new PodWorkerLoop({
      ...options,
      podSyncer: () => this.#connected(),
      statuses: this.#statuses,
    });
  }

  /**
   * Sets what the workers do with pods. Call it once, before `updatePod`. It is not an option, because the syncer needs
   * the status manager, which needs the workers as its `podDeletionSafety`.
   */
  connect(podSyncer: PodLifecycleSyncer): void {
    this.#podSyncer = podSyncer;
  }

  /**
   * Passes the current pod, or a kill request, to the pod's worker. Does nothing for a finished pod, or
   * for a type other than `kill` if only the runtime knows the pod.
   * @throws StatusManagerError INVALID_ARGUMENT if it has neither `pod` nor `runningPod`
   */
  updatePod(options: UpdatePodOptions): void {
    const { updateType, mirrorPod, killPodOptions } = options;
    const runningPod = options.pod === undefined ? options.runningPod : undefined;
    const identity = options.pod ?? (runningPod && toAPIPod(runningPod));
    if (identity === undefined) {
      throw new StatusManagerError('INVALID_ARGUMENT', 'Expected `pod` or `runningPod`', { path: 'pod' });
    }
    const { uid } = identity.metadata;
    if (runningPod !== undefined && updateType !== 'kill') {
      const fields = { ...podFieldsOf(identity), updateType };
      this.#options.logger.info(fields, 'Ignoring update: a pod that only the runtime knows can only be killed');
      return;
    }

    const known = this.#statuses.get(uid);
    const status = known ?? this.#add(uid, identity);
    // A pod that was found in the runtime may also be known from a source; then that pod is killed.
    const knownPod = options.pod ?? (status.pendingUpdate ?? status.activeUpdate)?.pod;
    const pod = knownPod ?? identity;
    if (runningPod !== undefined) status.isObservedRuntime = true;

    if (known !== undefined && known.lifecycle.state !== 'syncing' && updateType === 'create') {
      status.isRestartRequested = true;
      return;
    }
    if (isFinished(status)) {
      killPodOptions?.onCompleted?.();
      return;
    }

    const becameTerminating = this.#requestTermination(status, pod, options);
    let isShortened = false;
    const { lifecycle } = status;
    switch (lifecycle.state) {
      case 'terminated':
        if (runningPod !== undefined) return;
        killPodOptions?.onCompleted?.();
        break;
      case 'terminating': {
        const { onCompleted, podStatusFn, podTerminationGracePeriodSecondsOverride } = killPodOptions ?? {};
        if (onCompleted !== undefined) lifecycle.onCompleted.push(onCompleted);
        if (podStatusFn !== undefined) lifecycle.podStatusFn = podStatusFn;
        const before = lifecycle.gracePeriodSeconds;
        lifecycle.gracePeriodSeconds = calculateEffectiveGracePeriod(
          before,
          pod,
          podTerminationGracePeriodSecondsOverride,
        );
        isShortened = before !== 0 && before !== lifecycle.gracePeriodSeconds;
        break;
      }
      case 'syncing':
        killPodOptions?.onCompleted?.();
        break;
    }

    const runningOnly = knownPod === undefined ? runningPod : undefined;
    this.#loop.notify(status, { updateType, pod: knownPod, mirrorPod, runningPod: runningOnly });
    if (becameTerminating || isShortened) status.abortController?.abort();
  }

  /**
   * Removes the workers of finished pods that are not desired any more or were created again with the
   * same UID. Terminates running pods that are not desired. Call it periodically, but only after all pod
   * sources are ready. Source: kubelet `SyncKnownPods`.
   */
  syncKnownPods(desiredPods: Iterable<ValidPod>): Map<string, PodWorkerSync> {
    const desired = new Set<string>();
    for (const { metadata } of desiredPods) desired.add(metadata.uid);
    this.#arePodsSynced = true;

    for (const [uid, status] of [...this.#statuses]) {
      const isOrphan = !desired.has(uid);
      if (status.isRestartRequested || isOrphan) this.#removeTerminatedWorker(status, isOrphan);
    }
    return this.knownPods(desired);
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

  /** All containers of the pod have stopped and its worker has ended. kubelet: `IsPodKnownTerminated`. */
  isPodKnownTerminated(uid: string): boolean {
    return this.#statuses.get(uid)?.lifecycle.state === 'terminated';
  }

  /** True unless the pod is terminated, or unknown after all sources are ready. */
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

  /** True when no container of the pod may be started any more, and its worker knows. */
  shouldPodContainersBeTerminating(uid: string): boolean {
    const status = this.#statuses.get(uid);
    if (status === undefined) return this.#arePodsSynced;
    return status.lifecycle.state !== 'syncing' && status.lifecycle.isStarted;
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

  /**
   * Stops all workers without stopping containers; later updates do nothing. Resolves when no sync is in
   * progress.
   */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** A snapshot with one entry for each pod. */
  inspect(): PodWorkerInspection[] {
    const times = new MonotonicTimes(this.#options.clock);
    return Array.from(this.#statuses.values(), (status) => inspectPodWorker(status, times));
  }

  #connected(): PodLifecycleSyncer {
    if (this.#podSyncer === undefined)
      throw new StatusManagerError('INVALID_STATE', 'The pod workers are not connected');
    return this.#podSyncer;
  }

  #add(uid: string, pod: Pod): PodSyncStatus {
    const { podCache, clock, logger } = this.#options;
    const cached = isPodPhaseTerminal(pod.status?.phase) ? podCache.get(uid) : undefined;
    const status = newPodSyncStatus(
      { uid, fullName: getPodFullName(pod), scope: new OwnedPodScope({ pod, clock, logger }) },
      // The pod ended before the agent was restarted.
      cached !== undefined && !isAnythingRunning(cached)
        ? { state: 'terminated', sinceMs: clock.monotonicMs(), isStarted: true, isFinished: false }
        : { state: 'syncing' },
    );
    this.#statuses.set(uid, status);
    return status;
  }

  /** Moves a syncing pod to `terminating` if the update requires it. Returns true if it does. */
  #requestTermination(status: PodSyncStatus, pod: ValidPod, options: UpdatePodOptions): boolean {
    if (status.lifecycle.state !== 'syncing') return false;
    if (options.pod === undefined || pod.metadata.deletionTimestamp != null) status.isDeleted = true;
    else if (!isPodPhaseTerminal(pod.status?.phase)) {
      if (options.updateType !== 'kill') return false;
      if (options.killPodOptions?.evict === true) status.isEvicted = true;
    }
    status.lifecycle = terminatingSince(this.#options.clock.monotonicMs());
    // Failures to start containers no longer matter.
    status.failures = undefined;
    return true;
  }

  /** Returns true if the pod was forgotten. Source: kubelet `removeTerminatedWorker`. */
  #removeTerminatedWorker(status: PodSyncStatus, isOrphan: boolean): void {
    if (!isFinished(status)) {
      if (!isOrphan) return;
      status.isDeleted = true;
      if (status.hasStarted || status.isObservedRuntime) {
        if (status.lifecycle.state === 'syncing') this.#terminateOrphan(status);
        this.#loop.requeueLastPodUpdate(status);
        return;
      }
    }
    this.#statuses.delete(status.uid);
    void status.scope.close();
  }

  #terminateOrphan(status: PodSyncStatus): void {
    const lifecycle = terminatingSince(this.#options.clock.monotonicMs());
    lifecycle.gracePeriodSeconds = calculateEffectiveGracePeriod(0, status.activeUpdate?.pod ?? {});
    status.lifecycle = lifecycle;
    status.abortController?.abort();
  }
}

/** Source: kubelet `isPodStatusCacheTerminal`, negated. */
function isAnythingRunning(status: RuntimePodStatus): boolean {
  return hasRunningContainers(status) || status.sandboxes.some(({ ready }) => ready);
}

/** True also if the pod was not observed yet. */
function hasRunningContainers(status: RuntimePodStatus | undefined): boolean {
  return status?.containers.some(({ state }) => state === 'running') ?? true;
}
