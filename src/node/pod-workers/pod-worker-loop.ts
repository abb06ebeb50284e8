import { setMaxListeners } from 'node:events';
import { isStaticPod } from '../../kube/pods/static-pods.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { updatedFromAllocation } from '../allocation/updated-from-allocation.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';
import { nextSyncDelayMs, type SyncOutcome } from './next-sync-delay.ts';
import {
  isFinished,
  mergeLastUpdate,
  type PodSyncStatus,
  type PodWorkerState,
  terminatingSince,
} from './pod-sync-status.ts';
import { type PodUpdate, toAPIPod } from './update-pod-options.ts';
import type { PodWorkersOptions } from './pod-workers-options.ts';
import { allowStaticPodStart } from './static-pod-starts.ts';
import { failureReasons } from './sync-action.ts';

const syncMessages = {
  failed: 'Failed to sync pod; it will be retried',
  recovered: 'The pod can be synced again',
};

/**
 * Processes the pending updates of each pod, one at a time, and moves the pod through its states.
 * Source: kubelet `podWorkerLoop`.
 */
export class PodWorkerLoop {
  readonly #options: PodWorkersOptions;
  readonly #running = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: PodWorkersOptions) {
    this.#options = options;
  }

  /** Makes `update` the next one to be processed. */
  notify(status: PodSyncStatus, update: PodUpdate): void {
    if (this.#isStopped) return;
    status.pendingUpdate = update;
    status.isWorking = true;
    if (status.isLoopRunning) return;
    status.isLoopRunning = true;
    const running = this.#run(status).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /**
   * Aborts the syncs in progress, and starts no others. Resolves when none is in progress; work that ignores its signal is
   * not waited for.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const { statuses } = this.#options;
    for (const { abortController } of statuses.all()) abortController?.abort();
    await Promise.all(this.#running);
    for (const { scope } of statuses.all()) scope.stop();
  }

  /** Source: kubelet `requeueLastPodUpdate`. */
  requeueLastPodUpdate(status: PodSyncStatus): void {
    if (status.pendingUpdate !== undefined || status.activeUpdate === undefined) return;
    this.notify(status, { updateType: 'sync', ...status.activeUpdate });
  }

  async #run(status: PodSyncStatus): Promise<void> {
    // Updates of the same tick are merged.
    await Promise.resolve();
    while (!this.#isStopped) {
      const update = this.#startPodSync(status);
      if (update === undefined) break;
      const { state } = status.lifecycle;
      const abortController = new AbortController();
      // No listener limit: all containers of a pod are stopped concurrently.
      setMaxListeners(0, abortController.signal);
      status.abortController = abortController;
      const startedMs = this.#options.clock.monotonicMs();
      status.syncStartedMs = startedMs;
      let isTerminal = false;
      let error: unknown;
      try {
        isTerminal = await this.#sync(status, update, abortController.signal);
        this.#onSuccess(status, update);
      } catch (thrown) {
        error = thrown ?? new Error('rejected without a reason');
        // A sync that a newer request aborted is not a failure.
        if (!abortController.signal.aborted) this.#onFailure(status, update, error);
      }
      const seconds = (this.#options.clock.monotonicMs() - startedMs) / 1000;
      this.#options.recordMetric?.('pod_worker_duration_seconds', seconds, operationTypeOf(state, update));
      status.abortController = undefined;
      status.syncStartedMs = undefined;
      // No await until the end of this block: in the kubelet, it is a critical section.
      const hasMoved = error === undefined && (isTerminal || state !== 'syncing');
      if (hasMoved) this.#complete(status, update, state);
      if (isFinished(status)) break;
      this.#enqueue(status, { isPhaseTransition: hasMoved, error });
    }
    status.isLoopRunning = false;
  }

  /** Starts the pending update; undefined if there is none, or if the pod cannot start yet or ever. */
  #startPodSync(status: PodSyncStatus): PodUpdate | undefined {
    const update = status.pendingUpdate;
    if (update === undefined || this.#options.statuses.get(status.uid) !== status) {
      status.isWorking = false;
      return undefined;
    }
    const isKnown = update.runningPod === undefined;
    if (!status.hasStarted && isKnown && isStaticPod(update.pod ?? {})) {
      if (status.lifecycle.state !== 'syncing') {
        this.#finish(status);
        return undefined;
      }
      if (!allowStaticPodStart(status, this.#options.statuses.all())) {
        status.isWorking = false;
        this.#enqueue(status, { isPhaseTransition: false, error: 'another static pod with the same name is running' });
        return undefined;
      }
    }
    status.pendingUpdate = undefined;
    if (isKnown) status.hasStarted = true;
    mergeLastUpdate(status, update);
    if (isKnown) this.#options.recordMetric?.('containers_per_pod_count', update.pod?.spec?.containers?.length ?? 0);
    return update;
  }

  /**
   * Resolves with true when the pod has reached a terminal phase on its own.
   *
   * Divergence: the kubelet takes the allocated resources when the update arrives, so a sync that began before a resize can
   * report the resize as completed although the resources are the old ones.
   */
  async #sync(status: PodSyncStatus, update: PodUpdate, signal: AbortSignal): Promise<boolean> {
    const { podCache, podSyncer, allocationState, requestRelist } = this.#options;
    const { lifecycle, uid, scope } = status;
    const { updateType, mirrorPod, runningPod } = update;
    if (runningPod !== undefined) {
      await podSyncer.syncTerminatingRuntimePod(runningPod, { signal, scope });
      return false;
    }
    const runtimeStatus = await this.#runtimeStatus(update.pod!, status, signal);
    signal.throwIfAborted();
    // Read after the await, because a resize may have been allocated in the meantime.
    const { pod } = updatedFromAllocation(update.pod!, allocationState);
    const options = { signal, scope, syncStatus: status };
    let isTerminal = false;
    let hasChanged = false;
    let mustSyncAgain: boolean | undefined = false;
    try {
      switch (lifecycle.state) {
        case 'syncing':
          ({ isTerminal, hasChanged, mustSyncAgain } = await podSyncer.syncPod(
            updateType,
            pod,
            mirrorPod,
            runtimeStatus,
            options,
          ));
          break;
        case 'terminating': {
          const { podStatusFn } = lifecycle;
          const gracePeriodSeconds = lifecycle.gracePeriodSeconds || undefined;
          await podSyncer.syncTerminatingPod(pod, runtimeStatus, gracePeriodSeconds, podStatusFn, options);
          hasChanged = true;
          break;
        }
        case 'terminated':
          // So nothing that is cleaned up next is in use, or can be created again.
          await scope.close();
          signal.throwIfAborted();
          await podSyncer.syncTerminatedPod(pod, runtimeStatus, options);
          break;
      }
    } finally {
      status.lastObservation = podCache.lastObservation();
    }
    // Called after `lastObservation` is set, so that the requested relist is newer and counts for the next sync.
    if (hasChanged) requestRelist(uid);
    if (mustSyncAgain === true) this.requeueLastPodUpdate(status);
    return isTerminal;
  }

  async #runtimeStatus(
    pod: ValidPod,
    { lastObservation, lifecycle }: PodSyncStatus,
    signal: AbortSignal,
  ): Promise<RuntimePodStatus> {
    // As in the kubelet, a sync waits for the next relist, so that a pod that changes all the time is synced once a second.
    // A terminating pod does not wait for it.
    const observeNow = lifecycle.state === 'terminating';
    try {
      return await this.#options.podCache.getNewerThan(pod, lastObservation, { signal, observeNow });
    } catch (thrown) {
      const message = `error determining status: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
      if (!signal.aborted) this.#options.eventRecorder.event({ pod, type: 'Warning', reason: 'FailedSync', message });
      throw thrown;
    }
  }

  /** Moves the pod to the next state after a successful sync in `state`. */
  #complete(status: PodSyncStatus, update: PodUpdate, state: PodWorkerState): void {
    const nowMs = this.#options.clock.monotonicMs();
    const { lifecycle } = status;
    switch (state) {
      case 'syncing':
        if (lifecycle.state === 'syncing') status.lifecycle = terminatingSince(nowMs);
        this.requeueLastPodUpdate(status);
        break;
      case 'terminating':
        status.lifecycle = { state: 'terminated', sinceMs: nowMs, isFinished: false };
        if (lifecycle.state === 'terminating') for (const onCompleted of lifecycle.onCompleted) onCompleted();
        if (update.runningPod !== undefined) {
          this.#finish(status);
          this.#options.statuses.forget(status);
        } else this.requeueLastPodUpdate(status);
        break;
      case 'terminated':
        this.#finish(status);
        break;
    }
  }

  #finish(status: PodSyncStatus): void {
    void status.scope.close();
    const sinceMs =
      status.lifecycle.state === 'terminated' ? status.lifecycle.sinceMs : this.#options.clock.monotonicMs();
    status.lifecycle = { state: 'terminated', sinceMs, isFinished: true };
    status.isWorking = false;
    status.pendingUpdate = undefined;
    status.nextSyncMs = undefined;
  }

  /** Source: kubelet `completeWork`. */
  #enqueue(status: PodSyncStatus, outcome: SyncOutcome): void {
    const { clock, random, statuses } = this.#options;
    const nowMs = clock.monotonicMs();
    statuses.enqueue(status, nowMs + nextSyncDelayMs(outcome, nowMs, random));
  }

  #onFailure(status: PodSyncStatus, { pod, runningPod }: PodUpdate, error: unknown): void {
    const { clock, logger } = this.#options;
    status.failures ??= new FailureLog({ logger, clock, what: syncMessages });
    // The key is not the message, because the message contains the back-off.
    const reasons = failureReasons(error).join();
    const level = reasons === 'CrashLoopBackOff' ? 'info' : 'error';
    const fields = { ...podFieldsOf(pod ?? toAPIPod(runningPod!)), state: status.lifecycle.state };
    status.failures.failed(error, fields, { level, key: reasons || undefined });
  }

  #onSuccess(status: PodSyncStatus, { pod, runningPod }: PodUpdate): void {
    status.failures?.succeeded(podFieldsOf(pod ?? toAPIPod(runningPod!)));
    status.failures = undefined;
  }
}

function operationTypeOf(state: PodWorkerState, { updateType }: PodUpdate): string {
  return state === 'terminated' ? state : updateType;
}
