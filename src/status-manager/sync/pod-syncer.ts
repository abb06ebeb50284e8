import type { AbortSignalLike } from '../../shared/abort.ts';
import type { PodStatusCache, VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { APIError, describeAbort, type FailureClass } from '../../kube/client/api-error.ts';
import type { PodReference, RequestVerb } from '../../kube/client/pod-client.ts';
import type { Clock } from '../../shared/clock.ts';
import { podFields, statusFields } from '../../shared/log-fields.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Metrics } from '../metrics.ts';
import type { PodDeletionSafety } from '../pod-deletion-safety.ts';
import type { PodManager } from '../../kube/pod-manager.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { canBeDeleted } from '../status/deletion.ts';
import type { Pod, PodStatus } from '../../kube/types.ts';
import { type APIPod, apiPodOf, decide, type Decision, type PatchStrategy } from './decide.ts';
import type { Outcomes } from './outcomes.ts';
import { type PodRequests, RequestFailure, type SyncPermits } from './pod-requests.ts';
import type { DroppedMembers } from './dropped-members.ts';
import type { ResendDetector } from './resend-detector.ts';

/** Notified of each status that reached the API server. Source: kubelet `PodStartupLatencyStateHelper`. */
export interface PodStartupLatency {
  /**
   * A status was written.
   * @param pod the pod in the API server's response to the PATCH
   */
  recordStatusUpdated(pod: Pod): void;
  /** The pod is gone. */
  deletePodStartupState(podUID: string): void;
}

/** When a pod is read before it is patched: see the option `readBeforePatch`. */
export type ReadBeforePatch = 'always' | 'when-stale';

/** Result of one pod's sync. `gone`: the status was dropped, so there is nothing to sync. */
export type SyncResult = SentResult | { readonly kind: 'gone' } | SyncFailure;

/** The API server shows the status. */
export interface SentResult {
  /** `written`: the API server took a PATCH. `unchanged`: it already had the status. */
  readonly kind: 'written' | 'unchanged';
  readonly versioned: VersionedPodStatus;
  /** How often this patch body has been sent for this version; 0 if nothing was sent. */
  readonly timesSent: number;
  /** The API object to delete now; undefined if none is. */
  readonly deletionDue: APIPod | undefined;
  /** The object as the API server last showed it. */
  readonly latest: APIPod;
  /** The status that the object should have. */
  readonly merged: PodStatus;
}

/** A request failed, or the sync was aborted. */
export interface SyncFailure {
  readonly kind: 'failed';
  /** The cached status that was synced. */
  readonly versioned: VersionedPodStatus;
  readonly verb: RequestVerb;
  readonly failure: FailureClass;
  readonly error: APIError;
  /** How long the request took. */
  readonly tookMs: number;
}

/** Result of a DELETE. `requested`: accepted, but finalizers keep the object. */
export type DeletionResult =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'requested'; readonly finalizers: readonly string[] }
  | SyncFailure;

/** Why a status is dropped. */
export type DropReason = 'removed' | 'recreated' | 'outdated';

export interface PodSyncerOptions {
  readonly requests: PodRequests;
  readonly cache: PodStatusCache;
  readonly podManager: PodManager;
  readonly podDeletionSafety: PodDeletionSafety;
  readonly podStartupLatency: PodStartupLatency | undefined;
  readonly resendDetector: ResendDetector;
  readonly droppedMembers: DroppedMembers;
  readonly outcomes: Outcomes;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly patchStrategy: PatchStrategy;
  /** Statuses that an earlier run left in the journal: pod UID → when it was accepted. */
  readonly recovered: ReadonlyMap<string, string>;
  /**
   * The pod's newest version has reached the API server. `isComplete` is false if its terminal phase
   * was held back, or if a DELETE is still due.
   */
  readonly onSent: (uid: string, isComplete: boolean) => void;
  /** Forgets everything about a pod that is gone. kubelet: `deletePodStatus`. */
  readonly deletePodStatus: (uid: string, reason: DropReason) => void;
}

/** A decision and the cached status that it is for. */
export type Plan<D extends Decision = Decision> = D & {
  readonly versioned: VersionedPodStatus;
  /** When `versioned` was read from the cache. */
  readonly readAtMs: number;
};

/** A plan after which the API server has the status. */
export type SendingPlan = Plan<Extract<Decision, { readonly kind: 'unchanged' | 'patch' }>>;
export type PatchPlan = Plan<Extract<Decision, { readonly kind: 'patch' }>>;

/**
 * Syncs one pod's cached status to the API server: GET, then PATCH if it differs (`syncPod`), then
 * DELETE if the pod has terminated (`deletePod`). The caller never syncs a pod twice concurrently. A
 * failed request is a result, not a rejection.
 * Source: kubelet `syncPod`.
 */
export class PodSyncer {
  readonly #options: PodSyncerOptions;

