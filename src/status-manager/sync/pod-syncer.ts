import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { isUnrelatedToNode } from '../../kube/access/node-relationship.ts';
import { APIError } from '../../kube/client/api-error.ts';
import type { PodReference } from '../../kube/client/pod-client.ts';
import { podFields, statusFields } from '../../shared/log-fields.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { canBeDeleted } from '../status/deletion.ts';
import { equalJSON } from '../status/equality.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { type APIPod, apiPodOf, decide, type Decision } from './decide.ts';
import { type SyncRequests, RequestFailure } from './sync-requests.ts';
import type { PodSync } from './pod-sync.ts';
import { type DroppedFields, withoutDroppedFields } from './dropped-fields.ts';
import type { HotLoops } from './hot-loops.ts';
import type { SyncPorts } from './sync-ports.ts';
import type { SyncResultHandler } from './sync-result-handler.ts';
import type { AbortedSync, SentResult, SyncFailure, SyncResult } from './sync-result.ts';
import {
  isCuredByReading,
  newestObject,
  replacesAllConditions,
  stillTrusted,
  trustedObject,
} from './trusted-object.ts';

export interface PodSyncerOptions extends Pick<
  SyncPorts,
  | 'cache'
  | 'clock'
  | 'deletePodStatus'
  | 'dropOutdatedStatus'
  | 'limiter'
  | 'logger'
  | 'metrics'
  | 'onSettled'
  | 'outcomes'
  | 'patchStrategy'
  | 'podDeletionSafety'
  | 'podManager'
  | 'podStartupLatency'
  | 'readBeforePatch'
  | 'records'
  | 'section'
> {
  readonly requests: SyncRequests;
  readonly hotLoops: HotLoops;
  readonly droppedFields: DroppedFields;
  readonly resultHandler: SyncResultHandler;
}

/** A decision and the cached status that it is for. */
type Plan<D extends Decision = Decision> = D & {
  readonly versioned: VersionedPodStatus;
  /** When `versioned` was read from the cache. */
  readonly readAtMs: number;
};

/** A plan after which the API server has the status. */
type SendingPlan = Plan<Extract<Decision, { readonly kind: 'unchanged' | 'patch' }>>;
type PatchPlan = Plan<Extract<Decision, { readonly kind: 'patch' }>>;

/**
 * Syncs one pod's cached status to the API server: GET, then PATCH if it differs, then DELETE if the
 * pod has terminated. The caller never syncs a pod twice concurrently. A failed request is a result,
 * not a rejection. What follows from a result has happened when it is returned.
 * Source: kubelet `syncPod`.
 */
export class PodSyncer {
  readonly #options: PodSyncerOptions;
  /** For a JSON patch, the trusted objects keep the status in the API server's own format. */
  readonly #keepsRawStatus: boolean;

  constructor(options: PodSyncerOptions) {
    this.#options = options;
    this.#keepsRawStatus = options.patchStrategy === 'json-patch';
  }

  /** @param onSynced gets the result before the DELETE, if one follows */
  async syncPod(sync: PodSync, onSynced: (result: SyncResult) => void): Promise<SyncResult> {
    const trusted = this.#takeTrusted(sync.uid);
    let result = trusted && (await this.#syncTrusted(sync, trusted));
    result ??= await this.#readAndSync(sync);
    this.#handleFailure(sync.uid, result);
    onSynced(result);
    if ('deletionDue' in result && result.deletionDue !== undefined)
      await this.#deletePod(sync, result.versioned, result.deletionDue);
    return result;
  }

  /** The API object that may be patched without a GET. It is trusted for one sync. */
  #takeTrusted(uid: string): APIPod | undefined {
    const { podManager, records } = this.#options;
    const record = records.get(uid);
    if (record?.trusted === undefined) return undefined;
    const trusted = stillTrusted(uid, record.trusted, podManager);
    record.trusted = undefined;
    return trusted;
  }

