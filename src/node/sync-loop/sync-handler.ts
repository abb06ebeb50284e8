import type { Measured, NodeContext } from '../node-context.ts';
import sortBy from 'lodash/sortBy.js';
import type { BasicPodManager } from '../../kube/pod-manager/basic-pod-manager.ts';
import { computePodQOS } from '../../status-manager/status/qos.ts';
import { getPodFullName } from '../../kube/pods/static-pods.ts';
import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import { reasonOf } from '../../shared/logger.ts';
import { needToReconcilePodReadiness } from '../../status-manager/status/generate-conditions.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import type { AllocationManager } from '../allocation/allocation-manager.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import type { PodLifecycleEvent } from './pod-lifecycle-event.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';
import { type PodWorkers, withEndedPhase } from '../pod-workers/pod-workers.ts';
import type { ProbeType, ProbeUpdate } from '../probes/probe-results.ts';
import { probeTypes } from '../probes/probe-types.ts';
import type { PodDispatcher } from './pod-dispatcher.ts';

export interface SyncHandlerOptions extends Pick<NodeContext, 'logger'>, Measured {
  readonly podManager: BasicPodManager;
  readonly podWorkers: Pick<PodWorkers, 'statuses' | 'updatePod'>;
  readonly statusManager: Pick<
    StatusManagerLike,
    | 'backfillPodResizeConditions'
    | 'canPodRun'
    | 'getPodStatus'
    | 'setContainerReadiness'
    | 'setContainerStartup'
    | 'setPodStatus'
  >;
  /** Passes pods to the workers. */
  readonly dispatcher: PodDispatcher;
  /** The pods that use resources of the node. Source: kubelet `GetActivePods`. */
  readonly getActivePods: () => readonly ValidPod[];
  /** True for a pod past its deadline, which must be synced now. */
  readonly shouldSync: (pod: ValidPod) => boolean;
  /** Decides which pods are admitted, and keeps their resources. */
  readonly allocationManager: Pick<
    AllocationManager,
    'addPod' | 'podReconciled' | 'podsAdded' | 'podUpdated' | 'removePod' | 'retryPendingResizes'
  >;
  /** True when every source has delivered its pods. */
  readonly areSourcesReady: () => boolean;
  /** Called when a container or sandbox has exited, so that it can be removed. Default: nothing is done. */
  readonly onContainerDied?: ((podUID: string, containerID: string) => void) | undefined;
  /** Called when the API server shows the pod as evicted, so that its containers can be removed. Default: nothing is done. */
  readonly onPodEvicted?: ((podUID: string) => void) | undefined;
  readonly eventRecorder: PodEventRecorder;
}

/**
 * Handles the events of the sync loop: it updates the pod manager first, and then notifies the pod's
 * worker. All methods are synchronous; the workers do the rest asynchronously.
 * Source: kubelet `SyncHandler`.
 */
export class SyncHandler {
  readonly #options: SyncHandlerOptions;

  constructor(options: SyncHandlerOptions) {
    this.#options = options;
  }

