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
import { equalJSON } from '../status/equality.ts';
import type { Pod, PodCondition, PodStatus } from '../../kube/types.ts';
import { type APIPod, apiPodOf } from './api-pod.ts';
import { decide, type Decision, type PatchStrategy } from './decide.ts';
import { failureClassTable } from './failure-classes.ts';
import type { Outcomes } from './outcomes.ts';
import { type PodRequests, RequestFailure, type SyncPermits } from './pod-requests.ts';
import type { DroppedMembers } from './dropped-members.ts';
import type { ResendDetector } from './resend-detector.ts';
import { TrustedPods } from './trusted-pods.ts';

/** Told of each status that reached the API server. Source: kubelet `PodStartupLatencyStateHelper`. */
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

/** How the sync of one pod ended. */
export type SyncResult =
  | {
      /** `written`: the API server took a PATCH. `unchanged`: it showed everything already. */
      readonly kind: 'written' | 'unchanged';
      readonly versioned: VersionedPodStatus;
      /** How often this very body has now been sent for this version; 0 when nothing was sent. */
      readonly timesSent: number;
      /** The object to delete now, at the end of the pod's life. */
      readonly deletionDue: Pod | undefined;
      /** The terminal phase was not written, because containers could be running. */
      readonly isHeldBack: boolean;
    }
  /** The status was dropped, here or by somebody else: there is nothing to sync. */
  | { readonly kind: 'gone' }
  | SyncFailure;

/** A request failed, or the sync was given up. */
export interface SyncFailure {
  readonly kind: 'failed';
  /** The cached status that the sync worked with. */
  readonly versioned: VersionedPodStatus;
  readonly verb: RequestVerb;
  readonly failure: FailureClass;
  readonly error: APIError;
  /** How long the request took. */
  readonly tookMs: number;
}

/** How the deletion of an API object ended. `requested`: finalizers keep the object. */
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
  readonly readBeforePatch: ReadBeforePatch;
  /** Statuses that an earlier run left in the journal: pod UID → when it was accepted. */
  readonly recovered: ReadonlyMap<string, string>;
  /**
   * The pod's newest version has reached the API server. Incomplete: its terminal phase was held
   * back, or the DELETE that follows from it is still to come.
   */
  readonly onSent: (uid: string, isComplete: boolean) => void;
  /** Forgets everything about a pod that is gone. kubelet: `deletePodStatus`. */
  readonly deletePodStatus: (uid: string, reason: DropReason) => void;
}

/** A decision with the cached status that it is about. */
type Plan = Decision & {
  readonly versioned: VersionedPodStatus;
  /** When `versioned` was read from the cache. */
  readonly readAtMs: number;
};

/** The trusted object was not enough, or no longer what the API server has. */
interface ReadFirst {
  readonly kind: 'read-first';
  /** The response to a PATCH that was taken nevertheless; it shows what a GET would. */
  readonly response?: APIPod;
}

/**
 * Brings the API server in line with one pod's cached status: GET, then PATCH if anything differs
 * (`syncPod`), then DELETE if the pod has come to its end (`deletePod`). The caller ensures that one
 * pod is never synced twice at the same time. Source: kubelet `syncPod`.
 */
export class PodSyncer {
  readonly #options: PodSyncerOptions;
  readonly #trusted: TrustedPods;

  constructor(options: PodSyncerOptions) {
    this.#options = options;
    this.#trusted = new TrustedPods(options.podManager, options.patchStrategy === 'json-patch');
  }

  /** Never rejects for a request: a failed one is a result. */
  async syncPod(uid: string, permits: SyncPermits): Promise<SyncResult> {
    let api: APIPod | undefined;
    const trusted = this.#trusted.take(uid);
    if (trusted !== undefined) {
      const result = await this.#write(uid, trusted, permits);
      if (result.kind !== 'read-first') return result;
      api = result.response;
    }
    const hasPatched = api !== undefined;
    const versioned = this.#options.cache.get(uid);
    if (versioned === undefined) return gone;
    try {
      api ??= await this.#read(versioned, permits);
    } catch (error) {
      return failureOf(error, 'get', versioned, permits.signal);
    }
    const result = await this.#write(uid, api, permits, hasPatched);
    if (result.kind === 'read-first') throw new Error('An object that was read is not trusted');
    return result;
  }

