import cloneDeep from 'lodash/cloneDeep.js';
import isMatch from 'lodash/isMatch.js';
import xorWith from 'lodash/xorWith.js';
import type { Clock } from '../../shared/clock.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { podFields, statusFields } from '../../shared/log-fields.ts';
import type { Logger } from '../../shared/logger.ts';
import type { ContainerType, Metrics } from '../metrics.ts';
import type { PodManager } from '../../kube/pod-manager/pod-manager.ts';
import { requirePod } from '../../kube/pods/require-pod.ts';
import { isOutdatedMirror, isStaticPod } from '../../kube/pods/static-pods.ts';
import { canonicalPodStatus, canonicalVolumeHealthConditions } from '../status/canonical.ts';
import { TimeFormatter } from '../../shared/time.ts';
import { replaceOrAppendPodCondition } from '../status/conditions.ts';
import type { ContainerStatusesField } from '../status/container-statuses.ts';
import { isBeingDeleted } from '../status/deletion.ts';
import { isPodStatusByKubeletEqual } from '../status/equality.ts';
import {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
} from '../status/generate-conditions.ts';
import { normalizeStatus } from '../status/normalize.ts';
import { getPhase, hasRun, isPodPhaseTerminal } from '../status/phase.ts';
import { terminatedPodStatus } from '../status/terminate.ts';
import { refreshLastTransitionTimes } from '../status/transition-times.ts';
import { checkContainerStateTransition, keepTerminatedContainers } from '../status/transitions.ts';
import type {
  ContainerStatus,
  Mutable,
  Pod,
  PodStatus,
  PodStatusInput,
  ValidPod,
  VolumeHealthCondition,
  VolumeHealthConditionInput,
} from '../../kube/objects/types.ts';
import { deepFreeze } from '../../shared/freeze.ts';
import {
  acceptedResult,
  ignoredResult,
  type IgnoredReason,
  rejectedResult,
  type Rejection,
  type UpdateResult,
} from './update-result.ts';
import type { PodStatusCache, VersionedPodStatus } from './pod-status-cache.ts';
import type { Subscribers } from '../../shared/subscribers.ts';
import type { PodStatusListener } from './pod-status-listener.ts';

export interface PodStatusUpdatesOptions {
  readonly cache: PodStatusCache;
  readonly podManager: PodManager;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly subscribers: Subscribers<PodStatusListener>;
  /**
   * Called after each accepted change; `superseded` is the previously cached version. kubelet: the
   * `podStatusChannel`.
   */
  readonly onAccepted: (
    uid: string,
    accepted: VersionedPodStatus,
    superseded: VersionedPodStatus | undefined,
    oldStatus: PodStatus,
  ) => void;
  /**
   * Called after each `setPodStatus` of a pod with a cached status; `rejected` is undefined if all of it was legal, and
   * `invalid`, the error about an invalid value that was kept, if all values were valid.
   */
  readonly onChecked: (pod: ValidPod, rejected: Rejection | undefined, invalid: unknown) => void;
  /** Called when the new status equals the cached one. */
  readonly onUnchanged: (uid: string) => void;
}

/** Source: kubelet `updateStatusInternal`. */
export const abortedMessage = 'Status update on pod aborted';

const containerTypeOfField: readonly (readonly [ContainerStatusesField, ContainerType])[] = [
  ['containerStatuses', 'container'],
  ['initContainerStatuses', 'init_container'],
  ['ephemeralContainerStatuses', 'ephemeral_container'],
];

/**
 * The setters of the status manager. Each public method is one critical section: no `await` between
 * reading and writing the cache; listeners are called afterwards.
 */
export class PodStatusUpdates {
  readonly #options: PodStatusUpdatesOptions;
  #hasWarnedOfMissingScheme = false;
  readonly #times = new TimeFormatter();
  /** A formatter of its own, because it caches only the latest time: input times would evict ours. */
  readonly #inputTimes = new TimeFormatter();

  constructor(options: PodStatusUpdatesOptions) {
    this.#options = options;
  }