  constructor(options: PodSyncerOptions) {
    this.#options = options;
  }

  async syncPod(uid: string, permits: SyncPermits): Promise<SyncResult> {
    const versioned = this.#options.cache.get(uid);
    if (versioned === undefined) return gone;
    let api: APIPod;
    try {
      await permits.acquire(permits.signal);
      api = apiPodOf(await this.#options.requests.get(referenceOf(versioned), permits.signal, permits.onWait));
    } catch (error) {
      return failureOf(error, 'get', versioned, permits.signal);
    }
    return this.syncAPIPod(uid, api, permits);
  }

  /** `syncPod` after its GET. @param unchangedAs the result if there is nothing to write */
  async syncAPIPod(
    uid: string,
    api: APIPod,
    permits: SyncPermits,
    unchangedAs: 'written' | 'unchanged' = 'unchanged',
  ): Promise<SyncResult> {
    let plan = this.plan(uid, api);
    if (plan?.kind === 'patch') {
      const failure = await this.permit(plan, permits);
      if (failure !== undefined) return failure;
      plan = this.replan(uid, api, plan);
    }
    if (plan === undefined) return gone;
    switch (plan.kind) {
      case 'gone':
        return this.#drop(uid, api, plan);
      case 'unknown-mirror':
        return this.#waitForMirror(uid, api, plan);
      case 'unchanged':
        return this.recordSent(uid, this.#withDisruptionTarget(uid, plan), api, api, unchangedAs);
      default: {
        const sending = this.#withDisruptionTarget(uid, plan);
        const response = await this.patch(uid, sending, api, permits);
        return 'kind' in response ? response : this.recordSent(uid, sending, api, response, 'written');
      }
    }
  }

  /**
   * Decides from the current cache and the latest API object; undefined if nothing is cached. One
   * critical section.
   */
  plan(uid: string, api: APIPod): Plan | undefined {
    const { cache, clock, droppedMembers, patchStrategy, podDeletionSafety, podManager, recovered } = this.#options;
    const versioned = cache.get(uid);
    if (versioned === undefined) return undefined;
    const decision = decide(droppedMembers.withoutDropped(uid, versioned.status, api.status), api, {
      uid,
      translatedUID: podManager.translatePodUID(api.uid),
      pod: podManager.getPodByUID(uid),
      recordedAt: recovered.get(uid),
      podCouldHaveRunningContainers: (pod) => podDeletionSafety.podCouldHaveRunningContainers(pod),
      patchStrategy,
      now: timeFromEpochMs(clock.now()),
    });
    return { ...decision, versioned, readAtMs: clock.monotonicMs() };
  }

  /**
   * Waits for permission to send the PATCH. Call `replan` afterwards, with no `await` between `replan`
   * and the PATCH.
   */
  async permit({ versioned }: PatchPlan, permits: SyncPermits): Promise<SyncFailure | undefined> {
    try {
      await permits.acquire(permits.signal);
      return undefined;
    } catch (error) {
      return failureOf(error, 'patch', versioned, permits.signal);
    }
  }

  /** A plan with the status set since, if any. */
  replan(uid: string, api: APIPod, plan: Plan): Plan | undefined {
    return this.#options.cache.get(uid) === plan.versioned ? plan : this.plan(uid, api);
  }

  /** @returns the object in the response */
  async patch(
    uid: string,
    { versioned, patch, merged }: PatchPlan,
    api: APIPod,
    permits: SyncPermits,
  ): Promise<APIPod | SyncFailure> {
    const { droppedMembers, outcomes, podStartupLatency, requests } = this.#options;
    outcomes.sending(uid, versioned);
    let pod: Pod;
    try {
      pod = await requests.patchStatus(referenceOf(versioned), patch, permits.signal, permits.onWait);
    } catch (error) {
      return failureOf(error, 'patch', versioned, permits.signal);
    }
    podStartupLatency?.recordStatusUpdated(pod);
    const response = apiPodOf(pod);
    droppedMembers.learn(uid, api.status, merged, response.status);
    return response;
  }

  /** Deletes this object (UID precondition) with grace period 0. */
  async deletePod(
    uid: string,
    versioned: VersionedPodStatus,
    api: APIPod,
    permits: SyncPermits,
  ): Promise<DeletionResult> {
    const reference = referenceOf(versioned);
    try {
      await permits.acquire(permits.signal);
      await this.#options.requests.delete(reference, api.uid, permits.signal, permits.onWait);
    } catch (error) {
      return failureOf(error, 'delete', versioned, permits.signal);
    }
    this.#options.deletePodStatus(uid, 'removed');
    const finalizers = api.pod.metadata?.finalizers ?? [];
    const fields = podFields(uid, versioned);
    if (finalizers.length === 0) {
      this.#options.logger.info(fields, 'Pod fully terminated and removed from the API server');
      return { kind: 'deleted' };
    }
    this.#options.logger.info({ ...fields, finalizers }, 'Pod fully terminated; finalizers keep it on the API server');
    return { kind: 'requested', finalizers };
  }

  /** Drops the per-pod state: the status was dropped. */
  forget(uid: string): void {
    this.#options.resendDetector.forget(uid);
    this.#options.droppedMembers.forget(uid);
  }

  /** Records that the API server has the planned status. `latest` is the latest API object. */
  recordSent(uid: string, plan: SendingPlan, api: APIPod, latest: APIPod, kind: 'written' | 'unchanged'): SentResult {
    const { cache, clock, logger, metrics, onSent, outcomes, resendDetector } = this.#options;
    const { versioned, readAtMs, merged } = plan;
    const { unsentSinceMs } = versioned;
    const deletionDue = canBeDeleted(latest.pod, versioned.podIsFinished) ? latest : undefined;
    const fields = statusFields(uid, versioned);
    if (kind === 'written') {
      // Divergence: the kubelet also counts the syncs that write nothing.
      metrics.observePodStatusSyncDuration(Math.trunc(clock.monotonicMs() - (unsentSinceMs ?? readAtMs)) / 1000);
      logger.debug(fields, 'Status for pod updated');
    } else {
      logger.debug(fields, 'Status for pod is up-to-date');
    }
    if (cache.wasDropped(uid, versioned)) {
      return { kind, versioned, timesSent: 0, deletionDue, latest, merged };
    }
    cache.markSent(uid, api.uid, versioned, { readAtMs, atMs: clock.monotonicMs(), as: kind });
    if (cache.get(uid)?.unsentSinceMs === undefined) {
      onSent(uid, !isHeldBack(plan) && deletionDue === undefined);
    }
    const timesSent = plan.kind === 'patch' ? resendDetector.sent(uid, versioned, plan.patch, api.pod, latest.pod) : 0;
    outcomes.sent(uid, versioned, kind, unsentSinceMs === undefined);
    return { kind, versioned, timesSent, deletionDue, latest, merged };
  }

  #drop(
    uid: string,
    api: APIPod,
    { versioned, reason }: Plan<Extract<Decision, { readonly kind: 'gone' }>>,
  ): SyncResult {
    const fields = { ...podFields(uid, versioned), apiUID: api.uid };
    const message =
      reason === 'recreated'
        ? 'Pod was deleted and then recreated, skipping status update'
        : 'The API server shows a newer status than the journal, dropping the recorded one';
    this.#options.logger.info(fields, message);
    this.#options.deletePodStatus(uid, reason);
    return gone;
  }

  #waitForMirror(uid: string, api: APIPod, { versioned }: Plan): SyncFailure {
    const fields = { ...podFields(uid, versioned), apiUID: api.uid };
    this.#options.logger.debug(fields, 'Static pod has a mirror that is not known yet');
    const error = new APIError('The mirror pod is not known to the pod manager', { kind: 'invalid-response' });
    return { kind: 'failed', versioned, verb: 'get', failure: 'not-visible', error, tookMs: 0 };
  }

