import { type AllocationState, type PodResizeStatus, podResizeStatuses } from './allocation/allocation-state.ts';
import { canPodRun } from './cache/can-pod-run.ts';
import { PodStatusCache, type VersionedPodStatus } from './cache/pod-status-cache.ts';
import { PodStatusUpdates } from './cache/pod-status-updates.ts';
import type { UpdateResult } from './cache/update-result.ts';
import { CriticalSection } from '../shared/critical-section.ts';
import { boundedCall } from '../shared/deadline.ts';
import { deepFreeze } from '../shared/freeze.ts';
import { ResizeConditions, type ResizeInProgressChange } from './cache/resize-conditions.ts';
import type { PodStatusListener } from './cache/pod-status-listener.ts';
import { Subscribers } from '../shared/subscribers.ts';
import { isPodClient, toPodClient } from '../kube/client/to-pod-client.ts';
import type { AbortSignalLike } from '../shared/abort.ts';
import type { Clock } from '../shared/clock.ts';
import { refuseArgument, StatusManagerError } from '../shared/errors.ts';
import { DroppedStatuses, type DroppedStatus } from './explain/dropped-statuses.ts';
import { explainPod, readExplainFacts } from './explain/explain-pod.ts';
import type { PodExplanation } from './explain/explanation.ts';
import { inspectManager, type InspectionSources, type ManagerInspection } from './inspection.ts';
import { type PodDeletionSafety, terminationsOf } from './pod-deletion-safety.ts';
import { registerStatusGauges } from './status-gauges.ts';
import { StatusJournal } from './journal/status-journal.ts';
import { type Logger, thrownFields } from '../shared/logger.ts';
import { type ResizeResolution, resizeResolutions } from './metrics.ts';
import { resolveOptions, type StatusManagerOptions } from './options.ts';
import { adoptServerStatuses, recoverStatuses, type RecoveredStatus } from './recovered-statuses.ts';
import { BasicPodManager } from '../kube/pod-manager/basic-pod-manager.ts';
import type { PodManager } from '../kube/pod-manager/pod-manager.ts';
import { isObject } from '../shared/json.ts';
import { isMirrorPod, isStaticPod } from '../kube/pods/static-pods.ts';
import { createSyncLoop } from './sync/create-sync-loop.ts';
import { Outcomes } from './sync/outcomes.ts';
import type { OutcomeListener, WrittenResult } from './sync/status-outcome.ts';
import { PodRecords } from './sync/pod-records.ts';
import { RejectedUpdates } from './sync/rejected-updates.ts';
import type { PodStartupLatency } from './sync/sync-ports.ts';
import type { ManagerState, SyncBatchResult, SyncLoop } from './sync/sync-loop.ts';
import type {
  Pod,
  PodCondition,
  PodStatus,
  PodStatusInput,
  ResourceRequirements,
  VolumeHealthConditionInput,
} from '../kube/objects/types.ts';
import { tryCall } from '../shared/guarded.ts';
import { Tracing } from './tracing.ts';
import { logThrown } from '../shared/ports.ts';
import {
  requireBoolean,
  requireDeadlineMs,
  requireInteger,
  requireOneOf,
  requireSignal,
  requireString,
  requireText,
  requireUIDs,
} from '../shared/validate.ts';
import { requirePod, requirePods } from '../kube/pods/require-pod.ts';

/** Receives accepted changes and their outcomes on the API server. */
export interface StatusListener extends PodStatusListener, OutcomeListener {}

/** How `stop()` ends a manager. */
export interface StopOptions {
  /** Send unsent statuses first. Default false: requests in flight are aborted. */
  readonly drain?: boolean | undefined;
  /** Time limit of the drain in milliseconds. Default 10,000. */
  readonly deadlineMs?: number | undefined;
  /** Aborting it ends the drain and aborts the requests in flight. */
  readonly signal?: AbortSignalLike | undefined;
}

/** Options of `resume`. */
export interface ResumeOptions {
  /** The node's pods on the API server: the first list. Mirror pods are also seeded if `podManager` knows their static pods. */
  readonly pods: Iterable<Pod>;
  /** UIDs of other pods that still exist, such as static pods. Default: none. */
  readonly otherPodUIDs?: Iterable<string> | undefined;
}

