import type { AllocationState } from '../../status-manager/allocation/allocation-state.ts';
import type { Clock, Timer } from '../../shared/clock.ts';
import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { Pod, PodCondition, ValidPod } from '../../kube/objects/types.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';
import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from './pod-admit-handler.ts';
import { allocatedFromStatus } from './reported-resources.ts';
import { resizeMessage } from './resize-message.ts';
import { doActualRequestsShrink, wantsOtherResources } from './resource-changes.ts';
import { sortPendingResizes } from './sort-pending-resizes.ts';
import { type AllocatedPod, areResourcesEqual, isAllocated, updatedFromAllocation } from './updated-from-allocation.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';

/** Options of `AllocationManager`. */
export interface AllocationManagerOptions {
  /**
   * Without its method `updateContainerResources`, every resize is Infeasible; without `updatePodResources`, every
   * resize of pod-level resources.
   */
  readonly runtime: { readonly [Method in 'updateContainerResources' | 'updatePodResources']?: unknown };
  readonly statusManager: Pick<
    StatusManagerLike,
    | 'getPodStatus'
    | 'getPodResizeConditions'
    | 'isPodResizeDeferred'
    | 'isPodResizeInfeasible'
    | 'setPodResizePendingCondition'
    | 'clearPodResizePendingCondition'
    | 'setPodResizeInProgressCondition'
    | 'clearPodResizeInProgressCondition'
  >;
  /** Where allocations are stored; those of `openCheckpointState` survive a restart. */
  readonly allocationState: AllocationState;
  /** Called in this order; the first one that refuses decides. */
  readonly admitHandlers: readonly PodAdmitHandler[];
  /** Returns the pods that were admitted and have not ended. */
  readonly getActivePods: () => readonly ValidPod[];
  /** `podManager.getPodByUID`. */
  readonly getPodByUID: (podUID: string) => ValidPod | undefined;
  /** While it returns false, some pod source has not delivered its pods yet, and pending resizes wait. */
  readonly allSourcesReady: () => boolean;
  /** Called when a pod must be synced because its allocation or its resize conditions changed. */
  readonly triggerPodSync: (pod: ValidPod) => void;
  readonly clock: Pick<Clock, 'afterFunc' | 'monotonicMs' | 'now'>;
  readonly logger: Logger;
  readonly eventRecorder: PodEventRecorder;
}

const initialRetryDelayMs = 30_000;
const retryDelayMs = 180_000;

const unsupportedMessage =
  'In-place pod resize is not supported on this node: the container runtime cannot change the resources of a running container';
const podLevelMessage = 'In-place pod-level resources resize is not supported on this node';

/**
 * Stores the allocated resources of each pod, and admits resizes. A pod runs with its allocated resources. A spec that
 * differs from them is a resize, which is pending until all admit handlers accept it. Pending resizes are tried in the
 * order of `sortPendingResizes`. Deferred resizes are tried again when something has changed, and 3 minutes after the
 * last try.
 *
 * Methods are synchronous and do not throw. A checkpoint that cannot be written is logged, and the allocation in memory
 * still applies, as in the kubelet. The checkpoint of a resize is written again when pending resizes are retried.
 * Source: kubelet `allocation.Manager`.
 *
 * Divergence: resources of the pod itself are resized if the runtime can; sizes of emptyDir volumes never, in the kubelet
 * only with an alpha feature gate. A resize is in progress before its checkpoint is written.
 */
export class AllocationManager {
  readonly #options: AllocationManagerOptions;
  /** Not in the workers' records: pods are allocated before they have a worker, and the next agent reads it. */
  readonly #state: AllocationState;
  readonly #saveFailures: FailureLog;
  /** UIDs. Not in the workers' records, because the order is one of all pods. */
  #pendingResizes: readonly string[] = [];
  #isStarted = false;
  #retryTimer: Timer | undefined;

  constructor(options: AllocationManagerOptions) {
    this.#options = options;
    this.#state = options.allocationState;
    this.#saveFailures = new FailureLog({ ...options, what: 'Saving the allocated resources of pods' });
  }

  /** Retries pending resizes periodically, until `stop`. Source: kubelet `Run`. */
  start(): void {
    this.#isStarted = true;
    this.#retryLater(initialRetryDelayMs);
  }

  /** Ends the retries of pending resizes. */
  stop(): void {
    this.#isStarted = false;
    this.#retryTimer?.stop();
  }

  /** The UIDs of pods with pending resizes, in the order in which they are tried. */
  get pendingResizes(): readonly string[] {
    return this.#pendingResizes;
  }

