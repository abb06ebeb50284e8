import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import { calculateEffectiveGracePeriod, isFinished, type PodSyncStatus, terminatingSince } from './pod-sync-status.ts';
import type { PodSyncStatuses } from './pod-sync-statuses.ts';
import { PodWorkerLoop } from './pod-worker-loop.ts';
import type { PodWorkerSync } from './pod-worker-inspection.ts';
import type { PodWorkersOptions } from './pod-workers-options.ts';
import { toAPIPod, type UpdatePodOptions } from './update-pod-options.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';

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
export class PodWorkers {
  /** What is known of each pod. */
  readonly statuses: PodSyncStatuses;
  readonly #options: PodWorkersOptions;
  readonly #loop: PodWorkerLoop;

  constructor(options: PodWorkersOptions) {
    this.#options = options;
    this.statuses = options.statuses;
    this.#loop = new PodWorkerLoop(options);
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

    const known = this.statuses.get(uid);
    const status = known ?? this.statuses.add(uid, identity);
    // If a pod that was found in the runtime is also known from a source, the known pod is killed.
    const knownPod = options.pod
      ? withEndedPhase(options.pod, status.endedPhase)
      : (status.pendingUpdate ?? status.activeUpdate)?.pod;
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
   * Removes the workers of finished pods that are no longer desired or were created again with the
   * same UID. Terminates running pods that are not desired. Call it periodically, but only after all pod
   * sources are ready. Source: kubelet `SyncKnownPods`.
   */
  syncKnownPods(desiredPods: Iterable<ValidPod>): Map<string, PodWorkerSync> {
    const desired = new Set<string>();
    for (const { metadata } of desiredPods) desired.add(metadata.uid);

    for (const status of this.statuses.all()) {
      const isOrphan = !desired.has(status.uid);
      if (status.isRestartRequested || isOrphan) this.#removeTerminatedWorker(status, isOrphan);
    }
    return this.statuses.knownPods(desired);
  }

  /**
   * Stops all workers without stopping containers; later updates do nothing. Resolves when no sync is in
   * progress.
   */
  stop(): Promise<void> {
    return this.#loop.stop();
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
    this.statuses.forget(status);
  }

  #terminateOrphan(status: PodSyncStatus): void {
    const lifecycle = terminatingSince(this.#options.clock.monotonicMs());
    lifecycle.gracePeriodSeconds = calculateEffectiveGracePeriod(0, status.activeUpdate?.pod ?? {});
    status.lifecycle = lifecycle;
    status.abortController?.abort();
  }
}

/** The pod with its known terminal phase, even if the object does not show it yet. */
export function withEndedPhase(pod: ValidPod, phase: string | null | undefined): ValidPod {
  if (!isPodPhaseTerminal(phase) || isPodPhaseTerminal(pod.status?.phase)) return pod;
  return { ...pod, status: { ...pod.status, phase } };
}
