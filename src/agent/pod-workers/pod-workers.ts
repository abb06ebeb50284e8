import {
  getPodFullName,
  isPodPhaseTerminal,
  isStaticPod,
  type Pod,
  type PodDeletionSafety,
  StatusManagerError,
} from '../../index.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';
import {
  calculateEffectiveGracePeriod,
  newPodSyncStatus,
  type PodSyncStatus,
  terminatingSince,
} from './pod-sync-status.ts';
import { PodWorkerLoop } from './pod-worker-loop.ts';
import {
  inspectPodWorker,
  type PodWorkerInspection,
  type PodWorkersOptions,
  type PodWorkerSync,
} from './pod-workers-options.ts';
import { toAPIPod, type UpdatePodOptions } from './pod-update.ts';
import { requireDuration } from './require-duration.ts';
import { StaticPodStarts } from './static-pod-starts.ts';
import { podFields } from '../log-fields.ts';

/**
 * One worker for each pod, which does one thing at a time and takes it through its life: `syncing`,
 * `terminating`, `terminated` (see `PodLifecycle`). An update that comes while the worker is busy
 * waits, and the newest one replaces those before it; what it asked for is not lost, because a request
 * to end moves the pod to `terminating` immediately. A pod that is done is remembered until
 * `syncKnownPods` no longer finds it among the desired ones, so that it cannot start again.
 *
 * Methods are synchronous. Nothing here sets a timer. Source: kubelet `podWorkers`.
 *
 * Divergence: a sync that is under way is told to stop (`signal`) when the pod is to end, and also
 * when it is terminating already and its grace period becomes shorter. The kubelet finishes the first
 * and lets the second wait for the longer period.
 */
export class PodWorkers implements PodDeletionSafety {
  readonly #options: PodWorkersOptions;
  readonly #loop: PodWorkerLoop;
  readonly #statuses = new Map<string, PodSyncStatus>();
  readonly #staticPods = new StaticPodStarts();
  #arePodsSynced = false;