  /** Source: kubelet `UpdatePodFromAllocation`. */
  updatePodFromAllocation(pod: ValidPod): AllocatedPod {
    return updatedFromAllocation(pod, this.#state);
  }

  /** Source: kubelet `HasPodAllocatedResources`. */
  hasPodAllocatedResources(pod: ValidPod): boolean {
    return isAllocated(pod, this.#state);
  }

  /**
   * Asks the admit handlers about a new pod, and if they accept it, allocates the resources that it
   * requests. A pod that an earlier agent admitted is checked with its allocated resources, which are those of its status
   * if there is no record. Source: kubelet `AddPod`.
   */
  addPod(activePods: readonly ValidPod[], pod: ValidPod): PodAdmitResult {
    const allocated = this.hasPodAllocatedResources(pod)
      ? this.updatePodFromAllocation(pod).pod
      : allocatedFromStatus(pod, this.#options.statusManager.getPodStatus(pod.metadata.uid) ?? pod.status);
    const result = this.#canAdmitPod(activePods, allocated, 'add');
    if (result.admit) void this.#allocate(allocated);
    return result;
  }

  /** Removes the pod's allocation. Source: kubelet `RemovePod`. */
  removePod(podUID: string): void {
    this.#state.delete(podUID);
  }

  /** Calls `removePod` for all pods except these. Source: kubelet `RemoveOrphanedPods`. */
  removeOrphanedPods(remainingPodUIDs: ReadonlySet<string>): void {
    this.#state.removeOrphanedPods(remainingPodUIDs);
  }

  /**
   * Call it after `addPod` of these pods: tries the resizes that were pending before a restart.
   * Source: kubelet `HandlePodAdditions`.
   */
  podsAdded(pods: readonly ValidPod[]): void {
    const pending = pods.filter((pod) => this.updatePodFromAllocation(pod).updated);
    for (const { metadata } of pending) this.pushPendingResize(metadata.uid);
    if (pending.length > 0) this.retryPendingResizes();
  }

  /**
   * Call it when the spec of a pod has changed and the pod manager has the new pod: tries a resize, and
   * drops a pending one that was reverted. Source: kubelet `HandlePodUpdates`.
   */
  podUpdated(oldPod: ValidPod | undefined, pod: ValidPod): void {
    if (oldPod === undefined || !wantsOtherResources(oldPod, pod)) return;
    const uid = pod.metadata.uid;
    if (this.updatePodFromAllocation(pod).updated) {
      this.pushPendingResize(uid);
      this.retryPendingResizes();
    } else {
      this.#options.statusManager.clearPodResizePendingCondition(uid, 'reverted');
    }
  }

  /**
   * Call it when the status of a pod has changed: retries pending resizes if the pod has ended, or if its
   * containers now request less. Source: kubelet `HandlePodReconcile`.
   */
  podReconciled(oldPod: ValidPod | undefined, pod: Pod): void {
    if (oldPod === undefined || this.#pendingResizes.length === 0) return;
    const hasEnded = isPodPhaseTerminal(pod.status?.phase) && !isPodPhaseTerminal(oldPod.status?.phase);
    if (hasEnded || doActualRequestsShrink(oldPod, pod)) this.retryPendingResizes();
  }

  /** Queues a pod whose spec differs from its allocation. Source: kubelet `PushPendingResize`. */
  pushPendingResize(podUID: string): void {
    if (this.#pendingResizes.includes(podUID)) return;
    const pending = [...this.#pendingResizes, podUID].flatMap((uid) => {
      const pod = this.#options.getPodByUID(uid);
      if (pod === undefined) return [];
      const conditions = this.#options.statusManager.getPodResizeConditions(uid);
      const pendingSince = conditions.find(({ type }) => type === 'PodResizePending')?.lastTransitionTime;
      return [{ pod, allocatedPod: this.updatePodFromAllocation(pod).pod, pendingSince }];
    });
    this.#pendingResizes = sortPendingResizes(pending).map(({ pod }) => pod.metadata.uid);
  }

  /** Retries all pending resizes now, for example because a pod has ended. Source: kubelet `RetryPendingResizes`. */
  retryPendingResizes(): void {
    const { allSourcesReady, getPodByUID, statusManager, triggerPodSync } = this.#options;
    if (!allSourcesReady()) return this.#retryLater(initialRetryDelayMs);
    this.#retryLater(retryDelayMs);
    this.#pendingResizes = this.#pendingResizes.filter((uid) => {
      const pod = getPodByUID(uid);
      if (pod === undefined) return false;
      const before = statusManager.getPodResizeConditions(uid);
      const isResizeAllocated = this.#handlePodResourcesResize(pod);
      const after = statusManager.getPodResizeConditions(uid);
      if (isResizeAllocated || !areConditionsEqual(before, after)) triggerPodSync(pod);
      return statusManager.isPodResizeDeferred(uid);
    });
  }

  #retryLater(ms: number): void {
    this.#retryTimer?.stop();
    if (!this.#isStarted) return;
    this.#retryTimer = this.#options.clock.afterFunc(ms, () => this.retryPendingResizes());
  }

  /** True when the pod was allocated what its spec requests. */
  #handlePodResourcesResize(pod: ValidPod): boolean {
    const { statusManager, getActivePods } = this.#options;
    const { uid, generation = 0 } = pod.metadata;
    const { pod: allocatedPod, updated } = this.updatePodFromAllocation(pod);
    if (!updated) {
      // It was reverted, or could not be written.
      this.#allocateResize(pod);
      statusManager.clearPodResizePendingCondition(uid, 'reverted');
      return false;
    }

    const result = this.#isResizable(pod, allocatedPod) ?? this.#canAdmitPod(getActivePods(), pod, 'resize');
    if (!result.admit) {
      const { reason, message } = result;
      if (!statusManager.setPodResizePendingCondition(uid, reason, message, generation)) return false;
      this.#options.eventRecorder.event({
        ...({ pod, type: 'Warning' } as const),
        reason: reason === 'Infeasible' ? 'ResizeInfeasible' : 'ResizeDeferred',
        message: resizeMessage(`Pod resize ${reason}`, pod, generation, message),
      });
      return false;
    }
    this.#allocateResize(pod);
    statusManager.clearPodResizePendingCondition(uid, 'accepted');
    // Clears the error and the generation of an earlier resize from the condition.
    statusManager.clearPodResizeInProgressCondition(uid);
    statusManager.setPodResizeInProgressCondition(uid, '', '', generation);
    const message = resizeMessage('Pod resize started', pod, generation);
    this.#options.eventRecorder.event({ pod, type: 'Normal', reason: 'ResizeStarted', message });
    return true;
  }

  /** Source: kubelet `podResizesAdmitHandler`. */
  #isResizable(pod: Pod, allocatedPod: Pod): PodAdmitResult | undefined {
    const { runtime } = this.#options;
    if (runtime.updateContainerResources === undefined)
      return { admit: false, reason: 'Infeasible', message: unsupportedMessage };
    if (
      runtime.updatePodResources !== undefined ||
      areResourcesEqual(pod.spec?.resources, allocatedPod.spec?.resources)
    )
      return undefined;
    return { admit: false, reason: 'Infeasible', message: podLevelMessage };
  }

  #canAdmitPod(
    activePods: readonly ValidPod[],
    pod: ValidPod,
    operation: PodAdmitAttributes['operation'],
  ): PodAdmitResult {
    const { admitHandlers, logger } = this.#options;
    const otherPods = this.#allocatedPods(activePods).filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
    for (const handler of admitHandlers) {
      const result = admitted(handler, { pod, otherPods, operation });
      if (result.admit) continue;
      const { reason, message } = result;
      logger.info({ ...podFieldsOf(pod), operation, reason, message }, 'Pod admission denied');
      return result;
    }
    return { admit: true };
  }

  #allocatedPods(activePods: readonly ValidPod[]): ValidPod[] {
    return activePods
      .filter((pod) => this.hasPodAllocatedResources(pod))
      .map((pod) => this.updatePodFromAllocation(pod).pod);
  }

  #allocate(pod: Pod): Promise<boolean> {
    return this.#state.setPodAllocation(pod).then(
      () => {
        this.#saveFailures.succeeded();
        return true;
      },
      (error: unknown) => {
        this.#saveFailures.failed(error, podFieldsOf(pod), { level: 'error' });
        return false;
      },
    );
  }

  /** A resize that is not written stays pending: after a restart, the agent would know only the earlier resources. */
  #allocateResize(pod: ValidPod): void {
    const uid = pod.metadata.uid;
    void this.#allocate(pod).then((isSaved) => {
      if (!isSaved && this.#options.getPodByUID(uid) !== undefined) this.pushPendingResize(uid);
    });
  }
}

/** A handler that throws or returns an invalid result refuses the pod. Source: kubelet `UnexpectedAdmissionError`. */
function admitted(handler: PodAdmitHandler, attributes: PodAdmitAttributes): PodAdmitResult {
  try {
    const result: Partial<PodAdmitResult> | undefined = handler.admit(attributes);
    if (result?.admit === true) return { admit: true };
    if (result?.admit !== false) throw new TypeError('A pod admit handler did not return a PodAdmitResult');
    const { reason = 'UnexpectedAdmissionError', message = '' } = result;
    return { admit: false, reason, message };
  } catch (thrown) {
    return { admit: false, reason: 'UnexpectedAdmissionError', message: reasonOf(thrown) };
  }
}

function areConditionsEqual(before: readonly PodCondition[], after: readonly PodCondition[]): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}