  /** Source: kubelet `SetPodStatus`. */
  setPodStatus(
    pod: ValidPod,
    input: PodStatusInput,
    {
      keepTerminated = false,
      keepInvalid = false,
    }: { readonly keepTerminated?: boolean | undefined; readonly keepInvalid?: boolean | undefined } = {},
  ): UpdateResult {
    const { status, invalid } = this.#read(input, keepInvalid);
    setObservedGeneration(status, pod.metadata.generation ?? 0);
    const result = this.#updateStatusInternal(pod, status, isBeingDeleted(pod), false, keepTerminated);
    if (this.#options.cache.has(pod.metadata.uid)) this.#options.onChecked(pod, result.rejected, invalid);
    return result;
  }

  #read(
    input: PodStatusInput,
    keepInvalid: boolean,
  ): { readonly status: Mutable<PodStatus>; readonly invalid?: unknown } {
    try {
      return { status: canonicalPodStatus(input, { strict: true }, this.#inputTimes) };
    } catch (invalid) {
      if (!keepInvalid) throw invalid;
      return { status: canonicalPodStatus(input, { strict: false, unique: true }, this.#inputTimes), invalid };
    }
  }

  /** Source: kubelet `SetContainerReadiness`. */
  setContainerReadiness(podUID: string, containerID: string, ready: boolean): UpdateResult {
    return this.#updateContainer(podUID, containerID, { ready }, withReadiness);
  }

  /** Source: kubelet `SetContainerStartup`. */
  setContainerStartup(podUID: string, containerID: string, started: boolean): UpdateResult {
    return this.#updateContainer(podUID, containerID, { started }, (_pod, status) => status);
  }

  /** Source: kubelet `SetPodVolumeHealth`. */
  setPodVolumeHealth(
    podUID: string,
    volumeName: string,
    conditions: readonly VolumeHealthConditionInput[],
  ): UpdateResult {
    const healthConditions = canonicalVolumeHealthConditions(conditions, { strict: true });
    const pod = this.#podOf(podUID);
    const cached = this.#options.cache.get(podUID);
    if (pod === undefined) return this.#ignored(podUID, 'unknown-pod');
    if (cached === undefined || cached.adopted !== undefined) return this.#ignored(podUID, 'no-status');
    const old = cached.status.volumeHealth?.find(({ name }) => name === volumeName);
    if (haveSameHealth(old?.healthConditions, healthConditions)) return this.#ignored(podUID, 'unchanged');

    const entry = { ...old, name: volumeName, lastTransitionTime: this.#now() };
    if (healthConditions === undefined) delete entry.healthConditions;
    else entry.healthConditions = healthConditions;
    const volumeHealth = (cached.status.volumeHealth ?? []).map((other) => (other === old ? entry : other));
    if (old === undefined) volumeHealth.push(entry);
    return this.#updateStatusInternal(pod, { ...cached.status, volumeHealth }, false, false);
  }

  /** Source: kubelet `TerminatePod`. */
  terminatePod(pod: ValidPod): UpdateResult {
    const podStatus = canonicalPodStatus(pod.status, { strict: false, unique: true });
    const status = this.#options.cache.get(pod.metadata.uid)?.status ?? podStatus;
    const isStatic = isStaticPod(pod);
    if (!isStatic && !knownPhases.has(status.phase ?? '')) {
      this.#options.logger.error({ ...podFieldsOf(pod), phase: status.phase }, 'Unknown phase of a terminated pod');
    }
    return this.#updateStatusInternal(pod, terminatedPodStatus(pod, podStatus, status, isStatic), true, true);
  }

  #updateContainer(
    podUID: string,
    containerID: string,
    change: Partial<Pick<ContainerStatus, 'ready' | 'started'>>,
    regenerate: (pod: Pod, status: PodStatus) => PodStatus,
  ): UpdateResult {
    const pod = this.#podOf(podUID);
    if (pod === undefined) return this.#ignored(podUID, 'unknown-pod', containerID);
    const cached = this.#options.cache.get(podUID);
    // As in the kubelet, which has no status until this run sets one. The rest of an adopted status may be outdated.
    if (cached === undefined || cached.adopted !== undefined) return this.#ignored(podUID, 'no-status', containerID);
    const { status } = cached;
    for (const field of ['containerStatuses', 'initContainerStatuses'] as const) {
      const container = status[field]?.find((candidate) => candidate.containerID === containerID);
      if (container === undefined) continue;
      if (isMatch(container, change)) return this.#ignored(podUID, 'unchanged', containerID);
      const statuses = status[field]!.map((other) => (other === container ? { ...other, ...change } : other));
      return this.#updateStatusInternal(pod, regenerate(pod, { ...status, [field]: statuses }), false, false);
    }
    if (!containerID.includes('://')) this.#warnOfMissingScheme(podUID, containerID);
    return this.#ignored(podUID, 'unknown-container', containerID);
  }

  /**
   * Caches the status unless it is rejected or equal to the cached one. `newStatus` is canonical. Only
   * its top-level fields may be assigned; nested objects may be shared with the cached status.
   * Source: kubelet `updateStatusInternal`.
   */
  #updateStatusInternal(
    pod: ValidPod,
    newStatus: Mutable<PodStatus>,
    forceUpdate: boolean,
    isFinished: boolean,
    keepTerminated = false,
  ): UpdateResult {
    const uid = pod.metadata.uid;
    const cached = this.#options.cache.get(uid);
    const oldStatus = cached?.status ?? this.#statusOfObject(pod);
    const podIsFinished = isFinished || (cached !== undefined && cached.podIsFinished && !isStaticPod(pod));

    const illegal = checkContainerStateTransition(oldStatus, newStatus, pod.spec ?? {});
    if (illegal !== undefined) {
      this.#options.metrics.incRefusedUpdates('illegal-container-transition');
      if (!keepTerminated || !keepTerminatedContainers(oldStatus, newStatus, pod.spec ?? {}))
        return this.#rejected(pod, cached, illegal);
      followContainers(pod, oldStatus, newStatus);
    }

    this.#inheritFields(oldStatus, newStatus);
    const status = normalizeStatus(pod, newStatus);
    this.#countTerminations(oldStatus, status);
    const isSame = cached !== undefined && isPodStatusByKubeletEqual(cached.status, status);
    if (isSame && !forceUpdate) {
      this.#options.onUnchanged(uid);
      return this.#ignored(uid, 'unchanged', undefined, illegal);
    }

    const versioned = this.#options.cache.set(
      uid,
      {
        podName: pod.metadata.name,
        podNamespace: pod.metadata.namespace,
        podIsFinished,
        status,
        isSame,
        urgent: podIsFinished || isUrgent(oldStatus, status),
        adopted: isFinished ? cached?.adopted : undefined,
      },
      this.#options.clock.monotonicMs(),
    );
    this.#options.onAccepted(uid, versioned, cached, oldStatus);
    this.#options.logger.debug(statusFields(uid, versioned), 'Status of pod accepted');
    this.#notify(pod, versioned, cached === undefined && !isBeingDeleted(pod));
    return acceptedResult(status, illegal);
  }

  /** A pod manager of the user may show anything. @throws StatusManagerError INVALID_ARGUMENT */
  #podOf(podUID: string): ValidPod | undefined {
    const pod = this.#options.podManager.getPodByUID(podUID);
    if (pod !== undefined) requirePod(pod, 'podManager.getPodByUID()');
    return pod;
  }

  /**
   * The API object's status (for a static pod, its mirror's), for a pod without a cached status.
   *
   * Divergence: the status of a mirror pod of an earlier version is ignored. The kubelet then aborts the update until that
   * mirror pod is deleted.
   */
  #statusOfObject(pod: Pod): PodStatus {
    const mirror = this.#options.podManager.getMirrorPodByPod(pod);
    const { status } = mirror === undefined || isOutdatedMirror(mirror, pod) ? pod : mirror;
    return status === undefined ? {} : canonicalPodStatus(status, { strict: false });
  }