  /** Source: kubelet `HandlePodAdditions`. */
  handlePodAdditions(pods: readonly ValidPod[]): void {
    const { podManager, podWorkers, statusManager, allocationManager, getActivePods } = this.#options;
    const { statuses } = podWorkers;
    const added: ValidPod[] = [];
    const admitted: ValidPod[] = [];
    this.#forEach(sortBy(pods, creationTimeOf), (addedPod) => {
      podManager.addPod(addedPod);
      added.push(addedPod);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(addedPod);
      if (pod === undefined) return;
      if (wasMirror) return this.#options.dispatcher.dispatch('update', pod, mirrorPod);
      const known = this.#withKnownPhase(pod, mirrorPod);
      const isEnding = statuses.isPodTerminationRequested(pod.metadata.uid) || isPodPhaseTerminal(known.status?.phase);
      if (!isEnding) {
        const result = allocationManager.addPod(getActivePods(), pod);
        if (!result.admit) return this.#rejectPod(pod, result.reason, result.message);
        admitted.push(pod);
      }
      this.#options.dispatcher.dispatch('create', known, mirrorPod);
    });
    statusManager.backfillPodResizeConditions(added);
    allocationManager.podsAdded(admitted);
  }

  /** Also handles pods with a new deletionTimestamp. Source: kubelet `HandlePodUpdates`. */
  handlePodUpdates(pods: readonly ValidPod[]): void {
    this.#updatePods(pods, (pod, mirrorPod, oldPod) => {
      this.#options.allocationManager.podUpdated(oldPod, pod);
      this.#options.dispatcher.dispatch('update', pod, mirrorPod);
    });
  }

  /** Source: kubelet `HandlePodRemoves`. */
  handlePodRemoves(pods: readonly ValidPod[]): void {
    const { podManager, podWorkers, dispatcher, areSourcesReady, allocationManager } = this.#options;
    this.#forEach(pods, (removed) => {
      podManager.removePod(removed);
      allocationManager.removePod(removed.metadata.uid);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(removed);
      if (pod === undefined) return;
      if (wasMirror) return this.#options.dispatcher.dispatch('update', pod, undefined);
      dispatcher.forget(pod);
      // Until all sources are ready, another source may still have the pod, so housekeeping decides later.
      if (areSourcesReady()) podWorkers.updatePod({ updateType: 'kill', pod, mirrorPod });
    });
    allocationManager.retryPendingResizes();
  }

  /** Handles pods whose status alone changed on the API server. Source: kubelet `HandlePodReconcile`. */
  handlePodReconcile(pods: readonly ValidPod[]): void {
    this.#updatePods(pods, (pod, mirrorPod, oldPod) => {
      this.#options.allocationManager.podReconciled(oldPod, pod);
      if (this.#options.dispatcher.isRejected(pod.metadata.uid)) return;
      if (needToReconcilePodReadiness(pod)) this.#options.dispatcher.dispatch('sync', pod, mirrorPod);
      if (pod.status?.phase === 'Failed' && pod.status.reason === 'Evicted')
        this.#options.onPodEvicted?.(pod.metadata.uid);
    });
  }

  /** Source: kubelet `HandlePodSyncs`. */
  handlePodSyncs(pods: readonly ValidPod[]): void {
    this.#options.dispatcher.syncPods(pods);
  }

  /** Syncs the pod of the event, and removes earlier runs of a container that has died. Source: kubelet `syncLoopIteration`. */
  handlePodLifecycleEvent({ podUID, type, containerID }: PodLifecycleEvent): void {
    // Source: kubelet `isSyncPodWorthy`.
    if (type !== 'ContainerRemoved') this.#options.dispatcher.syncPod(podUID);
    if (type === 'ContainerDied' && containerID !== undefined) this.#options.onContainerDied?.(podUID, containerID);
  }

  /** Source: kubelet `handleProbeSync`, `syncLoopIteration`. */
  handleProbeUpdate(probeType: ProbeType, { podUID, containerID, result }: ProbeUpdate): void {
    const { dispatcher, statusManager } = this.#options;
    const { recordedBy, requiresSync } = probeTypes[probeType];
    if (recordedBy !== undefined) statusManager[recordedBy](podUID, containerID, result === 'success');
    if (!requiresSync(result)) return;
    dispatcher.syncPod(podUID);
  }

  /** The pods whose next sync is due. Source: kubelet `getPodsToSync`. */
  getPodsToSync(): ValidPod[] {
    const { podManager, podWorkers, shouldSync } = this.#options;
    const due = new Set(podWorkers.statuses.getWork());
    return podManager.getPods().filter((pod) => due.has(pod.metadata.uid) || shouldSync(pod));
  }

  /**
   * When `getPodsToSync` has to be called next, on the monotonic clock: at the next tick as long as a pod has a deadline;
   * Infinity if never.
   */
  nextSyncMs(): number {
    const { podManager, podWorkers } = this.#options;
    const hasDeadline = podManager.getPods().some(({ spec }) => spec?.activeDeadlineSeconds != null);
    return hasDeadline ? -Infinity : podWorkers.statuses.nextWorkMs();
  }

  #updatePods(
    pods: readonly ValidPod[],
    update: (pod: ValidPod, mirrorPod: ValidPod | undefined, oldPod: ValidPod | undefined) => void,
  ): void {
    const { podManager } = this.#options;
    this.#forEach(pods, (changed) => {
      const oldPod = podManager.getPodByUID(changed.metadata.uid);
      podManager.updatePod(changed);
      const { pod, mirrorPod } = podManager.getPodAndMirrorPod(changed);
      if (pod !== undefined) update(pod, mirrorPod, oldPod);
    });
  }

  /** An error for one pod does not affect the others. */
  #forEach(pods: readonly ValidPod[], handle: (pod: ValidPod) => void): void {
    for (const pod of pods) {
      try {
        handle(pod);
      } catch (thrown) {
        this.#options.logger.error({ ...podFieldsOf(pod), reason: reasonOf(thrown) }, 'Failed to handle a pod');
      }
    }
  }

  /**
   * The pod with a terminal phase that an earlier run of the agent reported and that the API server
   * does not show yet. The worker then kills running containers and starts none.
   */
  #withKnownPhase(pod: ValidPod, mirrorPod: ValidPod | undefined): ValidPod {
    const { statusManager } = this.#options;
    if (statusManager.canPodRun(pod)) return pod;
    return withEndedPhase(pod, (statusManager.getPodStatus(pod.metadata.uid) ?? mirrorPod?.status)?.phase);
  }

  /** Source: kubelet `rejectPod`. */
  #rejectPod(pod: ValidPod, reason: string, message: string): void {
    const { dispatcher, statusManager, eventRecorder, logger } = this.#options;
    dispatcher.reject(pod);
    this.#options.recordMetric?.('admission_rejections_total', 1, admissionRejectionReason(reason));
    logger.info({ ...podFieldsOf(pod), fullName: getPodFullName(pod), reason, message }, 'The agent rejected the pod');
    eventRecorder.event({ pod, type: 'Warning', reason, message });
    const qosClass = computePodQOS(pod);
    statusManager.setPodStatus(pod, { qosClass, phase: 'Failed', reason, message: `Pod was rejected: ${message}` });
  }
}