  /** @throws StatusManagerError INVALID_OPTION unless the intervals are positive */
  constructor(options: PodWorkersOptions) {
    requireDuration('resyncIntervalMs', options.resyncIntervalMs);
    requireDuration('backOffPeriodMs', options.backOffPeriodMs);
    this.#options = options;
    this.#loop = new PodWorkerLoop({
      ...options,
      statuses: this.#statuses,
      staticPods: this.#staticPods,
      onForget: ({ uid }) => this.#statuses.delete(uid),
    });
  }

  /**
   * Tells the pod's worker what the pod is like now, or that it has to end. Nothing is done for a pod
   * that has finished, nor for a pod of the runtime alone with a type other than `kill`.
   * @throws StatusManagerError INVALID_ARGUMENT when it has neither `pod` nor `runningPod`
   */
  updatePod(options: UpdatePodOptions): void {
    const { updateType, mirrorPod, killPodOptions } = options;
    const runningPod = options.pod === undefined ? options.runningPod : undefined;
    const identity = options.pod ?? (runningPod && toAPIPod(runningPod));
    const uid = identity?.metadata?.uid;
    if (identity === undefined || uid === undefined) {
      throw new StatusManagerError('INVALID_ARGUMENT', 'Expected `pod` or `runningPod` with a UID', { path: 'pod' });
    }
    if (runningPod !== undefined && updateType !== 'kill') {
      const fields = { ...podFields(identity), updateType };
      this.#options.logger.info(fields, 'Ignored an update: pods that only the runtime knows can only be killed');
      return;
    }

    const known = this.#statuses.get(uid);
    const status = known ?? this.#add(uid, identity);
    // A pod that was found in the runtime may be known from elsewhere, and is then killed as that one.
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

    if (known === undefined && isStaticPod(pod)) this.#staticPods.wait(status.fullName, uid);
    const runningOnly = knownPod === undefined ? runningPod : undefined;
    const { allocationManager } = this.#options;
    const allocated =
      knownPod && allocationManager ? allocationManager.updatePodFromAllocation(knownPod).pod : knownPod;
    this.#loop.notify(status, { updateType, pod: allocated, mirrorPod, runningPod: runningOnly });
    if (becameTerminating || isShortened) status.abortController?.abort();
  }

  /**
   * Removes the workers of pods that are done and not desired any more, or were created again with the
   * same UID, and terminates those of pods that are not desired. Call it periodically, but not before
   * all sources of pods have been seen. Source: kubelet `SyncKnownPods`.
   */
  syncKnownPods(desiredPods: Iterable<Pod>): Map<string, PodWorkerSync> {
    const desired = new Set<string | undefined>();
    for (const { metadata } of desiredPods) desired.add(metadata?.uid);
    this.#arePodsSynced = true;

    const workers = new Map<string, PodWorkerSync>();
    for (const [uid, status] of [...this.#statuses]) {
      const isOrphan = !desired.has(uid);
      if ((status.isRestartRequested || isOrphan) && this.#removeTerminatedWorker(status, isOrphan)) continue;
      const pod = (status.activeUpdate ?? status.pendingUpdate)?.pod;
      workers.set(uid, {
        state: status.lifecycle.state,
        isOrphan,
        hasConfig: pod !== undefined,
        isStatic: pod !== undefined && isStaticPod(pod),
      });
    }
    return workers;
  }

  /** All containers of the pod have stopped and its worker has ended. kubelet: `IsPodKnownTerminated`. */
  isPodKnownTerminated(uid: string): boolean {
    return this.#statuses.get(uid)?.lifecycle.state === 'terminated';
  }

  /** True unless the pod is terminated, or all pods have been seen and it was not among them. */
  couldHaveRunningContainers(uid: string): boolean {
    const status = this.#statuses.get(uid);
    return status === undefined ? !this.#arePodsSynced : status.lifecycle.state !== 'terminated';
  }

  /** For the option `podDeletionSafety` of a `StatusManager`. */
  podCouldHaveRunningContainers({ metadata }: Pod): boolean {
    return this.couldHaveRunningContainers(metadata?.uid ?? '');
  }

  /** True when nothing of the pod is left to do. */
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

  /** True when everything that the pod has on the node may be removed. */
  shouldPodContentBeRemoved(uid: string): boolean {
    const status = this.#statuses.get(uid);
    if (status === undefined) return this.#arePodsSynced;
    return status.isEvicted || (status.isDeleted && status.lifecycle.state === 'terminated');
  }

  /** True while the static pod that runs under the name is being terminated: its mirror pod has to wait. */
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean {
    const uid = this.#staticPods.started.get(fullName);
    return uid !== undefined && this.#statuses.get(uid)?.lifecycle.state === 'terminating';
  }

  /**
   * Ends the work of all workers and leaves the containers as they are; later updates do nothing.
   * Resolves when no sync is under way.
   */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** A snapshot with one entry for each pod. */
  inspect(): PodWorkerInspection[] {
    return [...this.#statuses.values()].map(inspectPodWorker);
  }

  /** The UIDs of the static pods that run and that wait, by full name. */
  inspectStaticPods(): Pick<StaticPodStarts, 'started' | 'waiting'> {
    const { started, waiting } = this.#staticPods;
    return { started: new Map(started), waiting: new Map(waiting) };
  }

  #add(uid: string, pod: Pod): PodSyncStatus {
    const cached = isPodPhaseTerminal(pod.status?.phase) ? this.#options.podCache.get(uid) : undefined;
    const status = newPodSyncStatus(
      uid,
      getPodFullName(pod),
      // The agent was restarted, and the pod had ended before that.
      cached !== undefined && !isAnythingRunning(cached)
        ? { state: 'terminated', sinceMs: this.#options.clock.now(), isStarted: true, isFinished: false }
        : { state: 'syncing' },
    );
    this.#statuses.set(uid, status);
    return status;
  }

  /** Moves a pod that is syncing to `terminating` if the update says so. True when it does. */
  #requestTermination(status: PodSyncStatus, pod: Pod, options: UpdatePodOptions): boolean {
    if (status.lifecycle.state !== 'syncing') return false;
    if (options.pod === undefined || pod.metadata?.deletionTimestamp != null) status.isDeleted = true;
    else if (!isPodPhaseTerminal(pod.status?.phase)) {
      if (options.updateType !== 'kill') return false;
      if (options.killPodOptions?.evict === true) status.isEvicted = true;
    }
    status.lifecycle = terminatingSince(this.#options.clock.now());
    return true;
  }

  /** True when the pod is forgotten. Source: kubelet `removeTerminatedWorker`. */
  #removeTerminatedWorker(status: PodSyncStatus, isOrphan: boolean): boolean {
    if (!isFinished(status)) {
      if (!isOrphan) return false;
      status.isDeleted = true;
      if (status.hasStarted || status.isObservedRuntime) {
        if (status.lifecycle.state === 'syncing') this.#terminateOrphan(status);
        this.#loop.requeueLastPodUpdate(status);
        return false;
      }
    }
    this.#statuses.delete(status.uid);
    this.#options.workQueue.forget(status.uid);
    return true;
  }

  #terminateOrphan(status: PodSyncStatus): void {
    const lifecycle = terminatingSince(this.#options.clock.now());
    lifecycle.gracePeriodSeconds = calculateEffectiveGracePeriod(0, status.activeUpdate?.pod ?? {});
    status.lifecycle = lifecycle;
    status.abortController?.abort();
  }
}

function isFinished({ lifecycle }: PodSyncStatus): boolean {
  return lifecycle.state === 'terminated' && lifecycle.isFinished;
}

/** Source: kubelet `isPodStatusCacheTerminal`, negated. */
function isAnythingRunning({ containers, sandboxes }: RuntimePodStatus): boolean {
  return containers.some(({ state }) => state === 'running') || sandboxes.some(({ ready }) => ready);
}