  /** The merge updates its transition time; the kubelet does so in the cached status. */
  #withDisruptionTarget<P extends SendingPlan>(uid: string, plan: P): P {
    const { disruptionTarget, versioned } = plan;
    const { conditions } = versioned.status;
    const cached = conditions?.find(({ type }) => type === disruptionTarget?.type);
    if (disruptionTarget === undefined || conditions === undefined || cached === undefined) return plan;
    const { lastTransitionTime } = disruptionTarget;
    if (cached.lastTransitionTime === lastTransitionTime) return plan;
    const status = {
      ...versioned.status,
      conditions: conditions.map((other) => (other === cached ? { ...cached, lastTransitionTime } : other)),
    };
    return { ...plan, versioned: this.#options.cache.replaceStatus(uid, versioned, status) };
  }
}

const gone: SyncResult = { kind: 'gone' };

/** The terminal phase is not written, because containers could be running. */
export function isHeldBack({ merged, versioned }: Pick<SentResult, 'merged' | 'versioned'>): boolean {
  return merged.phase !== versioned.status.phase;
}

/** @throws `error` when it is neither a failed request nor due to the signal */
function failureOf(
  error: unknown,
  verb: RequestVerb,
  versioned: VersionedPodStatus,
  signal: AbortSignalLike,
): SyncFailure {
  if (error instanceof RequestFailure) {
    return {
      kind: 'failed',
      versioned,
      verb: error.verb,
      failure: error.failure,
      error: error.error,
      tookMs: error.tookMs,
    };
  }
  if (!signal.aborted) throw error;
  return { kind: 'failed', versioned, verb, failure: 'aborted', error: describeAbort(signal), tookMs: 0 };
}

function referenceOf({ podNamespace: namespace, podName: name }: VersionedPodStatus): PodReference {
  return { namespace, name };
}