  /** Patches an object without a GET. Undefined if it has to be read first. */
  async #syncTrusted(sync: PodSync, trusted: APIPod): Promise<SyncResult | undefined> {
    const { cache, limiter, podManager } = this.#options;
    const { uid } = sync;
    let plan = this.#plan(uid, trusted);
    if (!isSafeUnread(plan, trusted)) return undefined;
    try {
      await limiter.acquire(sync);
    } catch (error) {
      return failureOf(error, plan.versioned, sync);
    }
    // With the status set since, if any. No `await` between this and the PATCH.
    if (cache.get(uid) !== plan.versioned) plan = this.#plan(uid, trusted);
    if (!isSafeUnread(plan, trusted) || stillTrusted(uid, trusted, podManager) === undefined) return undefined;
    const response = await this.#patch(sync, plan, trusted);
    if ('kind' in response) return isCuredByReading(response) ? undefined : response;
    if (equalJSON(response.status, plan.merged)) return this.#recordSent(uid, plan, trusted, response, 'written', true);
    // The response shows what another writer has changed, as a GET would.
    return this.#syncObject(sync, response, true);
  }

  async #readAndSync(sync: PodSync): Promise<SyncResult> {
    const { cache, limiter, requests } = this.#options;
    const { uid } = sync;
    const versioned = cache.get(uid);
    if (versioned === undefined) return gone;
    let api: APIPod;
    try {
      await limiter.acquire(sync);
      api = apiPodOf(await requests.get(referenceOf(versioned), sync));
    } catch (error) {
      const result = failureOf(error, versioned, sync);
      return result.failure !== 'aborted' && this.#isKnownToBeGone(uid, result.error) ? this.#dropOrphan(uid) : result;
    }
    return this.#syncObject(sync, api, false);
  }

  /**
   * Brings the API object in line with the cached status.
   * @param isPatched this sync has patched it already, so the status is written also if nothing differs
   */
  async #syncObject(sync: PodSync, read: APIPod, isPatched: boolean): Promise<SyncResult> {
    const { cache, limiter, podManager } = this.#options;
    const { uid } = sync;
    let api = read;
    let plan = this.#plan(uid, api);
    if (plan?.kind === 'patch') {
      try {
        await limiter.acquire(sync);
      } catch (error) {
        return failureOf(error, plan.versioned, sync);
      }
      // With the status set and the object shown since, if any. No `await` between this and the PATCH.
      api = newestObject(uid, read, podManager);
      if (api !== read || cache.get(uid) !== plan.versioned) plan = this.#plan(uid, api);
    }
    switch (plan?.kind) {
      case undefined:
        return gone;
      case 'gone':
        return this.#drop(uid, api, plan);
      case 'unknown-mirror':
        return this.#waitForMirror(uid, api, plan);
      case 'unchanged': {
        const inSync = this.#withDisruptionTarget(uid, plan);
        return this.#recordSent(uid, inSync, api, api, isPatched ? 'written' : 'unchanged');
      }
      case 'patch': {
        const sending = this.#withDisruptionTarget(uid, plan);
        const response = await this.#patch(sync, sending, api);
        return 'kind' in response ? response : this.#recordSent(uid, sending, api, response, 'written');
      }
      default:
        return plan satisfies never;
    }
  }

  /**
   * Decides from the current cache and the latest API object; undefined if nothing is cached. One
   * critical section.
   */
  #plan(uid: string, api: APIPod): Plan | undefined {
    const { cache, clock, patchStrategy, podDeletionSafety, podManager, records } = this.#options;
    const versioned = cache.get(uid);
    if (versioned === undefined) return undefined;
    const decision = decide(withoutDroppedFields(records.get(uid)?.droppedFields, versioned.status, api.status), api, {
      uid,
      translatedUID: podManager.translatePodUID(api.uid),
      pod: podManager.getPodByUID(uid),
      adopted: versioned.adopted,
      podIsFinished: versioned.podIsFinished,
      podCouldHaveRunningContainers: (pod) => podDeletionSafety.podCouldHaveRunningContainers(pod),
      patchStrategy,
      now: timeFromEpochMs(clock.now()),
    });
    const adopt = 'adopt' in decision ? decision.adopt : undefined;
    return {
      versioned: adopt === undefined ? versioned : cache.replace(uid, versioned, adopt),
      readAtMs: clock.monotonicMs(),
      ...decision,
    };
  }

  /** @returns the object in the response */
  async #patch(
    sync: PodSync,
    { versioned, patch, merged }: PatchPlan,
    api: APIPod,
  ): Promise<APIPod | SyncFailure | AbortedSync> {
    const { droppedFields, outcomes, podStartupLatency, records, requests } = this.#options;
    outcomes.sending(sync.uid, versioned);
    let pod: Pod;
    try {
      const based = { ...patch, resourceVersion: api.pod.metadata?.resourceVersion ?? undefined };
      pod = await requests.patchStatus(referenceOf(versioned), based, sync);
    } catch (error) {
      return failureOf(error, versioned, sync);
    }
    podStartupLatency?.recordStatusUpdated(pod);
    const response = apiPodOf(pod);
    droppedFields.learn(records.of(sync.uid), api.status, merged, response.status);
    return response;
  }

  /**
   * Records that the API server has the planned status, and what follows.
   * @param latest the latest API object
   * @param isAsMerged with `when-stale`, it has exactly the planned status and may be trusted
   */
  #recordSent(
    uid: string,
    plan: SendingPlan,
    api: APIPod,
    latest: APIPod,
    kind: SentResult['kind'],
    isAsMerged = this.#options.readBeforePatch === 'when-stale' && equalJSON(latest.status, plan.merged),
  ): SentResult {
    const { cache, resultHandler, section } = this.#options;
    return section.run(() => {
      const result = this.#markSent(uid, plan, api, latest, { kind, isAsMerged });
      // The outcome of a status that was dropped in the meantime has already been reported.
      if (!cache.wasDropped(uid, result.versioned)) resultHandler.handle(uid, result);
      return result;
    });
  }

  #markSent(
    uid: string,
    plan: SendingPlan,
    api: APIPod,
    latest: APIPod,
    { kind, isAsMerged }: { readonly kind: SentResult['kind']; readonly isAsMerged: boolean },
  ): SentResult {
    const { cache, clock, hotLoops, logger, metrics, onSettled, outcomes, records } = this.#options;
    const { versioned, readAtMs, merged } = plan;
    const { unsentSinceMs } = versioned;
    const deletionDue = canBeDeleted(latest.pod, versioned.podIsFinished) ? latest : undefined;
    const isHeldBack = heldBack(plan);
    const fields = statusFields(uid, versioned);
    if (kind === 'written') {
      // Divergence: the kubelet also counts the syncs that write nothing.
      metrics.observePodStatusSyncDuration(Math.trunc(clock.monotonicMs() - (unsentSinceMs ?? readAtMs)) / 1000);
      logger.debug(fields, 'Status for pod updated');
    } else {
      logger.debug(fields, 'Status for pod is up-to-date');
    }
    if (cache.wasDropped(uid, versioned)) return { kind, versioned, isHeldBack, isHotLoop: false, deletionDue };
    const record = records.of(uid);
    cache.markSent(uid, api.uid, versioned, { readAtMs, atMs: clock.monotonicMs(), as: kind });
    const isComplete = !isHeldBack && deletionDue === undefined;
    if (isComplete && cache.get(uid)?.unsentSinceMs === undefined) onSettled(uid);
    const isHotLoop = plan.kind === 'patch' && hotLoops.sent(record, versioned, plan.patch, api.pod, latest.pod);
    if (isAsMerged && deletionDue === undefined && versioned.adopted === undefined)
      record.trusted = trustedObject(latest, merged, this.#keepsRawStatus);
    outcomes.sent(uid, versioned, kind, unsentSinceMs === undefined);
    return { kind, versioned, isHeldBack, isHotLoop, deletionDue };
  }

  /** Deletes this object (UID precondition) with grace period 0. */
  async #deletePod(sync: PodSync, versioned: VersionedPodStatus, api: APIPod): Promise<void> {
    const { limiter, podManager, requests, section } = this.#options;
    const wasShown = podManager.getPodByUID(sync.uid) !== undefined;
    try {
      await limiter.acquire(sync);
      await requests.delete(referenceOf(versioned), api.uid, sync);
    } catch (error) {
      return this.#handleFailure(sync.uid, failureOf(error, versioned, sync));
    }
    // The watch may have shown the end of the object before the response to the DELETE.
    const isGone = wasShown && podManager.getPodByUID(sync.uid) === undefined;
    section.run(() => this.#recordDeleted(sync.uid, versioned, isGone ? [] : (api.pod.metadata?.finalizers ?? [])));
  }

  #recordDeleted(uid: string, versioned: VersionedPodStatus, finalizers: readonly string[]): void {
    const { deletePodStatus, logger, resultHandler } = this.#options;
    deletePodStatus(uid, 'deleted');
    const fields = podFields(uid, versioned);
    const isGone = finalizers.length === 0;
    if (isGone) logger.info(fields, 'Pod fully terminated and removed from the API server');
    else logger.info({ ...fields, finalizers }, 'Pod fully terminated; finalizers keep it on the API server');
    resultHandler.handle(uid, { kind: isGone ? 'deleted' : 'deletion-requested', versioned, finalizers });
  }

  /** The failure of a status that was dropped in the meantime has no consequences. */
  #handleFailure(uid: string, result: SyncResult): void {
    const { cache, resultHandler } = this.#options;
    if (result.kind !== 'failed' || result.failure === 'aborted') return;
    if (!cache.wasDropped(uid, result.versioned)) resultHandler.handle(uid, result);
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
    const { deletePodStatus, dropOutdatedStatus, logger, section } = this.#options;
    section.run(() => {
      logger.info(fields, message);
      if (reason === 'outdated') dropOutdatedStatus(uid);
      else deletePodStatus(uid, reason);
    });
    return gone;
  }

  /**
   * Whether a failed GET proves that the pod of a recovered status is gone, as the caller of
   * `removeOrphanedStatuses` claims. A node's user gets 403 instead of 404, also from an API server
   * that lags and has not seen the pod yet. Then a list decides or, without one, the elapsed time.
   */
  #isKnownToBeGone(uid: string, { statusCode, reason, message }: APIError): boolean {
    const { cache, clock, podManager } = this.#options;
    const adopted = cache.get(uid)?.adopted;
    if (adopted?.from !== 'journal' || adopted.orphanedSinceMs === undefined) return false;
    if (statusCode === 403 && isUnrelatedToNode(message))
      return podManager.isGone?.(uid) ?? clock.monotonicMs() - adopted.orphanedSinceMs >= maxAuthorizerLagMs;
    // Without the reason, the response may come from a proxy.
    return statusCode === 404 && reason === 'NotFound';
  }

  #dropOrphan(uid: string): SyncResult {
    const { deletePodStatus, logger, section } = this.#options;
    section.run(() => {
      logger.info({ podUID: uid }, 'The pod of a recovered status is gone, dropping the status');
      deletePodStatus(uid, 'removed');
    });
    return gone;
  }

  #waitForMirror(uid: string, api: APIPod, { versioned }: Plan): SyncFailure {
    const fields = { ...podFields(uid, versioned), apiUID: api.uid };
    this.#options.logger.debug(fields, 'Static pod has a mirror that is not known yet');
    const error = new APIError('The mirror pod is not known to the pod manager', { kind: 'invalid-response' });
    return { kind: 'failed', versioned, verb: 'get', failure: 'NotFound', error, tookMs: 0 };
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
    return { ...plan, versioned: this.#options.cache.replace(uid, versioned, { status }) };
  }
}

