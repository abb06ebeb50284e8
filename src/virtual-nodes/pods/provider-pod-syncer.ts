import { hasRun, isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import type { PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import { withDeadline } from '../../shared/deadline.ts';
import {
  ActiveDeadlineHandler,
  BackOffError,
  generatePodStatus,
  keepReportedEnds,
  type PodCallOptions,
  type PodEventRecorder,
  type PodLifecycleSyncer,
  type PodObservation,
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
import { type BackOffRange, nextDelayMs } from '../../shared/exponential-back-off.ts';
import { reasonOf } from '../../shared/logger.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { NodeFieldValues, PodMaterialsReader } from '../materials/pod-materials-reader.ts';
import type { OrphanedPods } from './orphaned-pods.ts';
import { isSamePod, podHash } from './pod-hash.ts';
import {
  type PodProvider,
  type ProviderPodReference,
  type ProviderCallOptions,
  ProviderError,
  type ProviderPodOptions,
} from '../pod-provider.ts';
import type { ProviderCalls, ProviderMethods } from '../calls/provider-calls.ts';
import type { KnownPod, ProviderPodCache } from './provider-pod-cache.ts';
import {
  reportedProbeResults,
  runtimePodStatus,
  shortText,
  waitingReason,
  withoutWaitingRuns,
} from './provider-pod-status.ts';
import { readProviderPod } from '../calls/require-provider-pods.ts';

/** What happens to a pod that the provider does not list any more: it fails, or it is created again. */
export type LostPodAction = 'fail' | 'recreate';

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
  readonly lostPods: LostPodAction;
  readonly statusManager: Pick<
    StatusManagerLike,
    'clearPodResizeInProgressCondition' | 'determinePodResizeStatus' | 'getPodStatus' | 'setPodStatus' | 'terminatePod'
  >;
  readonly eventRecorder: PodEventRecorder;
  /** The addresses of the Node, primary first. Default: none are reported. */
  readonly hostIPs?: readonly string[] | undefined;
  readonly clock: Clock;
}

/** The state of a pod's calls, which outlives a sync. */
interface PodCalls {
  /** What the provider has last accepted of the pod. After a start, what it accepted before is not known. */
  accepted?: ValidPod | undefined;
  /** What the first `createPod` was about, until an update is accepted; later ones do nothing if that had an effect. */
  created?: ValidPod | undefined;
  /** True if `createPod` was accepted: what the cloud reports shows whether it had the pod before. */
  isUnconfirmed?: boolean | undefined;
  /** True after an update that may have had an effect although it failed. */
  isUncertain?: boolean | undefined;
  /** The pod whose update was refused permanently. */
  refused?: ValidPod | undefined;
  /** When `createPod` was last called, on the monotonic clock, unless it was refused permanently. */
  createCalledMs?: number | undefined;
  /** Why the pod could not be created. */
  createFailure?: PodFailure | undefined;
  /** The call that failed last, which is not made again before `untilMs` on the monotonic clock. */
  backOff?: CallBackOff | undefined;
  /** True once the pod has ended on this node: when its object is gone, the provider may delete what is left. */
  hasEnded?: boolean | undefined;
  /** What the last status was generated from. */
  shown?: ShownStatus | undefined;
}

interface ShownStatus {
  readonly inputs: readonly unknown[];
  /** The cached status afterwards. */
  readonly status: PodStatusInput;
}

interface CallBackOff {
  readonly operation: PodOperation;
  /** The last delay that the cloud did not ask for, which the next one doubles. */
  readonly delayMs: number;
  readonly untilMs: number;
  readonly message: string;
}

type PodOperation = 'create_pod' | 'update_pod' | 'delete_pod';

/** Reason and message of a pod that fails. */
type PodFailure = NonNullable<PodObservation['eviction']>;

interface StatusUpdate {
  readonly podIsTerminal?: boolean | undefined;
  readonly podStatusFn?: PodStatusFn | undefined;
  readonly failure?: PodFailure | undefined;
}

/** After the grace period of a pod has passed, its deletion is requested again if it has not ended for this long. */
const endTimeoutMs = 60_000;
/** A cloud that does not list a pod may be creating it for this long after `createPod`. */
const creationMs = 60_000;
/** An orphan has no spec, so its grace period is unknown. */
const orphanGracePeriodSeconds = 1;
const defaultGracePeriodSeconds = 30;

/** The delays after failures that pass; the worker adds jitter. A pod that is to end may cost money, and keeps its name. */
const retryRanges: Readonly<Record<PodOperation, BackOffRange>> = {
  create_pod: { firstMs: 1000, maxMs: 300_000 },
  update_pod: { firstMs: 1000, maxMs: 300_000 },
  delete_pod: { firstMs: 1000, maxMs: 60_000 },
};

/** The reasons of Events. Source: virtual-kubelet `podEventCreateFailed`, `podEventUpdateFailed`, `podEventDeleteFailed`. */
const eventReasons: Readonly<Record<PodOperation, string>> = {
  create_pod: 'ProviderCreateFailed',
  update_pod: 'ProviderUpdateFailed',
  delete_pod: 'ProviderDeleteFailed',
};

/**
 * The work of pod workers with a provider: creates, updates and deletes whole pods, and passes each status to the status
 * manager. The provider is asked for the deletion of a pod as soon as the pod is terminating; the worker then waits until
 * the pod is reported as stopped, or is not listed any more. Source: kubelet `SyncPod`, `SyncTerminatingPod`,
 * `SyncTerminatingRuntimePod`, `SyncTerminatedPod`; virtual-kubelet `createOrUpdatePod`, `deletePod`.
 */
export class ProviderPodSyncer implements PodLifecycleSyncer {
  /** For the sync loop, which syncs pods past their deadline. */
  readonly activeDeadlineHandler: ActiveDeadlineHandler;
  readonly #options: ProviderPodSyncerOptions;
  /** By pod UID. */
  readonly #podCalls = new Map<string, PodCalls>();
  /** UIDs of pods without a worker whose deletion is being requested. */
  readonly #ending = new Set<string>();

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
    const { podCache, eventRecorder } = this.#options;
    const { uid } = pod.metadata;
    const action = this.#nextAction(pod);
    if (action === 'wait') return { isTerminal: false, hasChanged: false };
    if (action === 'update' && this.#hasStopped(uid)) return { isTerminal: true, hasChanged: false };
    const failure = action === 'fail' ? lostFailure(podCache.known(uid)) : undefined;
    if (failure !== undefined) eventRecorder.event({ pod, type: 'Warning', ...failure });
    const { phase } = this.#updateStatus(pod, { failure });
    if (isPodPhaseTerminal(phase)) return { isTerminal: true, hasChanged: false };
    if (action === 'create') return this.#create(pod, options);
    if (action === 'update') await this.#update(pod, options);
    return { isTerminal: false, hasChanged: false };
  }

  async syncTerminatingPod(
    pod: ValidPod,
    _runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    options: SyncPodOptions,
  ): Promise<void> {
    const { metadata, spec } = pod;
    this.#expectUnknown(pod);
    if (podStatusFn !== undefined || !this.#hasStopped(metadata.uid)) this.#updateStatus(pod, { podStatusFn });
    const seconds = gracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? defaultGracePeriodSeconds;
    await this.#end(this.#referenceOf(pod), seconds, options, pod);
  }

  async syncTerminatingRuntimePod(runningPod: RuntimePod, options: PodCallOptions): Promise<void> {
    const { uid, namespace, name } = runningPod;
    const reference = { uid, namespace, name, nodeName: this.#options.nodeName };
    await this.#end(reference, orphanGracePeriodSeconds, options);
  }

  async syncTerminatedPod(pod: ValidPod, _runtimeStatus: RuntimePodStatus): Promise<void> {
    this.#updateStatus(pod, { podIsTerminal: true });
    this.#options.statusManager.terminatePod(pod);
    this.#podCalls.set(pod.metadata.uid, { hasEnded: true });
  }

  /** Removes what is known of all pods except these. Call it only when the pods of the API server are known. */
  removeOrphanedPods(remainingPodUIDs: ReadonlySet<string>): void {
    this.activeDeadlineHandler.removeOrphanedPods(remainingPodUIDs);
    const { podCache } = this.#options;
    podCache.retain(remainingPodUIDs);
    // The deletion of an orphan has a back-off, too.
    for (const podUID of this.#podCalls.keys())
      if (!remainingPodUIDs.has(podUID) && podCache.known(podUID) === undefined) this.#podCalls.delete(podUID);
  }

  /** An earlier process may have created the pod although the cloud does not list it: one list is not enough for its end. */
  #expectUnknown(pod: ValidPod): void {
    const { podCache, statusManager } = this.#options;
    const { uid } = pod.metadata;
    const { phase } = statusManager.getPodStatus(uid) ?? pod.status ?? {};
    if (podCache.known(uid) === undefined && !isPodPhaseTerminal(phase)) podCache.expect(uid);
  }

  /**
   * What to do with a pod. `wait`: it ran before a restart, and is not listed yet, so that its status must stay; `none`: the
   * provider has accepted it, and is about to report it.
   */
  #nextAction(pod: ValidPod): 'create' | 'fail' | 'none' | 'update' | 'wait' {
    const { podCache, statusManager, lostPods } = this.#options;
    const { uid } = pod.metadata;
    if (podCache.known(uid) === undefined) {
      if (!hasPodRun(statusManager.getPodStatus(uid) ?? pod.status)) return 'create';
      podCache.expect(uid);
    }
    const { state, pod: reported } = podCache.known(uid)!;
    const isLost = podCache.isLost(uid);
    if (state === 'requested') return 'create';
    if (state === 'created') return isLost ? 'create' : 'none';
    if (isLost) return lostPods === 'fail' ? 'fail' : 'create';
    return reported === undefined ? 'wait' : 'update';
  }

  async #create(pod: ValidPod, { signal, scope }: SyncPodOptions): Promise<SyncPodResult> {
    const { podCache, clock } = this.#options;
    const { uid } = pod.metadata;
    podCache.requested(uid);
    const { accepted, created } = this.#podCallsOf(uid);
    // Of a pod that was lost, nothing may be left that was accepted before; or the cloud has it, and createPod does nothing.
    Object.assign(this.#podCallsOf(uid), { accepted: undefined, created: accepted ?? created, isUncertain: false });
    try {
      await this.#call('create_pod', this.#referenceOf(pod), { pod, signal }, (options, provider) => {
        const podCalls = this.#podCallsOf(uid);
        podCalls.created ??= pod;
        podCalls.createCalledMs = clock.monotonicMs();
        // Its own copy: what it changes there changes nothing here.
        return provider.createPod(structuredClone(pod), this.#podOptions(pod, options, scope));
      });
    } catch (error) {
      signal.throwIfAborted();
      const isFinal = error instanceof ProviderError && error.permanent;
      if (isFinal) this.#podCallsOf(uid).createCalledMs = undefined;
      this.#updateStatus(pod, { failure: isFinal ? failureOf(error, 'create_pod') : undefined });
      if (!isFinal) throw error;
      return { isTerminal: true, hasChanged: false };
    }
    const podCalls = this.#podCallsOf(uid);
    const isFirst = podCalls.created !== undefined && isSamePod(podCalls.created, pod);
    Object.assign(podCalls, { accepted: isFirst ? pod : undefined, isUnconfirmed: true });
    podCache.created(uid);
    return { isTerminal: false, hasChanged: true };
  }

  /** Tells the provider what has changed. A change that it refuses permanently is not passed on again. */
  async #update(pod: ValidPod, { signal, scope }: SyncPodOptions): Promise<void> {
    const { podCache } = this.#options;
    const podCalls = this.#podCallsOf(pod.metadata.uid);
    const reportedHash = podCache.known(pod.metadata.uid)?.pod?.podHash;
    if (podCalls.isUnconfirmed === true && reportedHash !== undefined) {
      podCalls.isUnconfirmed = false;
      if (podCalls.accepted !== undefined && podHash(podCalls.accepted) !== reportedHash) podCalls.accepted = undefined;
    }
    const isRefused = podCalls.refused !== undefined && isSamePod(podCalls.refused, pod);
    if (this.#options.provider.updatePod === undefined || isRefused) return;
    if (!this.#isAccepted(pod, podCalls)) {
      const wasUncertain = podCalls.isUncertain;
      podCalls.isUncertain = true;
      try {
        await this.#call('update_pod', this.#referenceOf(pod), { pod, signal }, (options, provider) =>
          provider.updatePod!(
            structuredClone(pod),
            structuredClone(podCalls.accepted),
            this.#podOptions(pod, options, scope),
          ),
        );
      } catch (error) {
        if (!(error instanceof ProviderError) || !error.permanent) throw error;
        podCalls.isUncertain = wasUncertain;
        podCalls.refused = pod;
        return;
      }
      podCalls.isUnconfirmed = false;
    }
    podCalls.isUncertain = false;
    podCalls.accepted = pod;
    podCalls.created = undefined;
    podCalls.refused = undefined;
    if (this.#resizeCompleted(pod)) this.#updateStatus(pod);
  }

  /** True if the provider has accepted the pod as it is. What it accepted before a start, only it can tell. */
  #isAccepted(pod: ValidPod, { accepted, isUncertain = false }: PodCalls): boolean {
    if (isUncertain) return false;
    if (accepted !== undefined) return isSamePod(accepted, pod);
    return this.#options.podCache.known(pod.metadata.uid)?.pod?.podHash === podHash(pod);
  }

  /** True for a pod whose end `syncTerminatedPod` shows: before, the status manager would hold back its phase, and read the pod. */
  #hasStopped(podUID: string): boolean {
    return this.#options.podCache.reported(podUID)?.state === 'stopped';
  }

  /** Returns false if no resize of the pod was in progress. */
  #resizeCompleted(pod: ValidPod): boolean {
    const { statusManager, eventRecorder } = this.#options;
    const { changed, observedGeneration } = statusManager.clearPodResizeInProgressCondition(pod.metadata.uid);
    if (!changed) return false;
    const message = resizeMessage('Pod resize completed', pod, observedGeneration);
    eventRecorder.event({ pod, type: 'Normal', reason: 'ResizeCompleted', message });
    return true;
  }

  /**
   * Resolves when the provider has nothing of the pod that runs.
   * @param pod absent for a pod that the node does not have: if the API server does not have it, it is deleted even if it is
   * stopped
   */
  async #end(
    reference: ProviderPodReference,
    gracePeriodSeconds: number,
    { signal, scope }: PodCallOptions,
    pod?: ValidPod,
  ): Promise<void> {
    const { podCache, clock } = this.#options;
    const { uid } = reference;
    const known = podCache.known(uid);
    if (known === undefined || (pod !== undefined && known.pod?.state === 'stopped')) return;
    try {
      if (pod === undefined && !(await this.#isOrphan(reference, signal))) return;
      await this.#delete(reference, gracePeriodSeconds, { pod, signal });
    } catch (error) {
      signal.throwIfAborted();
      // A cloud may refuse to delete what it does not have, and what it is creating.
      if (podCache.isLost(uid) && !this.#mayBeCreating(uid)) return;
      throw error;
    }
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

  /** True for a while after `createPod` was called, if the cloud has not reported the pod. */
  #mayBeCreating(podUID: string): boolean {
    const { createCalledMs = -Infinity } = this.#podCallsOf(podUID);
    const isReported = this.#options.podCache.known(podUID)?.pod !== undefined;
    return !isReported && this.#options.clock.monotonicMs() < createCalledMs + creationMs;
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
      if (found === undefined) return podCache.gone(reference.uid, observation);
      const pod = readProviderPod(found);
      // A list may have shown the end of the pod meanwhile.
      if (pod.uid === reference.uid && podCache.known(pod.uid) !== undefined) podCache.set(pod, observation);
    } catch {
      // The next list shows the end.
    }
  }

  /** Makes a call, and records why it fails. */
  async #call(
    operation: PodOperation,
    { uid }: ProviderPodReference,
    { pod, signal }: { readonly pod: ValidPod | undefined; readonly signal: AbortSignal },
    call: (options: ProviderCallOptions, provider: PodProvider) => Promise<void>,
  ): Promise<void> {
    const { calls, epoch, eventRecorder } = this.#options;
    this.#throwDuringBackOff(operation, uid);
    try {
      await calls.forPod(uid, operation, signal, (options, provider) => call({ ...options, epoch }, provider));
      // Read again after the await, because housekeeping may have removed them.
      const podCalls = this.#podCallsOf(uid);
      podCalls.backOff = undefined;
      if (operation === 'create_pod') podCalls.createFailure = undefined;
    } catch (error) {
      signal.throwIfAborted();
      const failure = failureOf(error, operation);
      const podCalls = this.#podCallsOf(uid);
      if (operation === 'create_pod') podCalls.createFailure = failure;
      if (pod !== undefined) eventRecorder.event({ pod, type: 'Warning', ...failure });
      if (error instanceof ProviderError && error.permanent && operation !== 'delete_pod') throw error;
      this.#backOff(operation, uid, error);
    }
  }

  /** See `OrphanedPods`. Has a back-off like the deletion. */
  async #isOrphan(reference: ProviderPodReference, signal: AbortSignal): Promise<boolean> {
    const { uid } = reference;
    if (this.#podCallsOf(uid).hasEnded === true) return true;
    this.#throwDuringBackOff('delete_pod', uid);
    try {
      return await this.#options.orphanedPods.isOrphaned(reference, signal);
    } catch (error) {
      signal.throwIfAborted();
      return this.#backOff('delete_pod', uid, error);
    }
  }

  #throwDuringBackOff(operation: PodOperation, podUID: string): void {
    const { backOff } = this.#podCallsOf(podUID);
    if (backOff?.operation === operation && this.#options.clock.monotonicMs() < backOff.untilMs)
      throw new BackOffError(backOff.message, backOff.untilMs);
  }

  /** Throws until when the operation is not tried again. */
  #backOff(operation: PodOperation, podUID: string, error: unknown): never {
    const { clock } = this.#options;
    const podCalls = this.#podCallsOf(podUID);
    const { retryAfterMs } = error instanceof ProviderError ? error : {};
    const lastMs = podCalls.backOff?.operation === operation ? podCalls.backOff.delayMs : 0;
    const delayMs = retryAfterMs === undefined ? nextDelayMs(lastMs, retryRanges[operation]) : lastMs;
    const untilMs = clock.monotonicMs() + (retryAfterMs ?? delayMs);
    const message = shortText(reasonOf(error));
    podCalls.backOff = { operation, delayMs, untilMs, message };
    throw new BackOffError(message, untilMs);
  }

  /**
   * Requests the deletion of pods that run in the cloud although they have ended here: it did not list them for long enough
   * that they were taken for lost, or the Node rejects them after a start. Never rejects.
   */
  endPods(pods: readonly ProviderPodReference[], signal: AbortSignal): void {
    for (const pod of pods) {
      if (this.#ending.has(pod.uid)) continue;
      this.#ending.add(pod.uid);
      void this.#delete(pod, orphanGracePeriodSeconds, { pod: undefined, signal }).then(
        () => this.#ending.delete(pod.uid),
        () => this.#ending.delete(pod.uid),
      );
    }
  }

  async #delete(
    reference: ProviderPodReference,
    gracePeriodSeconds: number,
    call: { readonly pod: ValidPod | undefined; readonly signal: AbortSignal },
  ): Promise<void> {
    const { podCache } = this.#options;
    await this.#call('delete_pod', reference, call, (options, provider) =>
      provider.deletePod({ ...reference }, { ...options, gracePeriodSeconds }),
    );
    podCache.deleted(reference.uid);
  }

  /**
   * Generates the status of the pod, and passes it to the status manager. It is not generated again while nothing has changed
   * of what it is made of. A status of a deleted pod is always passed on.
   */
  #updateStatus(pod: ValidPod, { podIsTerminal = false, podStatusFn, failure }: StatusUpdate = {}): PodStatusInput {
    const { podCache, statusManager, hostIPs, clock } = this.#options;
    const { uid, deletionTimestamp } = pod.metadata;
    const previous = statusManager.getPodStatus(uid) ?? pod.status;
    const reported = podCache.reported(uid);
    const podCalls = this.#podCallsOf(uid);
    const { accepted, createFailure, shown } = podCalls;
    const isTerminal = podIsTerminal || reported?.state === 'stopped';
    const eviction =
      failure ?? (previous?.phase === 'Succeeded' ? undefined : this.activeDeadlineHandler.shouldEvict(pod));
    const resizeConditions = statusManager.determinePodResizeStatus(uid, isTerminal);
    const inputs = [pod, reported, accepted, createFailure, isTerminal];
    const isOrdinary =
      deletionTimestamp == null && !podStatusFn && eviction === undefined && resizeConditions.length === 0;
    if (isOrdinary && shown !== undefined && shown.status === previous && isSameList(shown.inputs, inputs))
      return previous;
    const observed = runtimePodStatus(pod, reported, { previous, accepted, nowMs: clock.now() });
    const runtimeStatus = keepReportedEnds(observed, previous);
    const generated = generatePodStatus(pod, {
      ...{ runtimeStatus, hostIPs, podIsTerminal: isTerminal },
      previous: withoutWaitingRuns(pod, reported, previous),
      startFailures: { get: (name) => waitingReason(reported, name) ?? createFailure },
      probeResults: reportedProbeResults(runtimeStatus, reported),
      ...{ resizeConditions, eviction },
      // Why a pod has ended stays.
      ...(reported !== undefined &&
        !isPodPhaseTerminal(previous?.phase) && {
          reason: shortText(reported.reason ?? ''),
          message: shortText(reported.message ?? ''),
        }),
    });
    // Without the end of its last run, a container that waits to be restarted looks like one that has never run.
    const shownPhase =
      previous?.phase === 'Running' && generated.phase === 'Pending' ? { phase: 'Running' } : undefined;
    const complete = { ...generated, ...shownPhase };
    const status = setGeneratedStatus(statusManager, pod, podStatusFn === undefined ? complete : podStatusFn(complete));
    const cached = statusManager.getPodStatus(uid);
    podCalls.shown = isOrdinary && cached ? { inputs, status: cached } : undefined;
    return status;
  }

  #podCallsOf(podUID: string): PodCalls {
    const podCalls = this.#podCalls.get(podUID) ?? {};
    this.#podCalls.set(podUID, podCalls);
    return podCalls;
  }

  #podOptions(pod: ValidPod, options: ProviderCallOptions, scope: PodScope): ProviderPodOptions {
    const { materials, nodeFacts } = this.#options;
    return { ...options, podHash: podHash(pod), materials: () => materials.read(pod, nodeFacts(), scope) };
  }

  #referenceOf({ metadata: { uid, namespace, name } }: ValidPod): ProviderPodReference {
    return { uid, namespace, name, nodeName: this.#options.nodeName };
  }
}

function failureOf(error: unknown, operation: PodOperation): PodFailure {
  const reason = error instanceof ProviderError ? error.reason : eventReasons[operation];
  return { reason: shortText(reason), message: shortText(reasonOf(error)) };
}

function lostFailure({ reportedAtMs }: Pick<KnownPod, 'reportedAtMs'> = {}): PodFailure {
  const since =
    reportedAtMs === undefined ? 'since this process was started' : `since ${timeFromEpochMs(reportedAtMs)}`;
  return { reason: 'LostByProvider', message: `The provider has not listed the pod ${since}` };
}

/** True when a container of the pod has been started, by its status. */
function hasPodRun(status: PodStatusInput | null | undefined): boolean {
  const { initContainerStatuses, containerStatuses } = status ?? {};
  return [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].some(hasRun);
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.every((item, i) => item === b[i]);
}
