import type { AllocationState } from '../../status-manager/allocation/allocation-state.ts';
import { containerStatusesOf } from '../../status-manager/status/container-statuses.ts';
import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import { isStaticPod } from '../../kube/pods/static-pods.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { reasonOf } from '../../shared/logger.ts';
import { epochMsOf } from '../../shared/time.ts';
import { MemoryState } from '../../status-manager/allocation/memory-state.ts';
import type { PodStatusInput, ResourceRequirementsInput, ValidPod } from '../../kube/objects/types.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import { CallTimeoutError } from '../../shared/deadline.ts';
import { ActuatedResources } from '../allocation/actuated-resources.ts';
import {
  ActiveDeadlineHandler,
  areAmountsEqual,
  BackOffError,
  type BoundedRuntime,
  configSeenAnnotation,
  generatePodStatus,
  keepReasonOfEnd,
  keepReportedEnds,
  type PodCallOptions,
  type PodEventRecorder,
  type PodLifecycleSyncer,
  type PodObservation,
  type PodStatusFn,
  type ProbeResults,
  type ProberManager,
  type RuntimePod,
  type RuntimePodStatus,
  setGeneratedStatus,
  type StartFailures,
  syncError,
  type SyncPodOptions,
  type SyncPodResult,
  type SyncPodType,
  toAPIPod,
  type Measured,
  type NodeContext,
  whyEnded,
} from '../../node/index.ts';
import { podStatusResources } from '../../status-manager/status/pod-resources.ts';
import { CrashLoopBackOff } from '../back-off/crash-loop-back-off.ts';
import { podStatusFromRuntime } from '../pleg/pod-status-from-runtime.ts';
import type { BoundedHandlerRunner } from './handler-runner.ts';
import type { ImageManager } from './image-manager.ts';
import { reportMissingPullSecrets } from './missing-pull-secrets.ts';
import type { BoundedVolumeManager } from '../volumes/bounded-volume-manager.ts';
import type { QOSCgroups } from './qos-cgroups.ts';
import { reportResizeErrors, type ResizeProgressParts, updateResizeProgress } from './resize-progress.ts';
import type { KillPodCallOptions } from './kill-pod.ts';
import { RuntimeManager } from './runtime-manager.ts';

/** Source: kubelet `backOffOnTransientErrorPeriod`. */
const networkRetryMs = 1000;
const resourceMessages = {
  failed: 'Failed to read the resources of a pod',
  recovered: 'The resources of the pod can be read again',
};

/** For example a `ProberManager`. */
export interface ProbeManager extends Pick<
  ProberManager,
  'addPod' | 'stopLivenessAndStartup' | 'removePod' | 'triggerReadiness'
> {
  readonly results: ProbeResults;
}

/** Options of `AgentPodSyncer`. */
export interface AgentPodSyncerOptions extends Pick<NodeContext, 'clock' | 'logger'>, Measured {
  readonly runtime: BoundedRuntime;
  readonly statusManager: Pick<
    StatusManagerLike,
    | 'getPodStatus'
    | 'setPodStatus'
    | 'terminatePod'
    | 'determinePodResizeStatus'
    | 'setPodResizeInProgressCondition'
    | 'clearPodResizeInProgressCondition'
  >;
  /**
   * Stores the resources that the containers were last given, which shows the containers that must still
   * be resized. It must not be the state of the `AllocationManager`: use `openCheckpointState` with another
   * folder. Default: in memory; the next agent starts from the status of each pod.
   */
  readonly actuatedState?: AllocationState | undefined;
  readonly imageManager: ImageManager;
  /** Why pods without hostNetwork cannot be started; empty if they can. */
  readonly networkErrors: () => readonly string[];
  readonly handlerRunner: BoundedHandlerRunner;
  readonly probeManager: ProbeManager;
  /** Default: pods need no volumes. */
  readonly volumeManager?: BoundedVolumeManager | undefined;
  readonly qosCgroups: Pick<QOSCgroups, 'update'>;
  readonly eventRecorder: PodEventRecorder;
  /**
   * Called at each sync of a static pod with its mirror pod, if there is one, to create or replace the
   * mirror pod if necessary. Must not throw.
   */
  readonly reconcileMirrorPod: (staticPod: ValidPod, mirrorPod: ValidPod | undefined) => void;
  /** The node's addresses, primary first. Default: none are reported. */
  readonly hostIPs?: readonly string[] | undefined;
  /** On the monotonic clock. */
  readonly agentStartedMs: number;
}