  /** Times, volume health and generation that `status` inherits from the old one. */
  #inheritFields(oldStatus: PodStatus, status: Mutable<PodStatus>): void {
    const now = this.#now();
    status.startTime = oldStatus.startTime ?? status.startTime ?? now;
    const conditions = refreshLastTransitionTimes(oldStatus, status.conditions, now);
    if (conditions !== undefined) status.conditions = conditions;
    if (status.volumeHealth === undefined && oldStatus.volumeHealth !== undefined)
      status.volumeHealth = oldStatus.volumeHealth;
    const oldGeneration = oldStatus.observedGeneration ?? 0;
    if (oldGeneration > (status.observedGeneration ?? 0)) setObservedGeneration(status, oldGeneration);
  }

  #countTerminations(oldStatus: PodStatus, status: PodStatus): void {
    for (const [field, containerType] of containerTypeOfField) {
      for (const { name, state } of status[field] ?? []) {
        if (state.terminated === undefined) continue;
        const old = oldStatus[field]?.find((container) => container.name === name);
        if (old?.state.terminated !== undefined) continue;
        this.#options.metrics.incTerminatedContainers(
          containerType,
          state.terminated.exitCode,
          state.terminated.reason ?? '',
        );
      }
    }
  }

  /** Passes a frozen copy to the listeners: the caller owns the pod, and listeners must not affect each other. */
  #notify(pod: Pod, { status, podIsFinished }: VersionedPodStatus, isAdded: boolean): void {
    if (this.#options.subscribers.isEmpty) return;
    let copy: Pod | undefined;
    const updated = (): Pod => (copy ??= deepFreeze({ ...cloneDeep({ ...pod, status: undefined }), status }));
    this.#options.subscribers.notify((listener) =>
      podIsFinished ? listener.onPodRemoved?.(updated()) : listener.onPodUpdated?.(updated(), status, isAdded),
    );
  }

  #rejected(pod: ValidPod, cached: VersionedPodStatus | undefined, rejected: Rejection): UpdateResult {
    // With a cached status, `onChecked` logs when the rejections begin and end.
    if (cached === undefined) this.#options.logger.error({ ...podFieldsOf(pod), ...rejected }, abortedMessage);
    return rejectedResult(cached?.status, rejected);
  }

  #ignored(podUID: string, ignored: IgnoredReason, containerID?: string, rejected?: Rejection): UpdateResult {
    const cached = this.#options.cache.get(podUID);
    // Trace, because an agent that sets every status at each observation would flood the debug log.
    if (ignored === 'unchanged') {
      this.#options.logger.trace(statusFields(podUID, cached!), 'Ignoring same status for pod');
    } else {
      const fields = cached === undefined ? { podUID } : statusFields(podUID, cached);
      this.#options.logger.debug({ ...fields, containerID, ignored }, 'Status update on pod ignored');
    }
    return ignoredResult(cached?.status, ignored, rejected);
  }

  #warnOfMissingScheme(podUID: string, containerID: string): void {
    if (this.#hasWarnedOfMissingScheme) return;
    this.#hasWarnedOfMissingScheme = true;
    this.#options.logger.warn(
      { ...podFields(podUID, this.#options.cache.get(podUID)!), containerID },
      'Unknown container ID without a scheme such as containerd://; logged only once',
    );
  }

  #now(): string {
    return this.#times.formatEpochMs(this.#options.clock.now());
  }
}

