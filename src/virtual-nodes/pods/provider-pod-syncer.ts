import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import type { PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import { withDeadline } from '../../shared/deadline.ts';
import {
  ActiveDeadlineHandler,
  BackOffError,
  crashLoopError,
  crashLoopEvent,
  crashLoopMessage,
  type PodCallOptions,
  type PodEventRecorder,
  type PodLifecycleSyncer,
  type PodScope,
  type PodStatusFn,
  resizeMessage,
  type RuntimePod,
  type RuntimePodStatus,
  setGeneratedStatus,
  type SyncPodOptions,
  type SyncPodResult,
  type SyncPodType,
} from '../../node/index.ts';
import type { Clock } from '../../shared/clock.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { NodeFieldValues, PodMaterialsReader } from '../materials/pod-materials-reader.ts';
import type { PodProbes } from '../probes/pod-probes.ts';
import type { OrphanedPods } from './orphaned-pods.ts';
import { generateProviderPodStatus, hasPodRun, providerPodStatusInputs } from './generate-provider-pod-status.ts';
import { podHash } from './pod-hash.ts';
import {
  type PodProvider,
  type ProviderPodReference,
  type ProviderCallOptions,
  ProviderError,
  type ProviderPodOptions,
} from '../pod-provider.ts';
import type { ProviderCalls, ProviderMethods } from '../calls/provider-calls.ts';
import type { ProviderPodCache } from './provider-pod-cache.ts';
import {
  hasEnded,
  type NextCall,
  type PodFailure,
  type ProviderPodOperation,
  type ProviderPodRecord,
  type ProviderPodStatusInputs,
  reportedPod,
  type WantedPod,
  wasAccepted,
} from './provider-pod-record.ts';
import { shortText } from './provider-pod-status.ts';
import { readProviderPod } from '../calls/require-provider-pods.ts';

export interface ProviderPodSyncerOptions {
  readonly nodeName: string;
  readonly provider: ProviderMethods;
  readonly calls: Pick<ProviderCalls, 'forPod'>;
  readonly podCache: ProviderPodCache;
  readonly orphanedPods: Pick<OrphanedPods, 'isOrphaned'>;
  readonly materials: Pick<PodMaterialsReader, 'read'>;
  readonly nodeFacts: () => NodeFieldValues;
  /** See `ProviderCallOptions`. */
  readonly epoch: number;
  readonly statusManager: Pick<
    StatusManagerLike,
    'clearPodResizeInProgressCondition' | 'determinePodResizeStatus' | 'getPodStatus' | 'setPodStatus' | 'terminatePod'
  >;
  readonly eventRecorder: PodEventRecorder;
  /** Undefined if the provider runs the probes. */
  readonly probes: PodProbes | undefined;
  /** Called when the provider has accepted the deletion of a pod that only it had. */
  readonly onOrphanDeleted: () => void;
  /** The addresses of the Node, primary first. Default: none are reported. */
  readonly hostIPs?: readonly string[] | undefined;
  readonly clock: Clock;
}

interface StatusUpdate {
  readonly podIsTerminal?: boolean | undefined;
  readonly podStatusFn?: PodStatusFn | undefined;
  readonly failure?: PodFailure | undefined;
  /** The pod waits for its next start. */
  readonly crashLoop?: Extract<NextCall, { kind: 'crashLoop' }> | undefined;
}

/** If a pod has not ended for this long after its grace period, its deletion is requested again. */
const endTimeoutMs = 60_000;
/** An orphan has no spec, so its grace period is unknown. */
const orphanGracePeriodSeconds = 1;
const defaultGracePeriodSeconds = 30;
const orphan: WantedPod = { kind: 'ended', hasObject: false, mayExist: false };

/** The reasons of Events. Source: virtual-kubelet `podEventCreateFailed`, `podEventUpdateFailed`, `podEventDeleteFailed`. */
const eventReasons: Readonly<Record<ProviderPodOperation, string>> = {
  create_pod: 'ProviderCreateFailed',
  update_pod: 'ProviderUpdateFailed',
  delete_pod: 'ProviderDeleteFailed',
};

/** Events about successful calls. Source: virtual-kubelet `podEventCreateSuccess` and so on. */
const successEvents = {
  create_pod: { reason: 'ProviderCreateSuccess', message: 'Create pod in provider successfully' },
  update_pod: { reason: 'ProviderUpdateSuccess', message: 'Update pod in provider successfully' },
  delete_pod: { reason: 'ProviderDeleteSuccess', message: 'Delete pod in provider successfully' },
} as const satisfies Readonly<Record<ProviderPodOperation, PodFailure>>;

/**
 * What pod workers do with a provider: they create, update and delete whole pods, and pass each status to the status manager.
 * `reconcileProviderPod` decides what to do next. A terminating pod is deleted in the cloud immediately; its worker then waits
 * until the pod is reported as stopped, or is no longer listed. Source: kubelet `SyncPod`, `SyncTerminatingPod`,
 * `SyncTerminatingRuntimePod`, `SyncTerminatedPod`; virtual-kubelet `createOrUpdatePod`, `deletePod`.
 */
export class ProviderPodSyncer implements PodLifecycleSyncer {
  /** For the sync loop, which syncs pods past their deadline. */
  readonly activeDeadlineHandler: ActiveDeadlineHandler;
  readonly #options: ProviderPodSyncerOptions;

  constructor(options: ProviderPodSyncerOptions) {
    this.#options = options;
    const { clock, eventRecorder, statusManager } = options;
    this.activeDeadlineHandler = new ActiveDeadlineHandler({ clock, eventRecorder, podStatusProvider: statusManager });
  }

  async syncPod(
    _updateType: SyncPodType,
    pod: ValidPod,
    _mirrorPod: ValidPod | undefined,
    _runtimeStatus: RuntimePodStatus,
    options: SyncPodOptions,
  ): Promise<SyncPodResult> {
    const { podCache, eventRecorder, probes, statusManager } = this.#options;
    const { uid } = pod.metadata;
    const previous = statusManager.getPodStatus(uid) ?? pod.status;
    const call = podCache.reconcile(uid, {
      wanted: { kind: 'running', pod, previous, mayExist: hasPodRun(previous) },
    });
    if (call.kind === 'wait') return { isTerminal: false, hasChanged: false };
    if (call.kind === 'terminate') return { isTerminal: true, hasChanged: false };
    const failure = call.kind === 'fail' ? call.failure : undefined;
    if (failure !== undefined) eventRecorder.event({ pod, type: 'Warning', ...failure });
    const crashLoop = call.kind === 'crashLoop' ? call : undefined;
    const { phase } = this.#updateStatus(pod, { failure, crashLoop });
    if (isPodPhaseTerminal(phase)) return { isTerminal: true, hasChanged: false };
    if (crashLoop !== undefined) this.#waitForRestart(pod, crashLoop);
    probes?.manager.addPod(pod, options.scope);
    if (call.kind === 'create') return this.#create(pod, call.restartCount, options);
    const unkilled = await probes?.killUnhealthy(pod, options);
    if (call.kind === 'update') await this.#update(pod, call.previous, options);
    if (call.kind === 'applied') this.#resizeCompleted(pod);
    throwIfBackOff(call);
    if (unkilled !== undefined) throw unkilled;
    return { isTerminal: false, hasChanged: false };
  }

  async syncTerminatingPod(
    pod: ValidPod,
    _runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    options: SyncPodOptions,
  ): Promise<void> {
    const { podCache, statusManager } = this.#options;
    const { uid } = pod.metadata;
    const previous = statusManager.getPodStatus(uid) ?? pod.status;
    // Before the status changes: without a report, the containers look as if they had ended.
    const mayExist = !isPodPhaseTerminal(previous?.phase);
    const call = podCache.reconcile(uid, { wanted: { kind: 'ended', hasObject: true, mayExist, previous } });
    const record = podCache.record(uid);
    const reported = reportedPod(record);
    const isAwaited = reported === undefined && !hasEnded(record) && hasPodRun(previous);
    // `syncTerminatedPod` shows the end. Before that, the status manager would hold back the phase, and read the pod.
    if (podStatusFn !== undefined || !(isAwaited || reported?.state === 'stopped'))
      this.#updateStatus(pod, { podStatusFn });
    this.#options.probes?.manager.stopLivenessAndStartup(pod);
    const seconds = gracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? defaultGracePeriodSeconds;
    await this.#end(this.#referenceOf(pod), seconds, call, options, pod);
  }

  async syncTerminatingRuntimePod(runningPod: RuntimePod, options: PodCallOptions): Promise<void> {
    const { uid, namespace, name } = runningPod;
    const { nodeName, podCache } = this.#options;
    const call = podCache.reconcile(uid, { wanted: orphan });
    await this.#end({ uid, namespace, name, nodeName }, orphanGracePeriodSeconds, call, options);
  }

  async syncTerminatedPod(pod: ValidPod, _runtimeStatus: RuntimePodStatus): Promise<void> {
    this.#updateStatus(pod, { podIsTerminal: true });
    this.#options.statusManager.terminatePod(pod);
    this.#options.podCache.reconcile(pod.metadata.uid, { report: { kind: 'terminated' } });
  }

  /** Removes the records of all pods except these. Call it only when the pods of the API server are known. */
  removeOrphanedPods(remainingPodUIDs: ReadonlySet<string>): void {
    this.activeDeadlineHandler.removeOrphanedPods(remainingPodUIDs);
    this.#options.podCache.removeOrphanedPods(remainingPodUIDs);
  }

  /** @throws SyncActionError CrashLoopBackOff */
  #waitForRestart(pod: ValidPod, { delayMs, untilMs }: Extract<NextCall, { kind: 'crashLoop' }>): never {
    const [{ name } = { name: '' }] = pod.spec?.containers ?? [];
    this.#options.eventRecorder.event(crashLoopEvent(pod, name));
    throw crashLoopError(crashLoopMessage(delayMs, pod, name), untilMs);
  }

  async #create(pod: ValidPod, restartCount: number, { signal, scope }: SyncPodOptions): Promise<SyncPodResult> {
    const { podCache, clock } = this.#options;
    const { uid } = pod.metadata;
    const failed = await this.#call('create_pod', this.#referenceOf(pod), { pod, signal }, (options, provider) => {
      const observation = podCache.beginObservation();
      podCache.reconcile(uid, { report: { kind: 'creating', pod, restartCount, observation } });
      // A copy: what the provider changes in it changes nothing here.
      return provider.createPod(structuredClone(pod), this.#podOptions(pod, options, scope));
    });
    if (failed !== undefined) {
      this.#updateStatus(pod, { failure: failed.kind === 'fail' ? failed.failure : undefined });
      throwIfBackOff(failed);
      return { isTerminal: true, hasChanged: false };
    }
    podCache.reconcile(uid, {
      report: { kind: 'created', observation: podCache.beginObservation(), atMs: clock.now() },
    });
    return { isTerminal: false, hasChanged: true };
  }

  async #update(pod: ValidPod, previous: ValidPod | undefined, { signal, scope }: SyncPodOptions): Promise<void> {
    const failed = await this.#call('update_pod', this.#referenceOf(pod), { pod, signal }, (options, provider) =>
      provider.updatePod!(structuredClone(pod), structuredClone(previous), this.#podOptions(pod, options, scope)),
    );
    throwIfBackOff(failed);
    if (failed !== undefined) return;
    this.#options.podCache.reconcile(pod.metadata.uid, { report: { kind: 'updated', pod } });
    this.#resizeCompleted(pod);
  }

  /** Called when the provider has accepted the pod: a resize that was in progress is complete. */
  #resizeCompleted(pod: ValidPod): void {
    const { statusManager, eventRecorder } = this.#options;
    const { changed, observedGeneration } = statusManager.clearPodResizeInProgressCondition(pod.metadata.uid);
    if (!changed) return;
    const message = resizeMessage('Pod resize completed', pod, observedGeneration);
    eventRecorder.event({ pod, type: 'Normal', reason: 'ResizeCompleted', message });
    this.#updateStatus(pod);
  }

  /**
   * Resolves when nothing of the pod runs in the cloud.
   * @param pod absent for a pod that only the cloud has: it is deleted, even if it has stopped, unless the API server has it
   */
  async #end(
    reference: ProviderPodReference,
    gracePeriodSeconds: number,
    call: NextCall,
    { signal, scope }: PodCallOptions,
    pod?: ValidPod,
  ): Promise<void> {
    const { podCache, clock } = this.#options;
    const { uid } = reference;
    throwIfBackOff(call);
    if (call.kind === 'none' || (pod === undefined && !(await this.#isOrphan(reference, signal)))) return;
    const failed = await this.#delete(reference, gracePeriodSeconds, { pod, signal });
    throwIfBackOff(failed);
    if (failed !== undefined) return;
    const timeoutMs = gracePeriodSeconds * 1000 + endTimeoutMs;
    await withDeadline(clock, timeoutMs, signal, async (deadline) => {
      const observation = new AbortController();
      void this.#observe(reference, { signal: observation.signal, scope });
      try {
        await podCache.untilEnded(uid, deadline.signal);
      } catch (thrown) {
        if (!deadline.isExceeded) throw thrown;
        const message = `the pod has not ended ${timeoutMs / 1000} s after its deletion was requested`;
        throw new Error(message, { cause: thrown });
      } finally {
        observation.abort();
      }
    });
  }

  /** Asks for one pod, so that its end is seen before the next list. Never rejects; an error has no effect. */
  async #observe(reference: ProviderPodReference, { signal, scope }: PodCallOptions): Promise<void> {
    const { calls, podCache, epoch } = this.#options;
    if (this.#options.provider.getPod === undefined) return;
    const observation = podCache.beginObservation();
    try {
      const found: unknown = await scope.run('getPod of the provider', { signal }, (call) =>
        calls.forPod(reference.uid, 'get_pod', call.signal, (options, provider) =>
          provider.getPod!({ ...reference }, { ...options, epoch }),
        ),
      );
      if (found === undefined)
        return void podCache.reconcile(reference.uid, { report: { kind: 'notFound', observation } });
      const pod = readProviderPod(found);
      // In the meantime, lists may have shown that the pod has ended, and its record may have been dropped.
      const isKnown = podCache.record(pod.uid).state.kind !== 'notAsked';
      if (pod.uid === reference.uid && isKnown) podCache.set(pod, observation);
    } catch {
      // The next list shows the end.
    }
  }

  /** Makes a call, and records why it fails. Returns what to do instead if it has failed. */
  async #call(
    operation: ProviderPodOperation,
    { uid }: ProviderPodReference,
    { pod, signal }: { readonly pod: ValidPod | undefined; readonly signal: AbortSignal },
    call: (options: ProviderCallOptions, provider: PodProvider) => Promise<void>,
  ): Promise<NextCall | undefined> {
    const { calls, podCache, epoch, eventRecorder } = this.#options;
    try {
      await calls.forPod(uid, operation, signal, (options, provider) => call({ ...options, epoch }, provider));
      if (pod !== undefined && (operation !== 'delete_pod' || wasAccepted(podCache.record(uid))))
        eventRecorder.event({ pod, type: 'Normal', ...successEvents[operation] });
      return undefined;
    } catch (error) {
      if (signal.aborted) podCache.reconcile(uid, { report: { kind: 'aborted', operation } });
      signal.throwIfAborted();
      const failure = failureOf(error, operation);
      if (pod !== undefined) eventRecorder.event({ pod, type: 'Warning', ...failure });
      return this.#failed(operation, uid, failure, error, pod);
    }
  }

  #failed(
    operation: ProviderPodOperation,
    podUID: string,
    failure: PodFailure,
    error: unknown,
    pod?: ValidPod,
  ): NextCall {
    const { permanent: isPermanent = false, retryAfterMs } = error instanceof ProviderError ? error : {};
    const report = { kind: 'failed', operation, failure, pod, isPermanent, retryAfterMs } as const;
    return this.#options.podCache.reconcile(podUID, { report });
  }

  /** See `OrphanedPods`. A failure delays the deletion like a failure of `deletePod`. */
  async #isOrphan(reference: ProviderPodReference, signal: AbortSignal): Promise<boolean> {
    const { podCache, orphanedPods } = this.#options;
    if (podCache.record(reference.uid).isTerminated === true) return true;
    try {
      return await orphanedPods.isOrphaned(reference, signal);
    } catch (error) {
      signal.throwIfAborted();
      throwIfBackOff(this.#failed('delete_pod', reference.uid, failureOf(error, 'delete_pod'), error));
      return false;
    }
  }

  /**
   * Requests the deletion of pods that run in the cloud although they have ended here: either they were lost and are listed
   * again, or the node has rejected them after a start. Never throws.
   */
  endPods(pods: readonly ProviderPodReference[], signal: AbortSignal): void {
    const { podCache } = this.#options;
    for (const pod of pods) {
      const { kind } = podCache.reconcile(pod.uid, { wanted: orphan });
      if (kind !== 'delete' || podCache.record(pod.uid).isDeleting === true) continue;
      this.#delete(pod, orphanGracePeriodSeconds, { pod: undefined, signal }).catch(() => {});
    }
  }

  async #delete(
    reference: ProviderPodReference,
    gracePeriodSeconds: number,
    call: { readonly pod: ValidPod | undefined; readonly signal: AbortSignal },
  ): Promise<NextCall | undefined> {
    const { podCache, onOrphanDeleted } = this.#options;
    const { uid } = reference;
    podCache.reconcile(uid, { report: { kind: 'deleting' } });
    const failed = await this.#call('delete_pod', reference, call, (options, provider) =>
      provider.deletePod({ ...reference }, { ...options, gracePeriodSeconds }),
    );
    if (failed !== undefined) return failed;
    podCache.reconcile(uid, { report: { kind: 'deleted', observation: podCache.beginObservation() } });
    if (call.pod === undefined) onOrphanDeleted();
    return undefined;
  }

  /**
   * Generates the status of the pod and passes it to the status manager, unless its inputs have not changed. The status of a
   * deleted pod is always passed on.
   */
  #updateStatus(
    pod: ValidPod,
    { podIsTerminal = false, podStatusFn, failure, crashLoop }: StatusUpdate = {},
  ): PodStatusInput {
    const { podCache, probes, statusManager, hostIPs, clock } = this.#options;
    const { uid, deletionTimestamp } = pod.metadata;
    const previous = statusManager.getPodStatus(uid) ?? pod.status;
    const record = podCache.record(uid);
    const isRestarting = podCache.isRestarting(pod, previous);
    const known = { podIsTerminal, isRestarting, crashLoopDelayMs: crashLoop?.delayMs };
    const inputs = providerPodStatusInputs(pod, record, known);
    const mayBeEvicted = failure === undefined && previous?.phase !== 'Succeeded';
    const deadlineExceeded = mayBeEvicted ? this.activeDeadlineHandler.shouldEvict(pod) : undefined;
    const resizeConditions = statusManager.determinePodResizeStatus(uid, inputs.podIsTerminal);
    const followsFromInputs =
      deletionTimestamp == null &&
      podStatusFn === undefined &&
      (failure ?? deadlineExceeded) === undefined &&
      resizeConditions.length === 0;
    if (followsFromInputs && isGeneratedFrom(record, inputs, previous)) return previous;

    const generated = generateProviderPodStatus(inputs, {
      previous,
      failure,
      deadlineExceeded,
      resizeConditions,
      hostIPs,
      ownProbeResults: probes?.manager.results,
      agentStartedAtMs: probes?.startedAtMs,
      nowMs: clock.now(),
    });
    const status = setGeneratedStatus(statusManager, pod, podStatusFn?.(generated) ?? generated);
    probes?.manager.triggerReadiness(uid, status);
    const cached = statusManager.getPodStatus(uid);
    podCache.setGenerated(uid, followsFromInputs && cached ? { inputs, status: cached } : undefined);
    return status;
  }

  #podOptions(pod: ValidPod, options: ProviderCallOptions, scope: PodScope): ProviderPodOptions {
    const { materials, nodeFacts } = this.#options;
    const { restartCount } = this.#options.podCache.record(pod.metadata.uid);
    return {
      ...options,
      podHash: podHash(pod),
      restartCount,
      materials: () => materials.read(pod, nodeFacts(), scope),
    };
  }

  #referenceOf({ metadata: { uid, namespace, name } }: ValidPod): ProviderPodReference {
    return { uid, namespace, name, nodeName: this.#options.nodeName };
  }
}

function failureOf(error: unknown, operation: ProviderPodOperation): PodFailure {
  const reason = error instanceof ProviderError ? error.reason : eventReasons[operation];
  return { reason: shortText(reason), message: shortText(reasonOf(error)) };
}

/** @throws BackOffError */
function throwIfBackOff(call: NextCall | undefined): void {
  if (call?.kind === 'backOff') throw new BackOffError(call.message, call.untilMs);
}

/** True if the last status was generated from the same inputs, and nobody has set another one since. */
function isGeneratedFrom(
  { generated }: ProviderPodRecord,
  inputs: ProviderPodStatusInputs,
  previous: PodStatusInput | null | undefined,
): previous is PodStatusInput {
  if (generated === undefined || generated.status !== previous) return false;
  const fields = Object.keys(inputs) as (keyof ProviderPodStatusInputs)[];
  return fields.every((field) => inputs[field] === generated.inputs[field]);
}