/** Source: kubelet `sliceutils.PodsByCreationTime`. */
function creationTimeOf({ metadata }: ValidPod): string {
  const created: unknown = metadata?.creationTimestamp;
  return typeof created === 'string' ? created : '';
}

/** The reasons that a metric names. Source: kubelet `admissionRejectionReasons`. */
const reasons: ReadonlySet<string> = new Set([
  'AppArmor',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'PodOSNotSupported',
  'InvalidNodeInfo',
  'InitContainerRestartPolicyForbidden',
  'SupplementalGroupsPolicyNotSupported',
  'UnexpectedAdmissionError',
  'UnknownReason',
  'UnexpectedPredicateFailureType',
  'OutOfcpu',
  'OutOfmemory',
  'OutOfephemeral-storage',
  'OutOfpods',
  'PodLevelResourcesNotSupported',
  'PodFeatureUnsupported',
  "node(s) had taints that the pod didn't tolerate",
  'Evicted',
  'SysctlForbidden',
  'TopologyAffinityError',
  'NodeShutdown',
  'VolumeAttachmentLimitExceeded',
]);

/**
 * The label of `admission_rejections_total` for the reason of a rejected pod: one of a fixed set, because a reason can
 * contain the name of a resource, which the author of the pod chooses. Source: kubelet `recordAdmissionRejection`.
 */
function admissionRejectionReason(reason: string): string {
  if (reasons.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}