/** Result of `resume`. */
export interface ResumeResult {
  /** Number of statuses adopted from the API server. */
  readonly seeded: number;
  /**
   * Pods among `pods` that must not run (`canPodRun` is false). Stop their running containers, then
   * call `terminatePod`.
   */
  readonly endedPods: readonly Pod[];
}

const defaultDrainMs = 10_000;
/** How long `stop()` waits for each port of the caller to close. */
const closeTimeoutMs = 10_000;

/**
 * Caches a versioned status of every pod and writes it to the API server: immediately after a change,
 * and whenever the full batch, every `syncPeriodMs`, finds a difference.
 *
 * Setters are synchronous and make no request. On invalid input they throw `StatusManagerError`
 * (INVALID_ARGUMENT, with the path of the field) and change nothing. They never mutate their
 * arguments and return frozen objects. Code that you test with a fake should accept
 * `StatusManagerLike` or a `Pick` of it.
 * Source: kubelet `status.Manager`.
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 *
 * const manager = new StatusManager({
 *   client,
 *   podManager,
 *   podCouldHaveRunningContainers: (pod) => running.has(pod.metadata?.uid),
 * });
 * manager.start();
 * manager.setPodStatus(pod, { phase: 'Running' });
 * await manager.stop({ drain: true });
 * ```
 */
export class StatusManager<P extends PodManager = PodManager> implements AsyncDisposable {
  /** The pods of this node: the `podManager` option, or an empty `BasicPodManager`. */
  readonly podManager: P;
  /**
   * Statuses that an earlier run accepted but did not send, read from the journal when this manager
   * was created. They are cached, and sent after `start()`. A pod in this list with a terminal phase
   * must not run again: stop its running containers, then call `terminatePod`.
   */
  readonly recovered: readonly RecoveredStatus[];
  readonly #cache: PodStatusCache;
  readonly #updates: PodStatusUpdates;
  readonly #resizeConditions: ResizeConditions;
  readonly #subscribers: Subscribers<StatusListener>;
  /** What the sync loop knows of each pod. */
  readonly #records = new PodRecords();
  readonly #outcomes: Outcomes;
  readonly #tracing: Tracing;
  readonly #section: CriticalSection;
  readonly #dropped: DroppedStatuses;
  readonly #allocationState: AllocationState;
  readonly #journal: StatusJournal;
  readonly #podStartupLatency: PodStartupLatency | undefined;
  readonly #loop: SyncLoop | undefined;
  readonly #closeClient: (() => Promise<void>) | undefined;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #podDeletionSafety: PodDeletionSafety;
  readonly #unregisterGauges: () => void;
  readonly #stopWatchingMirrors: (() => void) | undefined;
  #stopped: Promise<void> | undefined;

