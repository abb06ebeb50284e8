import type { AbortSignalLike } from '../../shared/abort.ts';
import type { VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { isUnrelatedToNode } from '../../kube/access/node-authorizer.ts';
import { APIError } from '../../kube/client/api-error.ts';
import type { PodReference } from '../../kube/client/pod-client.ts';
import { podFields, statusFields } from '../../shared/log-fields.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { canBeDeleted } from '../status/deletion.ts';
import { equalJSON } from '../status/equality.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { type APIPod, apiPodOf, decide, type Decision } from './decide.ts';
import { type PodRequests, RequestFailure, type SyncPermits } from './pod-requests.ts';
import { type DroppedFields, withoutDroppedFields } from './dropped-fields.ts';
import type { HotLoops } from './hot-loops.ts';
import type { SyncPorts } from './sync-ports.ts';
import type { SyncResultHandler } from './sync-result-handler.ts';
import type { Aborted, DeletedResult, DeletionResult, SentResult, SyncFailure, SyncResult } from './sync-result.ts';
import { isCuredByReading, replacesAllConditions, stillTrusted, trustedObject } from './trusted-object.ts';

export interface PodSyncerOptions extends SyncPorts {
  readonly requests: PodRequests;
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
/** How the API server is known to have a status, and whether it has exactly this one. */
interface Sent {
  readonly kind: 'written' | 'unchanged';
  readonly isAsMerged: boolean;
}
type PatchPlan = Plan<Extract<Decision, { readonly kind: 'patch' }>>;

/**
 * Syncs one pod's cached status to the API server: GET, then PATCH if it differs (`syncPod`), then
 * DELETE if the pod has terminated (`deletePod`). The caller never syncs a pod twice concurrently. A
 * failed request is a result, not a rejection. What follows from a result has happened when it is returned.
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

  async syncPod(uid: string, permits: SyncPermits): Promise<SyncResult> {
    const result = await this.#sync(uid, permits);
    this.#handleFailure(uid, result);
    return result;
  }

  #sync(uid: string, permits: SyncPermits): Promise<SyncResult> {
    const { podManager, records } = this.#options;
    const record = records.get(uid);
    if (record?.trusted === undefined) return this.#readAndSync(uid, permits);
    const trusted = stillTrusted(uid, record.trusted, podManager);
    record.trusted = undefined;
    return trusted === undefined ? this.#readAndSync(uid, permits) : this.#syncObject(uid, trusted, 'trusted', permits);
  }

  async #readAndSync(uid: string, permits: SyncPermits): Promise<SyncResult> {
    const versioned = this.#options.cache.get(uid);
    if (versioned === undefined) return gone;
    let api: APIPod;
    try {
      await permits.acquire(permits.signal);
      api = apiPodOf(await this.#options.requests.get(referenceOf(versioned), permits.signal, permits.onWait));
    } catch (error) {
      const result = failureOf(error, versioned, permits.signal);
      return result.kind === 'failed' && this.#isKnownToBeGone(uid, result.error) ? this.#dropOrphan(uid) : result;
    }
    return this.#syncObject(uid, api, 'read', permits);
  }

  /**
   * Brings this object in line with the cached status. A `trusted` object differs at two points: it is
   * read first if the patch is not safe without, or fails for want of a GET; and the response to its
   * patch shows what another writer has changed, as a GET would.
   */
  async #syncObject(
    uid: string,
    api: APIPod,
    from: 'read' | 'trusted' | 'response',
    permits: SyncPermits,
  ): Promise<SyncResult> {
    const mustRead = (plan: Plan | undefined): boolean => from === 'trusted' && !isSafeUnread(plan, api);
    let plan = this.#plan(uid, api);
    if (plan?.kind === 'patch' && !mustRead(plan)) {
      try {
        await permits.acquire(permits.signal);
      } catch (error) {
        return failureOf(error, plan.versioned, permits.signal);
      }
      // With the status set since, if any. No `await` between this and the PATCH.
      if (this.#options.cache.get(uid) !== plan.versioned) plan = this.#plan(uid, api);
    }
    if (mustRead(plan)) return this.#readAndSync(uid, permits);
    switch (plan?.kind) {
      case undefined:
        return gone;
      case 'gone':
        return this.#drop(uid, api, plan);
      case 'unknown-mirror':
        return this.#waitForMirror(uid, api, plan);
      case 'unchanged':
        return this.#recordSent(uid, this.#withDisruptionTarget(uid, plan), api, api, {
          kind: from === 'response' ? 'written' : 'unchanged',
          isAsMerged: this.#isAsMerged(api, plan),
        });
      case 'patch': {
        const sending = this.#withDisruptionTarget(uid, plan);
        const response = await this.#patch(uid, sending, api, permits);
        if ('kind' in response)
          return from === 'trusted' && isCuredByReading(response) ? this.#readAndSync(uid, permits) : response;
        const isAsMerged = this.#isAsMerged(response, sending);
        if (from === 'trusted' && !isAsMerged) return this.#syncObject(uid, response, 'response', permits);
        return this.#recordSent(uid, sending, api, response, { kind: 'written', isAsMerged });
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
      ...decision,
      versioned: adopt === undefined ? versioned : cache.replace(uid, versioned, adopt),
      readAtMs: clock.monotonicMs(),
    };
  }

  /** @returns the object in the response */
  async #patch(
    uid: string,
    { versioned, patch, merged }: PatchPlan,
    api: APIPod,
    permits: SyncPermits,
  ): Promise<APIPod | SyncFailure | Aborted> {
    const { droppedFields, outcomes, podStartupLatency, records, requests } = this.#options;
    outcomes.sending(uid, versioned);
    let pod: Pod;
    try {
      const based = { ...patch, resourceVersion: api.pod.metadata?.resourceVersion ?? undefined };
      pod = await requests.patchStatus(referenceOf(versioned), based, permits.signal, permits.onWait);
    } catch (error) {
      return failureOf(error, versioned, permits.signal);
    }
    podStartupLatency?.recordStatusUpdated(pod);
    const response = apiPodOf(pod);
    droppedFields.learn(records.of(uid), api.status, merged, response.status);
    return response;
  }

  /** With `when-stale`: the object has exactly this status, so that it may be trusted. */
  #isAsMerged({ status }: APIPod, { merged }: SendingPlan): boolean {
    return this.#options.readBeforePatch === 'when-stale' && equalJSON(status, merged);
  }

  /** Records that the API server has the planned status, and what follows. `latest` is the latest API object. */
  #recordSent(uid: string, plan: SendingPlan, api: APIPod, latest: APIPod, sent: Sent): SentResult {
    const { cache, resultHandler, section } = this.#options;
    return section.run(() => {
      const result = this.#markSent(uid, plan, api, latest, sent);
      // The outcome of a status that was dropped in the meantime has already been reported.
      if (!cache.wasDropped(uid, result.versioned)) resultHandler.handle(uid, result);
      return result;
    });
  }

  #markSent(uid: string, plan: SendingPlan, api: APIPod, latest: APIPod, { kind, isAsMerged }: Sent): SentResult {
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
      const failure = failureOf(error, versioned, permits.signal);
      this.#handleFailure(uid, failure);
      return failure;
    }
    return this.#options.section.run(() => this.#recordDeleted(uid, versioned, api.pod.metadata?.finalizers ?? []));
  }

  #recordDeleted(uid: string, versioned: VersionedPodStatus, finalizers: readonly string[]): DeletedResult {
    const { deletePodStatus, logger, resultHandler } = this.#options;
    deletePodStatus(uid, 'deleted');
    const fields = podFields(uid, versioned);
    const isGone = finalizers.length === 0;
    if (isGone) logger.info(fields, 'Pod fully terminated and removed from the API server');
    else logger.info({ ...fields, finalizers }, 'Pod fully terminated; finalizers keep it on the API server');
    const result = { kind: isGone ? 'deleted' : 'deletion-requested', versioned, finalizers } as const;
    resultHandler.handle(uid, result);
    return result;
  }

  /** The failure of a status that was dropped in the meantime has no consequences. */
  #handleFailure(uid: string, result: SyncResult | DeletionResult): void {
    const { cache, resultHandler } = this.#options;
    if (result.kind === 'failed' && !cache.wasDropped(uid, result.versioned)) resultHandler.handle(uid, result);
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
   * Whether a GET shows for certain that the pod of a recovered status is gone, as the caller of
   * `removeOrphanedStatuses` says. A node's user gets 403 in place of 404, also while the API server
   * lags and has not seen the pod. Then a list decides, or without one the time.
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