interface UpdateStatusOptions extends SyncPodOptions {
  readonly podIsTerminal: boolean;
  readonly podStatusFn?: PodStatusFn | undefined;
}

/**
 * The work of pod workers with a runtime: starts, restarts and stops containers, and passes each status
 * to the status manager. Source: kubelet `SyncPod`, `SyncTerminatingPod`,
 * `SyncTerminatingRuntimePod`, `SyncTerminatedPod`.
 */
export class AgentPodSyncer implements PodLifecycleSyncer {
  /** For the sync loop, which syncs pods past their deadline. */
  readonly activeDeadlineHandler: ActiveDeadlineHandler;
  readonly #options: AgentPodSyncerOptions;
  readonly #runtime: BoundedRuntime;
  /** Not in the workers' records, because the next agent reads it. Undefined if the runtime cannot resize containers. */
  readonly #actuatedResources: ActuatedResources | undefined;
  readonly #resizeProgress: ResizeProgressParts;
  readonly #runtimeManager: RuntimeManager;
  /** Outlives the workers: a static pod that comes back with its UID is still backed off. */
  readonly #crashLoopBackOff: CrashLoopBackOff;

  constructor(options: AgentPodSyncerOptions) {
    const { runtime, eventRecorder, probeManager, statusManager, clock, logger } = options;
    this.#runtime = runtime;
    this.#options = options;
    this.#crashLoopBackOff = new CrashLoopBackOff(clock);
    this.#actuatedResources =
      runtime.updateContainerResources &&
      new ActuatedResources(options.actuatedState ?? new MemoryState(), { clock, logger });
    const actuatedResources = this.#actuatedResources;
    this.#resizeProgress = { statusManager, actuatedResources, eventRecorder };
    this.#runtimeManager = new RuntimeManager({
      ...options,
      crashLoopBackOff: this.#crashLoopBackOff,
      probeResults: probeManager.results,
      actuatedResources,
      updateQOSCgroups: () => options.qosCgroups.update(),
      onPodSandboxReady: (pod) => this.#setReadyToStartContainers(pod),
    });
    this.activeDeadlineHandler = new ActiveDeadlineHandler({
      ...{ clock, eventRecorder },
      podStatusProvider: statusManager,
    });
  }

  async syncPod(
    updateType: SyncPodType,
    pod: ValidPod,
    mirrorPod: ValidPod | undefined,
    runtimeStatus: RuntimePodStatus,
    options: SyncPodOptions,
  ): Promise<SyncPodResult> {
    const { statusManager, probeManager } = this.#options;
    const { signal, scope, syncStatus } = options;
    const uid = pod.metadata.uid;
    if (updateType === 'create') this.#recordSinceSeen('pod_worker_start_duration_seconds', pod);
    updateResizeProgress(pod, runtimeStatus, this.#resizeProgress);
    const cached = statusManager.getPodStatus(uid);
    const previous = cached ?? pod.status;
    const status = await this.#updateStatus(pod, runtimeStatus, { ...options, podIsTerminal: false });
    if (isPodPhaseTerminal(status.phase)) return { isTerminal: true, hasChanged: false };
    if (cached === undefined || (cached.phase === 'Pending' && status.phase === 'Running'))
      this.#recordSinceSeen('pod_start_duration_seconds', pod);

    this.#requireNetwork(pod);
    if (isStaticPod(pod)) this.#options.reconcileMirrorPod(pod, mirrorPod);
    await this.#mountVolumes(pod, options);
    signal.throwIfAborted();
    probeManager.addPod(pod, scope);
    const restartAllContainers =
      status.conditions?.some(({ type, status }) => type === 'AllContainersRestarting' && status === 'True') === true;
    const context = { restartAllContainers, previous, signal, scope };
    // A pod on the network of the host has the addresses that its status shows.
    const ips = status.podIPs?.flatMap(({ ip }) => ip ?? []);
    const results = await this.#runtimeManager.syncPod(pod, { ...runtimeStatus, ips }, context);
    for (const { action, target, failure } of results) {
      if (action !== 'StartContainer') continue;
      if (failure === undefined) syncStatus.startFailures.delete(target);
      else syncStatus.startFailures.set(target, failure);
    }
    reportResizeErrors(pod, results, this.#resizeProgress);
    reportMissingPullSecrets(pod, results, this.#options.eventRecorder);
    const error = syncError(results);
    if (error !== undefined) throw error;
    // All containers were removed for a restart: the next sync starts them.
    const mustSyncAgain = restartAllContainers && results.some(({ action }) => action === 'RemoveContainer');
    return { isTerminal: false, hasChanged: results.length > 0, mustSyncAgain };
  }

  async syncTerminatingPod(
    pod: ValidPod,
    runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    options: SyncPodOptions,
  ): Promise<void> {
    const { probeManager } = this.#options;
    const { signal } = options;
    const uid = pod.metadata.uid;
    await this.#updateStatus(pod, runtimeStatus, { ...options, podIsTerminal: false, podStatusFn });
    probeManager.stopLivenessAndStartup(pod);
    const { cutHooks } = options.syncStatus;
    await this.#killPod(pod, runtimeStatus, gracePeriodSeconds, { ...options, cutHooks });
    probeManager.removePod(uid);

    // Queries the runtime, because the cache is only as recent as the last relist.
    const { ips } = runtimeStatus;
    const stopped = { ...podStatusFromRuntime(pod, await this.#runtime.getPod(uid, { signal }), this.#runtime), ips };
    const running = stopped.containers.filter(({ state }) => state === 'running').map(({ id }) => id);
    if (running.length > 0) {
      throw new Error(`detected running containers after a successful KillPod, CRI violation: ${running.join(', ')}`);
    }
    await this.#updateStatus(pod, stopped, {
      ...options,
      podIsTerminal: true,
      podStatusFn: podStatusFn && ((status) => this.#withReason(pod, status)),
    });
  }

  /**
   * Keeps the reason and message of an evicted or terminated pod.
   *
   * Divergence: in the kubelet, a pod that succeeds after that has neither reason nor message.
   */
  #withReason({ metadata }: ValidPod, status: PodStatusInput): PodStatusInput {
    return { ...whyEnded(this.#options.statusManager.getPodStatus(metadata.uid)), ...status };
  }

  async syncTerminatingRuntimePod(runningPod: RuntimePod, options: PodCallOptions): Promise<void> {
    const pod = toAPIPod(runningPod);
    await this.#killPod(pod, podStatusFromRuntime(pod, runningPod, this.#runtime), 1, options);
  }

  async syncTerminatedPod(pod: ValidPod, runtimeStatus: RuntimePodStatus, options: SyncPodOptions): Promise<void> {
    const { statusManager } = this.#options;
    const { signal } = options;
    await this.#updateStatus(pod, runtimeStatus, { ...options, podIsTerminal: true });
    await this.#options.volumeManager?.waitForUnmount(pod, { signal });
    await this.#runtime.releasePod?.(pod, { signal });
    statusManager.terminatePod(pod);
    this.#actuatedResources?.remove(pod.metadata.uid);
  }

  /**
   * Removes stored data of all pods except these, and back-off entries that have expired. Call it only when all pod
   * sources are ready. Source: kubelet `HandlePodCleanups`.
   */
  removeOrphanedPods(remainingPodUIDs: ReadonlySet<string>): void {
    this.#actuatedResources?.removeOrphanedPods(remainingPodUIDs);
    this.#crashLoopBackOff.gc();
    this.activeDeadlineHandler.removeOrphanedPods(remainingPodUIDs);
  }

  /** On the wall clock, as in the kubelet, because only the annotation says when the pod was first seen. */
  #recordSinceSeen(
    name: 'pod_start_duration_seconds' | 'pod_worker_start_duration_seconds',
    { metadata }: ValidPod,
  ): void {
    const { clock, recordMetric } = this.#options;
    const seenAt = metadata.annotations?.[configSeenAnnotation];
    if (seenAt !== undefined) recordMetric?.(name, Math.max(0, clock.now() - epochMsOf(seenAt)) / 1000);
  }

  /** Runs before images are pulled, which may take long. Source: kubelet `OnPodSandboxReady`. */
  #setReadyToStartContainers(pod: ValidPod): void {
    const { statusManager } = this.#options;
    const { uid, generation } = pod.metadata;
    const status: PodStatusInput = statusManager.getPodStatus(uid) ?? pod.status ?? {};
    const type = 'PodReadyToStartContainers';
    const ready = { type, status: 'True', ...(generation && { observedGeneration: generation }) };
    const conditions = [...(status.conditions ?? [])];
    const index = conditions.findIndex((condition) => condition.type === type);
    conditions.splice(index === -1 ? conditions.length : index, 1, ready);
    statusManager.setPodStatus(pod, { ...status, conditions }, { keepInvalid: true });
  }

  /** Generates the status of the pod, passes it to the status manager, and resolves with what it was set to. */
  async #updateStatus(
    pod: ValidPod,
    runtimeStatus: RuntimePodStatus,
    { podIsTerminal, podStatusFn, ...options }: UpdateStatusOptions,
  ): Promise<PodStatusInput> {
    const resources = await this.#resourcesOf(pod, options);
    const { startFailures } = options.syncStatus;
    const generated = this.#generateStatus(pod, runtimeStatus, { podIsTerminal, resources, startFailures });
    const status = podStatusFn === undefined ? generated : podStatusFn(generated);
    // Divergence: the kubelet writes nothing of a status in which a container that has ended would run again.
    return setGeneratedStatus(this.#options.statusManager, pod, status);
  }

  /** The resources of the cgroup of a running pod; as in the kubelet, undefined if they cannot be read. */
  async #resourcesOf(
    pod: ValidPod,
    { signal, syncStatus }: SyncPodOptions,
  ): Promise<ResourceRequirementsInput | undefined> {
    if (this.#runtime.podResources === undefined || pod.status?.phase !== 'Running') return undefined;
    try {
      const resources = await this.#runtime.podResources(pod, { signal });
      syncStatus.resourceFailures?.succeeded(podFieldsOf(pod));
      return resources;
    } catch (error) {
      signal.throwIfAborted();
      const { clock, logger } = this.#options;
      syncStatus.resourceFailures ??= new FailureLog({ clock, logger, what: resourceMessages });
      syncStatus.resourceFailures.failed(error, podFieldsOf(pod));
      return {};
    }
  }

  #generateStatus(
    pod: ValidPod,
    runtimeStatus: RuntimePodStatus,
    {
      podIsTerminal,
      resources,
      startFailures,
    }: { readonly podIsTerminal: boolean } & Pick<PodObservation, 'resources' | 'startFailures'>,
  ): PodStatusInput {
    const { statusManager, probeManager, hostIPs, agentStartedMs, clock } = this.#options;
    const uid = pod.metadata.uid;
    const previous = statusManager.getPodStatus(uid);
    const shown = keepReportedEnds(runtimeStatus, previous ?? pod.status);
    const generated = generatePodStatus(pod, {
      runtimeStatus: this.#actuatedResources?.complete(uid, shown) ?? shown,
      podIsTerminal,
      resources,
      previous,
      // Divergence: in the kubelet a container in CrashLoopBackOff keeps waiting when its pod is evicted,
      // so terminatePod reports it as lost, although its exit code is known.
      startFailures: podIsTerminal ? failuresBeforeFirstRun(startFailures, shown, previous) : startFailures,
      probeResults: probeManager.results,
      resizeConditions: statusManager.determinePodResizeStatus(uid, podIsTerminal),
      // Divergence: in the kubelet, a pod that has Succeeded can still exceed its deadline until it is cleaned up.
      eviction: previous?.phase === 'Succeeded' ? undefined : this.activeDeadlineHandler.shouldEvict(pod),
      hostIPs,
      // By the present wall clock, which may have been changed since the start.
      agentStartedAtMs: clock.now() - (clock.monotonicMs() - agentStartedMs),
    });
    const status = {
      ...keepReasonOfEnd(generated, previous),
      ...(resources === undefined && this.#actuatedPodResources(pod)),
    };
    probeManager.triggerReadiness(uid, status);
    return status;
  }

  /** While pod-level resources are resized, a running pod still has the earlier ones. */
  #actuatedPodResources({ metadata, spec, status }: ValidPod): Pick<PodStatusInput, 'resources'> {
    if (status?.phase !== 'Running' || spec?.resources == null) return {};
    const resources = this.#actuatedResources?.pod(metadata.uid).resources;
    if (resources === undefined || areAmountsEqual(spec.resources, resources)) return {};
    return { resources: podStatusResources({ ...spec, resources }).resources };
  }

  /** The network may be ready soon, so the pod is retried after a second. Source: kubelet `SyncPod`, `completeWork`. */
  #requireNetwork(pod: ValidPod): void {
    const { networkErrors, eventRecorder, clock } = this.#options;
    const errors = networkErrors();
    if (errors.length === 0 || pod.spec?.hostNetwork === true) return;
    const message = `network is not ready: ${errors.join(', ')}`;
    eventRecorder.event({ pod, type: 'Warning', reason: 'NetworkNotReady', message });
    throw new BackOffError(message, clock.monotonicMs() + networkRetryMs);
  }

  async #mountVolumes(pod: ValidPod, { signal, scope }: PodCallOptions): Promise<void> {
    try {
      await this.#options.volumeManager?.waitForAttachAndMount(pod, { signal, scope });
    } catch (thrown) {
      signal.throwIfAborted();
      // The volume manager has already recorded an Event about the volume.
      if (thrown instanceof CallTimeoutError) throw thrown;
      const message = `Unable to attach or mount volumes: ${reasonOf(thrown)}`;
      this.#options.eventRecorder.event({ pod, type: 'Warning', reason: 'FailedMount', message });
      throw thrown;
    }
  }

  async #killPod(
    pod: ValidPod,
    runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    options: KillPodCallOptions,
  ): Promise<void> {
    const { signal } = options;
    const error = syncError(await this.#runtimeManager.killPod(pod, runtimeStatus, gracePeriodSeconds, options));
    if (error === undefined) return this.#options.qosCgroups.update(signal);
    signal.throwIfAborted();
    const message = `error killing pod: ${error.message}`;
    this.#options.eventRecorder.event({ pod, type: 'Warning', reason: 'FailedKillPod', message });
    throw new Error(`error killing terminating pod: ${error.message}`, { cause: error });
  }
}

/** The failures of containers that have no run in the runtime, and whose end has not been reported either. */
function failuresBeforeFirstRun(
  startFailures: StartFailures | undefined,
  { containers }: RuntimePodStatus,
  reported: PodStatusInput | undefined,
): StartFailures | undefined {
  const ended = containerStatusesOf(reported).filter(({ state }) => state?.terminated != null);
  const haveRun = new Set([...containers, ...ended].map(({ name }) => name));
  return startFailures && { get: (name) => (haveRun.has(name) ? undefined : startFailures.get(name)) };
}