  /** Deletes exactly this object, without a grace period. Never rejects for a request. */
  async deletePod(uid: string, versioned: VersionedPodStatus, pod: Pod, permits: SyncPermits): Promise<DeletionResult> {
    const reference = referenceOf(versioned);
    try {
      await permits.acquire(permits.signal);
      await this.#options.requests.delete(reference, pod.metadata?.uid ?? '', permits.signal, permits.onWait);
    } catch (error) {
      return failureOf(error, 'delete', versioned, permits.signal);
    }
    this.#options.deletePodStatus(uid, 'removed');
    const finalizers = pod.metadata?.finalizers ?? [];
    const fields = podFields(uid, versioned);
    if (finalizers.length === 0) {
      this.#options.logger.info(fields, 'Pod fully terminated and removed from the API server');
      return { kind: 'deleted' };
    }
    this.#options.logger.info({ ...fields, finalizers }, 'Pod fully terminated; finalizers keep it on the API server');
    return { kind: 'requested', finalizers };
  }

  /** The status was dropped: forgets what was seen of the pod. */
  forget(uid: string): void {
    this.#trusted.forget(uid);
    this.#options.resendDetector.forget(uid);
    this.#options.droppedMembers.forget(uid);
  }

  async #read(versioned: VersionedPodStatus, permits: SyncPermits): Promise<APIPod> {
    await permits.acquire(permits.signal);
    return apiPodOf(await this.#options.requests.get(referenceOf(versioned), permits.signal, permits.onWait));
  }