/** Longer than the node authorizer of an API server that serves requests lags behind. */
const maxAuthorizerLagMs = 600_000;

/** The terminal phase is not written, because containers could be running. */
function heldBack({ merged, versioned }: SendingPlan): boolean {
  return merged.phase !== versioned.status.phase;
}

/**
 * Whether the plan can be executed without a GET. A terminal phase that is held back is read first:
 * usually the containers have just stopped, and the pod's worker is about to say so. Then one patch has
 * all, as in the kubelet.
 */
function isSafeUnread(plan: Plan | undefined, trusted: APIPod): boolean {
  return (
    plan?.kind === 'patch' &&
    plan.disruptionTarget === undefined &&
    !heldBack(plan) &&
    !replacesAllConditions(trusted, plan.merged)
  );
}

/** @throws `error` when it is neither a failed request nor due to the signal */
function failureOf(error: unknown, versioned: VersionedPodStatus, signal: AbortSignalLike): SyncFailure | Aborted {
  if (error instanceof RequestFailure && error.failure !== 'aborted') {
    const { verb, failure, error: cause, tookMs } = error;
    return { kind: 'failed', versioned, verb, failure, error: cause, tookMs };
  }
  if (error instanceof RequestFailure || signal.aborted) return { kind: 'aborted', versioned };
  throw error;
}

function referenceOf({ podNamespace: namespace, podName: name }: VersionedPodStatus): PodReference {
  return { namespace, name };
}