const knownPhases: ReadonlySet<string> = new Set(['Pending', 'Running', 'Succeeded', 'Failed']);

function haveSameHealth(
  old: readonly VolumeHealthCondition[] | undefined,
  conditions: readonly VolumeHealthCondition[] | undefined,
): boolean {
  const isSame = (a: VolumeHealthCondition, b: VolumeHealthCondition) => a.status === b.status && a.reason === b.reason;
  return xorWith(old, conditions, isSame).length === 0;
}

/** 0 is an absent field, as in Go. */
function setObservedGeneration(status: Mutable<PodStatus>, generation: number): void {
  if (generation === 0) delete status.observedGeneration;
  else status.observedGeneration = generation;
}

/** Ready, then ContainersReady, regenerated from the containers that `status` lists. Source: kubelet `SetContainerReadiness`. */
function withReadiness(pod: Pod, status: PodStatus): PodStatus {
  const containerStatuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const phase = status.phase ?? '';
  const conditions = [...(status.conditions ?? [])];
  replaceOrAppendPodCondition(conditions, generatePodReadyCondition(pod, status, conditions, containerStatuses, phase));
  replaceOrAppendPodCondition(conditions, generateContainersReadyCondition(pod, status, containerStatuses, phase));
  return { ...status, conditions };
}

/**
 * Derives the phase and the conditions of `status` again: its containers are no longer those from which
 * the caller derived them.
 */
function followContainers(pod: Pod, oldStatus: PodStatus, status: Mutable<PodStatus>): void {
  const { containerStatuses = [], initContainerStatuses = [], conditions } = status;
  const statuses = [...initContainerStatuses, ...containerStatuses];
  if (isPodPhaseTerminal(oldStatus.phase)) {
    status.phase = oldStatus.phase;
  } else if (status.phase !== undefined) {
    const isTerminal = isPodPhaseTerminal(status.phase);
    const phase = getPhase(pod, statuses, isTerminal, containerStatuses.some(hasRun));
    // With a reason, the pod was ended: its phase does not follow from its containers.
    if (!isTerminal || (!status.reason && isPodPhaseTerminal(phase))) status.phase = phase;
  }
  const phase = status.phase ?? '';
  if (conditions === undefined) return;
  status.conditions = conditions.map((condition) => {
    if (condition.type === 'Initialized') return generatePodInitializedCondition(pod, oldStatus, statuses, phase);
    if (condition.type === 'Ready') return generatePodReadyCondition(pod, oldStatus, conditions, statuses, phase);
    if (condition.type === 'ContainersReady') return generateContainersReadyCondition(pod, oldStatus, statuses, phase);
    return condition;
  });
}

function isUrgent(oldStatus: PodStatus, status: PodStatus): boolean {
  return (
    readiness(oldStatus) !== readiness(status) || (oldStatus.phase !== status.phase && isPodPhaseTerminal(status.phase))
  );
}

function readiness(status: PodStatus): boolean {
  return status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false;
}