  /** Sets no timer and sends nothing. @throws StatusManagerError INVALID_OPTION */
  constructor(options: StatusManagerOptions<P>) {
    const resolved = resolveOptions(options);
    const { clock } = resolved;
    const section = new CriticalSection();
    this.#section = section;
    const logger = section.delaying(resolved.logger);
    const metrics = section.delaying(resolved.metrics);
    const podStartupLatency = resolved.podStartupLatency && section.delaying(resolved.podStartupLatency);
    const eventRecorder = resolved.eventRecorder && section.delaying(resolved.eventRecorder);
    this.#clock = clock;
    this.#logger = logger;
    this.#allocationState = resolved.allocationState;
    this.#podDeletionSafety = resolved.podDeletionSafety;
    this.#journal = new StatusJournal(resolved.journal, clock);
    this.#podStartupLatency = podStartupLatency;
    // Without the option, P is its default, which TypeScript cannot infer here.
    this.podManager = resolved.podManager ?? (new BasicPodManager() as PodManager as P);
    this.#cache = new PodStatusCache(this.podManager);
    this.#dropped = new DroppedStatuses(clock);
    this.#tracing = new Tracing(section);
    this.#subscribers = new Subscribers(logger, section);
    this.#outcomes = new Outcomes(this.#records, metrics, this.#subscribers, section);
    this.#resizeConditions = new ResizeConditions({ podManager: this.podManager, clock, metrics, logger });
    const rejectedUpdates = new RejectedUpdates({ records: this.#records, clock, logger });
    this.#updates = new PodStatusUpdates({
      cache: this.#cache,
      podManager: this.podManager,
      clock,
      logger,
      metrics,
      subscribers: this.#subscribers,
      onAccepted: (uid, accepted, superseded, oldStatus) => this.#onAccepted(uid, accepted, superseded, oldStatus),
      onChecked: (pod, rejected, invalid) => {
        rejectedUpdates.checked(pod, rejected);
        rejectedUpdates.keptInvalid(pod, invalid);
      },
      onUnchanged: (uid) => this.#cache.confirm(uid),
    });
    this.#unregisterGauges = registerStatusGauges(metrics, () => this.#inspectionSources);

    this.recovered = recoverStatuses(resolved.journal?.recovered ?? [], this.#cache, clock, logger);
    if (resolved.client === undefined) return;
    const client = toPodClient(resolved.client, { clock });
    if (!isPodClient(resolved.client)) this.#closeClient = () => client.close?.() ?? Promise.resolve();
    this.#loop = createSyncLoop({
      ...resolved,
      section,
      logger,
      metrics,
      podStartupLatency,
      eventRecorder,
      client,
      podManager: this.podManager,
      cache: this.#cache,
      records: this.#records,
      outcomes: this.#outcomes,
      tracing: this.#tracing,
      limiter: resolved.limiter.forClient(resolved.client),
      onSettled: (uid) => this.#journal.settled(uid),
      deletePodStatus: (uid, reason) => this.#deletePodStatus(uid, reason),
      dropOutdatedStatus: (uid) => this.#dropStatus(uid, 'outdated'),
      apiObjectGone: (uid) => this.#dropped.touch(uid),
    });
    if (this.recovered.length > 0) this.#loop.wake();
    this.#stopWatchingMirrors = this.podManager.onMirrorPodAdded?.((podUID) => this.#loop?.apiObjectAppeared(podUID));
  }

  /**
   * Starts the sync loop; the first full batch runs one `syncPeriodMs` later. Without a client, only
   * logs a warning. Idempotent. Source: kubelet `Start`
   * @throws StatusManagerError INVALID_STATE after stop()
   */
  start(): void {
    if (this.#stopped !== undefined)
      throw new StatusManagerError('INVALID_STATE', 'Cannot start a manager that has been stopped');
    if (this.#loop === undefined) {
      this.#logger.warn({}, 'There is no client: statuses are cached and not sent');
    } else if (this.#loop.state === 'created') {
      this.#logger.info({}, 'Starting to sync pod status with apiserver');
      this.#loop.start();
    }
  }

  /**
   * Stops the sync loop and resolves when no timer, request or promise is left. Never rejects. Later
   * calls share the result of the first. The cache stays readable.
   */
  stop(options: StopOptions = {}): Promise<void> {
    const signal = requireSignal(options);
    const { drain = false, deadlineMs = defaultDrainMs } = options;
    requireBoolean('drain', drain);
    requireDeadlineMs(deadlineMs);
    this.#stopped ??= this.#stop(drain ? deadlineMs : undefined, signal);
    return this.#stopped;
  }

  /** `stop()` without a drain. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** `created` until `start()`, `stopping` while `stop()` runs. */
  get state(): ManagerState {
    return this.#loop?.state ?? (this.#stopped === undefined ? 'created' : 'stopped');
  }

  /**
   * The cached status of the pod, frozen; undefined when none is cached. The UID of a mirror pod
   * stands for its static pod.
   * Source: kubelet `GetPodStatus`
   */
  getPodStatus(podUID: string): PodStatus | undefined {
    requireText('podUID', podUID);
    return deepFreeze(this.#cache.get(this.podManager.translatePodUID(podUID))?.status);
  }

  /**
   * Caches a new status of the pod and wakes the sync loop. Changes nothing if the cached status is
   * equal (`ignored`), or if a container that terminated for good would run again (`rejected`). A
   * rejection that lasts is logged, and shown by `inspect()` and `explain()`. Conditions that the kubelet
   * does not own are always kept as they are. Copy a DisruptionTarget condition from the pod object into
   * the status: otherwise every full batch reads the pod.
   *
   * With `keepTerminated`, a container that would run again keeps its status; the phase and the
   * conditions Initialized, Ready and ContainersReady are derived again, and everything else is cached.
   * The result then has `rejected` and `changed`. With `keepInvalid`, invalid values are logged and
   * kept, as in the kubelet. Use it if the status has values from the API server, such as earlier states
   * of containers, which another writer may have changed.
   * Source: kubelet `SetPodStatus`
   */
  setPodStatus(
    pod: Pod,
    status: PodStatusInput,
    options: { readonly keepTerminated?: boolean | undefined; readonly keepInvalid?: boolean | undefined } = {},
  ): UpdateResult {
    requirePod(pod);
    return this.#section.run(() => this.#updates.setPodStatus(pod, status, options));
  }

  /**
   * Sets `ready` of one container, and the conditions Ready and ContainersReady that follow from it.
   * Ignores unknown pods and containers (`ignored` says which).
   * Source: kubelet `SetContainerReadiness`
   * @param containerID as in the cached status, with its scheme: `containerd://…`
   */
  setContainerReadiness(podUID: string, containerID: string, ready: boolean): UpdateResult {
    requireText('podUID', podUID);
    requireText('containerID', containerID);
    requireBoolean('ready', ready);
    return this.#section.run(() => this.#updates.setContainerReadiness(podUID, containerID, ready));
  }

  /**
   * Sets `started` of one container; otherwise like `setContainerReadiness`. Source: kubelet
   * `SetContainerStartup`
   */
  setContainerStartup(podUID: string, containerID: string, started: boolean): UpdateResult {
    requireText('podUID', podUID);
    requireText('containerID', containerID);
    requireBoolean('started', started);
    return this.#section.run(() => this.#updates.setContainerStartup(podUID, containerID, started));
  }

  /**
   * Replaces the health conditions of one volume. An empty list keeps the volume's entry without
   * conditions.
   * Source: kubelet `SetPodVolumeHealth`
   */
  setPodVolumeHealth(
    podUID: string,
    volumeName: string,
    conditions: readonly VolumeHealthConditionInput[],
  ): UpdateResult {
    requireText('podUID', podUID);
    requireText('volumeName', volumeName);
    if (!Array.isArray(conditions)) refuseArgument('conditions', 'a list', conditions);
    return this.#section.run(() => this.#updates.setPodVolumeHealth(podUID, volumeName, conditions));
  }

  /**
   * Call it when all containers of the pod have stopped and none will start again. Containers without
   * a terminated state get one, the phase becomes terminal, and the API object is deleted if it has a
   * deletionTimestamp.
   * Source: kubelet `TerminatePod`
   */
  terminatePod(pod: Pod): UpdateResult {
    requirePod(pod);
    return this.#section.run(() => this.#updates.terminatePod(pod));
  }

  /**
   * Whether containers of the pod may be started. Call it for each pod before it runs: after a crash
   * the pod object may still show Running although the journal has the pod's terminal phase.
   *
   * False if the cached status (also a recovered one) or the pod object has a terminal phase, if
   * `terminatePod` was called, if the pod is being deleted, and for a mirror pod. If false, start
   * nothing; unless it is a mirror pod, stop its running containers and call `terminatePod`. A
   * recreated pod has another UID and may run. A static pod with restart policy Always may run again
   * after any terminal phase. Read-only.
   * Source: kubelet `podWorkers.UpdatePod`
   */
  canPodRun(pod: Pod): boolean {
    requirePod(pod);
    const apiPod = isStaticPod(pod) ? this.podManager.getMirrorPodByPod(pod) : pod;
    return canPodRun(pod, apiPod, this.#cache.get(pod.metadata.uid));
  }

  /**
   * Drops the statuses of all pods whose UID is not in `podUIDs`. Call it whenever a
   * pod is gone, with the UIDs of the remaining pods: otherwise the status of a force-deleted pod, or
   * one that was set after the deletion, stays in the cache, unsent.
   *
   * A recovered status that this run has neither set nor, for a pod that `podManager` shows, sent stays
   * until a GET shows that its pod is gone: with 404, a pod of another UID, or, for a node's user, with
   * 403 after 10 minutes. The list of pods may come from an API server that lags. Without a client it is
   * dropped immediately.
   * Source: kubelet `RemoveOrphanedStatuses`
   */
  removeOrphanedStatuses(podUIDs: Iterable<string>): void {
    const remaining = requireUIDs('podUIDs', podUIDs);
    this.#section.run(() => this.#removeOrphanedStatuses(remaining));
  }

  #removeOrphanedStatuses(remaining: ReadonlySet<string>): void {
    for (const uid of [...this.#cache.uids()]) {
      const isOrphan = !remaining.has(uid);
      if (this.#loop !== undefined && this.#cache.get(uid)?.adopted?.from === 'journal') {
        this.#loop.setOrphaned(uid, isOrphan);
      } else if (isOrphan) {
        this.#logger.debug({ podUID: uid }, 'Removing status of a pod that is no longer there');
        this.#forgetPod(uid, this.#records.get(uid)?.inFlight?.isDeleting === true ? 'deleting' : 'removed');
      }
    }
    this.#resizeConditions.recount();
    this.#loop?.podsRemoved();
  }

  /**
   * After a restart: caches the statuses in these pod objects (mirror pods included) and marks them as
   * sent, so that setting the same status again sends nothing and changes no transition time. They are
   * never written: the objects may be old, so a newer object replaces the status until this run sets one. Also
   * inherits their resize conditions. Skips pods that have a cached status or no phase. Call it with
   * the first list of pods, before the first `setPodStatus`. Pass `getPodStatus` as the previous
   * status to `generateAPIPodStatus`, so that Ready stays True until the first probe.
   *
   * Divergence: the kubelet starts with an empty cache and reads each pod once more.
   * @returns how many statuses were cached
   */
  seed(pods: Iterable<Pod>): number {
    const all = requirePods(pods);
    this.#resizeConditions.backfillMissing(all);
    return adoptServerStatuses(this.#cache, this.podManager, all, this.#clock.monotonicMs());
  }

  /**
   * Call it instead of `start` when the agent starts: continues where an earlier manager ended. The
   * constructor has already cached the statuses recovered from the journal. In this order, `resume`
   *
   * 1. adopts the API server's statuses of the other pods (`seed`) and the resize conditions of all
   *    pods (`backfillPodResizeConditions`);
   * 2. drops the statuses of pods that are gone (`removeOrphanedStatuses`), recovered ones once the
   *    API server has confirmed that;
   * 3. starts the sync loop (`start`).
   *
   * Each step can also be called separately. Call `resume` before the first `setPodStatus` of these
   * pods, once `podManager` knows them.
   * @throws StatusManagerError INVALID_STATE after stop(), INVALID_ARGUMENT; nothing has changed then
   */
  resume(options: ResumeOptions): ResumeResult {
    if (!isObject(options)) refuseArgument('options', 'an object', options);
    const pods = requirePods(options.pods);
    const otherPodUIDs = requireUIDs('otherPodUIDs', options.otherPodUIDs ?? []);
    if (this.#stopped !== undefined)
      throw new StatusManagerError('INVALID_STATE', 'Cannot resume a manager that has been stopped');
    const seeded = this.seed(pods);
    this.removeOrphanedStatuses([...otherPodUIDs, ...pods.map(({ metadata }) => metadata.uid)]);
    this.start();
    return { seeded, endedPods: pods.filter((pod) => !isMirrorPod(pod) && !this.canPodRun(pod)) };
  }

  /**
   * Calls `listener` for every later accepted change and outcome. Errors that it throws are logged.
   * @returns unsubscribes
   */
  subscribe(listener: StatusListener): () => void {
    const { onPodUpdated, onPodRemoved, onOutcome } = (listener ?? {}) as Partial<StatusListener>;
    if (![onPodUpdated, onPodRemoved, onOutcome].some((method) => typeof method === 'function')) {
      refuseArgument('listener', 'an object with onPodUpdated, onPodRemoved or onOutcome', listener);
    }
    return this.#subscribers.add(listener);
  }

  /** An immutable snapshot for tests and status pages. */
  inspect(): ManagerInspection {
    return inspectManager(this.state, this.#inspectionSources);
  }

  /**
   * Explains why the pod has its current status and what happens next, as data and as one sentence:
   * for status pages and the person on call. Accepts any UID; the UID of a mirror pod stands for its
   * static pod. Read-only; makes no request. For all pods, see `inspect()`.
   *
   * @example
   * ```ts
   * const explanation = manager.explain(podUID);
   * console.log(`${explanation}`); // its sentence
   * if (explanation.cause.kind === 'back-off') console.log(explanation.cause.tries, explanation.nextTryAt);
   * ```
   */
  explain(podUID: string): PodExplanation {
    requireText('podUID', podUID);
    return explainPod(readExplainFacts(podUID, this.#inspectionSources));
  }

  /**
   * Runs one batch now, for tests and for a manager without a running loop. Consumes a pending
   * wake-up; ignores back-off, limits and priorities. Rejects with StatusManagerError INVALID_STATE
   * without a client or after stop(). Source: kubelet `syncBatch`
   * @param all compares every pod, not only those with unsent versions
   * @returns counts of tried, written, unchanged and failed pods, once all have finished
   */
  async syncBatch(all: boolean): Promise<SyncBatchResult> {
    requireBoolean('all', all);
    return this.#sendingLoop('syncBatch').syncBatch(all);
  }

  /**
   * Sends all unsent statuses now, ignoring back-off but honouring `Retry-After`. Resolves when none
   * is left, or after `deadlineMs`. Rejects with StatusManagerError INVALID_STATE without a client or
   * after stop(), and with the signal's reason when it is aborted first; the statuses are still sent as
   * usual. Does not wait for a pod that neither the API server nor `podManager` has.
   * @returns the number of statuses still unsent, excluding such pods
   */
  async flush(deadlineMs: number, options: { readonly signal?: AbortSignalLike | undefined } = {}): Promise<number> {
    requireDeadlineMs(deadlineMs);
    const signal = requireSignal(options);
    const unsent = await this.#sendingLoop('flush').flush(deadlineMs, signal);
    if (unsent > 0 && signal?.aborted) throw signal.reason;
    return unsent;
  }

  /**
   * Syncs this pod now, ignoring its back-off. Call it after fixing the cause of a failure or hot
   * loop. `Retry-After` and the rate limits still apply. The UID of a mirror pod stands for its static
   * pod.
   * @returns false when no status of the pod is cached
   * @throws StatusManagerError INVALID_STATE without a client or after stop()
   * @example
   * if (manager.explain(podUID).cause.kind === 'hot-loop') manager.retryNow(podUID);
   */
  retryNow(podUID: string): boolean {
    requireText('podUID', podUID);
    const loop = this.#sendingLoop('retryNow');
    const uid = this.podManager.translatePodUID(podUID);
    if (!this.#cache.has(uid)) return false;
    loop.retryNow(uid);
    return true;
  }

  /**
   * Resolves when the currently cached version or a newer one has been written, or with the reason why
   * it never will be. Rejects for an invalid argument, and with the signal's reason when it is aborted
   * first. The UID of a mirror pod stands for its static pod. Waits while failed requests are retried,
   * even if the API server does not have the pod (404) or forbids access (403), until the status is
   * written or dropped (`removeOrphanedStatuses`). `explain()` says what it waits for. Does not wait for
   * a terminal phase that is held back while containers could be running.
   */
  async whenWritten(
    podUID: string,
    options: { readonly signal?: AbortSignalLike | undefined } = {},
  ): Promise<WrittenResult> {
    requireText('podUID', podUID);
    const signal = requireSignal(options);
    const uid = this.podManager.translatePodUID(podUID);
    const versioned = this.#cache.get(uid);
    if (versioned === undefined) return { written: false, reason: 'not-cached' };
    if (versioned.unsentSinceMs === undefined) return { written: true, version: versioned.version };
    if (this.#loop === undefined) return { written: false, reason: 'no-client' };
    if (this.state === 'stopped') return { written: false, reason: 'stopped' };
    return this.#outcomes.whenWritten(uid, versioned.version, signal);
  }

  /**
   * The pod's resize conditions: PodResizePending, then PodResizeInProgress, if set. They are not part
   * of the cached status and reach the API server only as conditions of a status passed to
   * `setPodStatus`.
   * Source: kubelet `GetPodResizeConditions`
   */
  getPodResizeConditions(podUID: string): PodCondition[] {
    requireText('podUID', podUID);
    return this.#resizeConditions.get(podUID);
  }

  /** Source: kubelet `IsPodResizeDeferred` */
  isPodResizeDeferred(podUID: string): boolean {
    requireText('podUID', podUID);
    return this.#resizeConditions.hasPendingReason(podUID, 'Deferred');
  }

  /** Source: kubelet `IsPodResizeInfeasible` */
  isPodResizeInfeasible(podUID: string): boolean {
    requireText('podUID', podUID);
    return this.#resizeConditions.hasPendingReason(podUID, 'Infeasible');
  }

  /**
   * The resize conditions for the pod's next status. For a terminal pod, clears them and returns none
   * (metric: resolution `terminated`).
   * Source: kubelet `determinePodResizeStatus`
   * @param podIsTerminal all containers have stopped and none will start again
   */
  determinePodResizeStatus(podUID: string, podIsTerminal: boolean): PodCondition[] {
    requireText('podUID', podUID);
    requireBoolean('podIsTerminal', podIsTerminal);
    if (podIsTerminal) this.#resizeConditions.clearTerminated(podUID);
    return this.#resizeConditions.get(podUID);
  }

  /**
   * Stores the condition for the pod's next status; sends nothing. If it returns true, call
   * `setPodStatus` with a status that includes `getPodResizeConditions`.
   * Source: kubelet `SetPodResizePendingCondition`
   * @param reason `Infeasible`; anything else becomes `Deferred`
   * @returns true when the condition is new, or its reason or observedGeneration changed
   */
  setPodResizePendingCondition(podUID: string, reason: string, message: string, observedGeneration: number): boolean {
    requireResizeCondition(podUID, reason, message, observedGeneration);
    return this.#resizeConditions.setPending(podUID, reason, message, observedGeneration);
  }

  /**
   * Like `setPodResizePendingCondition`; sends nothing. An existing condition keeps its
   * observedGeneration; if both reason and message are empty, it keeps those too.
   * Source: kubelet `SetPodResizeInProgressCondition`
   */
  setPodResizeInProgressCondition(
    podUID: string,
    reason: string,
    message: string,
    observedGeneration: number,
  ): ResizeInProgressChange {
    requireResizeCondition(podUID, reason, message, observedGeneration);
    return this.#resizeConditions.setInProgress(podUID, reason, message, observedGeneration);
  }

  /**
   * Sends nothing on its own. Source: kubelet `ClearPodResizePendingCondition`
   * @param resolution how the pending resize ended, for the metric; default `accepted`
   */
  clearPodResizePendingCondition(podUID: string, resolution: ResizeResolution = 'accepted'): void {
    requireText('podUID', podUID);
    requireOneOf('resolution', resolution, resizeResolutions);
    this.#resizeConditions.clearPending(podUID, resolution);
  }

  /** Sends nothing on its own. Source: kubelet `ClearPodResizeInProgressCondition` */
  clearPodResizeInProgressCondition(podUID: string): ResizeInProgressChange {
    requireText('podUID', podUID);
    return this.#resizeConditions.clearInProgress(podUID);
  }

  /**
   * After a restart: replaces the resize conditions with those in the pods' own statuses. `seed` does
   * this for pods that have none set.
   * Source: kubelet `BackfillPodResizeConditions`
   */
  backfillPodResizeConditions(pods: Iterable<Pod>): void {
    this.#resizeConditions.backfill(requirePods(pods));
  }

  /** The container's allocated resources, frozen; undefined if none are allocated. */
  getContainerResourceAllocation(podUID: string, containerName: string): ResourceRequirements | undefined {
    requireText('podUID', podUID);
    requireText('containerName', containerName);
    return this.#allocationState.getContainerResourceAllocation(podUID, containerName);
  }

  /** `''` when none is known. */
  getPodResizeStatus(podUID: string): PodResizeStatus {
    requireText('podUID', podUID);
    return this.#allocationState.getPodResizeStatus(podUID);
  }

  /** The change is readable immediately; resolves once the allocation state has stored it. */
  setPodAllocation(pod: Pod): Promise<void> {
    requirePod(pod);
    return this.#allocationState.setPodAllocation(pod);
  }

  /** As `setPodAllocation`. */
  setPodResizeStatus(podUID: string, resizeStatus: PodResizeStatus): Promise<void> {
    requireText('podUID', podUID);
    requireOneOf('resizeStatus', resizeStatus, podResizeStatuses);
    return this.#allocationState.setPodResizeStatus(podUID, resizeStatus);
  }

  async #stop(drainMs: number | undefined, signal: AbortSignalLike | undefined): Promise<void> {
    await this.#loop?.stop(drainMs, signal);
    const cleanUps: Readonly<Record<string, (() => void | Promise<void>) | undefined>> = {
      'the end of onMirrorPodAdded': this.#stopWatchingMirrors,
      'the end of registerGauges': this.#unregisterGauges,
      'close of the client': this.#closeClient,
      'close of the journal': () => this.#journal.close(),
    };
    const bounds = { clock: this.#clock, timeoutMs: closeTimeoutMs, signals: [] };
    for (const [what, close] of Object.entries(cleanUps))
      await boundedCall<void>(what, bounds, () => close?.()).catch((thrown: unknown) =>
        this.#logger.warn(thrownFields(thrown), 'Failed to clean up at stop'),
      );
  }

  get #inspectionSources(): InspectionSources {
    return {
      cache: this.#cache,
      podManager: this.podManager,
      clock: this.#clock,
      records: this.#records,
      loop: this.#loop,
      journal: this.#journal,
      dropped: this.#dropped,
      terminations: terminationsOf(this.#podDeletionSafety),
    };
  }

  #sendingLoop(method: string): SyncLoop {
    if (this.#loop === undefined) throw new StatusManagerError('INVALID_STATE', `Cannot ${method} without a client`);
    if (this.#stopped !== undefined) throw new StatusManagerError('INVALID_STATE', `Cannot ${method} after stop()`);
    return this.#loop;
  }

  #onAccepted(
    uid: string,
    accepted: VersionedPodStatus,
    superseded: VersionedPodStatus | undefined,
    oldStatus: PodStatus,
  ): void {
    this.#journal.accepted(uid, accepted, oldStatus);
    this.#loop?.wake();
    this.#outcomes.accepted(uid, superseded);
    this.#tracing.accepted(uid, accepted);
  }

  /** The API object is gone. Source: kubelet `deletePodStatus` */
  #deletePodStatus(uid: string, reason: DroppedStatus['reason']): void {
    this.#podStartupLatency?.deletePodStartupState(uid);
    this.#forgetPod(uid, reason);
  }

  #dropStatus(uid: string, reason: DroppedStatus['reason'] | 'outdated'): void {
    const versioned = this.#cache.get(uid);
    this.#cache.delete(uid);
    if (versioned !== undefined) {
      const sentVersion = this.#cache.sentVersion(this.#cache.apiUIDOf(uid));
      // The pod of an outdated status lives on.
      if (reason !== 'outdated') this.#dropped.add(uid, { reason, versioned, sentVersion });
      this.#outcomes.dropped(uid, versioned, reason === 'deleted' || reason === 'deleting' ? 'removed' : reason);
    } else if (reason === 'deleted') this.#dropped.deleted(uid);
    this.#journal.settled(uid);
    this.#records.drop(uid);
    this.#tracing.dropped(uid);
  }

  #forgetPod(uid: string, reason: DroppedStatus['reason']): void {
    this.#dropStatus(uid, reason);
    this.#resizeConditions.delete(uid);
    tryCall(
      () => this.#allocationState.delete(uid),
      (thrown) => logThrown(this.#logger, 'allocationState', { podUID: uid })(thrown, 'delete'),
    );
  }
}

function requireResizeCondition(podUID: unknown, reason: unknown, message: unknown, observedGeneration: unknown): void {
  requireText('podUID', podUID);
  requireString('reason', reason);
  requireString('message', message);
  requireInteger('observedGeneration', observedGeneration);
}