  /** The part after the GET. @param hasPatched `api` is the response to a PATCH of this sync */
  async #write(uid: string, api: APIPod, permits: SyncPermits, hasPatched = false): Promise<SyncResult | ReadFirst> {
    const { cache, droppedMembers, outcomes, podStartupLatency, requests } = this.#options;
    let plan = this.#plan(uid, api);
    if (plan?.kind === 'patch') {
      try {
        await permits.acquire(permits.signal);
      } catch (error) {
        return failureOf(error, 'patch', plan.versioned, permits.signal);
      }
      // What was set while waiting is sent instead.
      if (cache.get(uid) !== plan.versioned) plan = this.#plan(uid, api);
    }
    if (plan === undefined) return gone;
    switch (plan.kind) {
      case 'read-first':
        return { kind: 'read-first' };
      case 'gone':
        return this.#drop(uid, api, plan.versioned, plan.reason);
      case 'unknown-mirror':
        return this.#waitForMirror(uid, api, plan.versioned);
      case 'unchanged':
        return this.#recordSent(
          uid,
          plan,
          api,
          api,
          hasPatched ? 'written' : 'unchanged',
          this.#canTrust(api, plan.merged),
        );
      default: {
        const { versioned, patch, merged } = plan;
        outcomes.sending(uid, versioned);
        let pod: Pod;
        try {
          pod = await requests.patchStatus(referenceOf(versioned), patch, permits.signal, permits.onWait);
        } catch (error) {
          const failure = failureOf(error, 'patch', versioned, permits.signal);
          const isStale = api.trustedAs !== undefined && isCuredByReading(failure.failure);
          return isStale ? { kind: 'read-first' } : failure;
        }
        podStartupLatency?.recordStatusUpdated(pod);
        const response = apiPodOf(pod);
        droppedMembers.learn(uid, api.status, merged, response.status);
        const canTrust = this.#canTrust(response, merged);
        // Somebody else has written since the object was trusted.
        if (api.trustedAs !== undefined && !canTrust) return { kind: 'read-first', response };
        return this.#recordSent(uid, plan, api, response, 'written', canTrust);
      }
    }
  }

  /**
   * What is to be done by the cache as it is now and the object that the API server last showed;
   * undefined when nothing is cached. One critical section.
   */
  #plan(uid: string, api: APIPod): Plan | undefined {
    const { cache, clock, droppedMembers, patchStrategy, podDeletionSafety, podManager, recovered } = this.#options;
    const versioned = cache.get(uid);
    if (versioned === undefined) return undefined;
    const decision = decide(droppedMembers.asKept(uid, versioned.status, api.status), api, {
      uid,
      translatedUID: podManager.translatePodUID(api.uid),
      pod: podManager.getPodByUID(uid),
      recordedAt: recovered.get(uid),
      podCouldHaveRunningContainers: (pod) => podDeletionSafety.podCouldHaveRunningContainers(pod),
      patchStrategy,
      now: timeFromEpochMs(clock.now()),
    });
    const readAtMs = clock.monotonicMs();
    if (!('disruptionTarget' in decision)) return { ...decision, versioned, readAtMs };
    return { ...decision, versioned: this.#withDisruptionTarget(uid, versioned, decision.disruptionTarget), readAtMs };
  }

  /** The API server shows what was planned. `latest` is the object as it showed it last. */
  #recordSent(
    uid: string,
    plan: Plan & { readonly kind: 'unchanged' | 'patch' },
    api: APIPod,
    latest: APIPod,
    kind: 'written' | 'unchanged',
    canTrust: boolean,
  ): SyncResult {
    const { cache, clock, logger, metrics, onSent, outcomes, resendDetector } = this.#options;
    const { versioned, readAtMs, merged } = plan;
    const { unsentSinceMs, status } = versioned;
    const isHeldBack = merged.phase !== status.phase;
    const deletionDue = canBeDeleted(latest.pod, versioned.podIsFinished) ? latest.pod : undefined;
    const fields = statusFields(uid, versioned);
    if (kind === 'written') {
      // Divergence: the kubelet also counts the syncs that write nothing.
      metrics.observePodStatusSyncDuration(Math.trunc(clock.monotonicMs() - (unsentSinceMs ?? readAtMs)) / 1000);
      logger.debug(fields, 'Status for pod updated');
    } else {
      logger.debug(fields, 'Status for pod is up-to-date');
    }
    if (cache.wasDropped(uid, versioned)) {
      return { kind, versioned, timesSent: 0, deletionDue, isHeldBack };
    }

    cache.markSent(uid, api.uid, versioned, { readAtMs, atMs: clock.monotonicMs(), as: kind });
    if (cache.get(uid)?.unsentSinceMs === undefined) {
      onSent(uid, !isHeldBack && deletionDue === undefined);
    }
    const timesSent =
      plan.kind === 'patch' ? resendDetector.sent(uid, versioned.version, plan.patch, api.pod, latest.pod) : 0;
    if (canTrust && deletionDue === undefined) this.#trusted.trust(uid, latest, merged);
    outcomes.sent(uid, versioned, kind, unsentSinceMs === undefined);
    return { kind, versioned, timesSent, deletionDue, isHeldBack };
  }

  /** The object shows exactly what was planned, so the next sync need not read it. */
  #canTrust({ status }: APIPod, merged: PodStatus): boolean {
    return this.#options.readBeforePatch === 'when-stale' && equalJSON(status, merged);
  }

  #drop(uid: string, api: APIPod, versioned: VersionedPodStatus, reason: 'recreated' | 'outdated'): SyncResult {
    const fields = { ...podFields(uid, versioned), apiUID: api.uid };
    const message =
      reason === 'recreated'
        ? 'Pod was deleted and then recreated, skipping status update'
        : 'The API server shows a newer status than the journal, dropping the recorded one';
    this.#options.logger.info(fields, message);
    this.#options.deletePodStatus(uid, reason);
    return gone;
  }

  #waitForMirror(uid: string, api: APIPod, versioned: VersionedPodStatus): SyncFailure {
    const fields = { ...podFields(uid, versioned), apiUID: api.uid };
    this.#options.logger.debug(fields, 'Static pod has a mirror that is not known yet');
    const error = new APIError('The mirror pod is not known to the pod manager', { kind: 'invalid-response' });
    return { kind: 'failed', versioned, verb: 'get', failure: 'not-visible', error, tookMs: 0 };
  }

  /** The merge has refreshed its transition time; the kubelet does that in the cached status. */
  #withDisruptionTarget(
    uid: string,
    versioned: VersionedPodStatus,
    disruptionTarget: PodCondition | undefined,
  ): VersionedPodStatus {
    const { conditions } = versioned.status;
    const cached = conditions?.find(({ type }) => type === disruptionTarget?.type);
    if (disruptionTarget === undefined || conditions === undefined || cached === undefined) return versioned;
    const { lastTransitionTime } = disruptionTarget;
    if (cached.lastTransitionTime === lastTransitionTime) return versioned;
    return this.#options.cache.replaceStatus(uid, versioned, {
      ...versioned.status,
      conditions: conditions.map((other) => (other === cached ? { ...cached, lastTransitionTime } : other)),
    });
  }
}

const gone: SyncResult = { kind: 'gone' };

function isCuredByReading(failure: FailureClass): boolean {
  return failure !== 'aborted' && failureClassTable[failure].isCuredByReading;
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