const gone: SyncResult = { kind: 'gone' };

/** No API server that serves requests lags behind for this long. */
const maxAuthorizerLagMs = 600_000;

/** The terminal phase is not written, because containers could be running. */
function heldBack({ merged, versioned }: SendingPlan): boolean {
  return merged.phase !== versioned.status.phase;
}

/**
 * Whether the plan can be executed without a GET. If the terminal phase is held back, the object is read
 * first: usually the containers have just stopped, and the pod's worker is about to say so. A single
 * patch then contains both changes, as in the kubelet.
 */
function isSafeUnread(plan: Plan | undefined, trusted: APIPod): plan is PatchPlan {
  return (
    plan?.kind === 'patch' &&
    plan.disruptionTarget === undefined &&
    !heldBack(plan) &&
    !replacesAllConditions(trusted, plan.merged)
  );
}

/** @throws `error` when it is neither a failed request nor due to the signal of the sync */
function failureOf(error: unknown, versioned: VersionedPodStatus, { signal }: PodSync): SyncFailure | AbortedSync {
  if (error instanceof RequestFailure && error.failure !== 'aborted') {
    const { verb, failure, error: cause, tookMs } = error;
    return { kind: 'failed', versioned, verb, failure, error: cause, tookMs };
  }
  if (error instanceof RequestFailure || signal.aborted) return { kind: 'failed', failure: 'aborted' };
  throw error;
}

function referenceOf({ podNamespace: namespace, podName: name }: VersionedPodStatus): PodReference {
  return { namespace, name };
}
