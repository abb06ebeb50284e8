import type { PodStatusCache, VersionedPodStatus } from '../cache/pod-status-cache.ts';
import { ApiError, describeAbort, type FailureClass } from '../client/api-error.ts';
import type { PodReference, PodStatusPatch, RequestVerb } from '../client/pod-client.ts';
import type { Clock } from '../clock.ts';
import { type Logger, thrownFields } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import type { PodDeletionSafety } from '../pods/pod-deletion-safety.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { isMirrorPod, isStaticPod } from '../status/static-pods.ts';
import { timeFromEpochMs } from '../status/canonical-time.ts';
import { canBeDeleted } from '../status/deletion.ts';
import { equalJSON } from '../status/equality.ts';
import { createStatusJsonPatch } from '../status/json-patch.ts';
import { mergePodStatus } from '../status/merge.ts';
import { showsNewer } from '../status/newer.ts';
import { createStatusPatch, diffPodStatus } from '../status/strategic-merge.ts';
import type { Pod, PodCondition, PodStatus } from '../types.ts';
import { type ApiPod, apiPodOf } from './api-pod.ts';
import { type PodRequests, RequestFailure, type SyncPermits } from './pod-requests.ts';
import type { ResendDetector } from './resend-detector.ts';
import { TrustedPods } from './trusted-pods.ts';

/** Told of each status that reached the API server. Source: kubelet `PodStartupLatencyStateHelper`. */
export interface PodStartupLatency {
  /** @param pod the API server's answer to the PATCH */
  recordStatusUpdated(pod: Pod): void;
  deletePodStartupState(podUID: string): void;
}

/** How a status is patched: see the option `patchStrategy`. */
export type PatchStrategy = 'strategic-merge' | 'json-patch';
/** When a pod is read before it is patched: see the option `readBeforePatch`. */
export type ReadBeforePatch = 'always' | 'when-stale';

/** What came of deleting the API object at the end of the pod's life. */
export type Deletion = 'none' | 'done' | { readonly failure: FailureClass; readonly error: ApiError };

/** How one sync of one pod ended. `version` is the cached version it worked with. */
export type SyncResult =
  | {
      /** The API server took the PATCH, or had it all already. */
      readonly kind: 'written' | 'unchanged';
      readonly version: number;
      /** How often this very body has now been sent for this version; 0 when nothing was sent. */
      readonly timesSent: number;
      readonly deletion: Deletion;
    }
  /** There is nothing to sync: the status was removed, or belonged to a pod whose name another one has now. */
  | { readonly kind: 'gone'; readonly version: number; readonly reason: 'removed' | 'recreated' | 'outdated' }
  | {
      readonly kind: 'failed';
      readonly version: number;
      readonly verb: RequestVerb;
      readonly failure: FailureClass;
      readonly error: ApiError;
    };

export interface PodSyncerOptions {
  readonly requests: PodRequests;
  readonly cache: PodStatusCache;
  readonly podManager: PodManager;
  readonly podDeletionSafety: PodDeletionSafety;
  readonly podStartupLatency: PodStartupLatency | undefined;
  readonly resendDetector: ResendDetector;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly patchStrategy: PatchStrategy;
  readonly readBeforePatch: ReadBeforePatch;
  /** Statuses that an earlier run left in the journal: pod UID → when it was accepted. */
  readonly recovered: ReadonlyMap<string, string>;
  /**
   * The pod's newest version has reached the API server; not whole when its terminal phase was held
   * back, or the DELETE that follows from it is still to come.
   */
  readonly onSent: (uid: string, isWhole: boolean) => void;
  /** A status that was set while the API object was being deleted: there is nobody to write it to. */
  readonly onLost: (uid: string, versioned: VersionedPodStatus) => void;
  /** Forgets a pod that is gone, with its resize conditions. kubelet: `deletePodStatus`. */
  readonly deletePodStatus: (uid: string) => void;
}

/** What a sync has to send; `patch` is undefined when the API server shows it all already. */
interface Plan {
  readonly kind: 'plan';
  readonly versioned: VersionedPodStatus;
  /** When `versioned` was read from the cache. */
  readonly readAtMs: number;
  /** What the API server is to show. */
  readonly merged: PodStatus;
  readonly patch: PodStatusPatch | undefined;
}

/** A sync that is under way: the caller's, who keeps it and marks it as dropped. */
export interface ActiveSync {
  /** The cached version it works with. */
  version: number;
  /** That version is on its way to the API server. */
  isSending: boolean;
  /** The status has been dropped since the start; one that was set after that starts at version 1 again. */
  isDropped: boolean;
}

/**
 * Brings the API server in line with one pod's cached status: GET, PATCH if anything differs,
 * DELETE if the pod has come to its end. The caller sees to it that one pod is never synced twice
 * at once. Source: kubelet `syncPod`.
 */
export class PodSyncer {
  readonly #options: PodSyncerOptions;
  readonly #trusted: TrustedPods;

  constructor(options: PodSyncerOptions) {
    this.#options = options;
    this.#trusted = new TrustedPods(options.podManager, options.patchStrategy === 'json-patch');
  }

  /** Never rejects: a failed request is a result. */
  async syncPod(uid: string, active: ActiveSync, permits: SyncPermits): Promise<SyncResult> {
    try {
      return await this.#readAndSync(uid, active, permits);
    } catch (error) {
      const { version } = active;
      if (error instanceof RequestFailure)
        return { kind: 'failed', version, verb: error.verb, failure: error.failure, error: error.error };
      if (permits.signal.aborted)
        return { kind: 'failed', version, verb: 'get', failure: 'aborted', error: describeAbort(permits.signal) };
      throw error;
    }
  }

  /** The status was dropped: forgets what was seen of the pod. */
  forget(uid: string): void {
    this.#trusted.forget(uid);
    this.#options.resendDetector.forget(uid);
  }

  async #readAndSync(uid: string, active: ActiveSync, permits: SyncPermits): Promise<SyncResult> {
    const trusted = this.#trusted.take(uid);
    const result = trusted && (await this.#sync(uid, active, trusted, true, permits));
    if (result !== undefined) return result;
    const versioned = this.#options.cache.get(uid);
    if (versioned === undefined) return removed;
    active.version = versioned.version;
    await permits.acquire(permits.signal);
    const got = await this.#options.requests.get(referenceOf(versioned), permits.signal);
    return (await this.#sync(uid, active, apiPodOf(got), false, permits))!;
  }

  /**
   * The part behind the GET. With a trusted object that our last request left, undefined means: it
   * cannot be done without reading first.
   */
  async #sync(
    uid: string,
    active: ActiveSync,
    api: ApiPod,
    isTrusted: boolean,
    permits: SyncPermits,
  ): Promise<SyncResult | undefined> {
    let plan = this.#plan(uid, active, api, isTrusted);
    if (plan?.kind === 'plan' && plan.patch !== undefined) {
      await permits.acquire(permits.signal);
      const isOutdated = this.#options.cache.get(uid)?.version !== plan.versioned.version || active.isDropped;
      if (isOutdated) plan = this.#plan(uid, active, api, isTrusted);
    }
    if (plan?.kind !== 'plan') return plan;

    const { versioned, merged, patch } = plan;
    let answer: ApiPod | undefined;
    if (patch !== undefined) {
      active.isSending = true;
      try {
        const pod = await this.#options.requests.patchStatus(referenceOf(versioned), patch, permits.signal);
        this.#options.podStartupLatency?.recordStatusUpdated(pod);
        answer = apiPodOf(pod);
      } catch (error) {
        if (isTrusted && error instanceof RequestFailure && failuresOfStaleReading.has(error.failure)) return undefined;
        throw error;
      } finally {
        active.isSending = false;
      }
    }
    const isAsExpected = answer === undefined || equalJSON(answer.status, merged);
    if (isTrusted && answer !== undefined && !isAsExpected) {
      // Somebody else has written since; the answer shows what a GET would.
      const result = await this.#sync(uid, active, answer, false, permits);
      return result?.kind === 'unchanged' ? { ...result, kind: 'written' } : result;
    }

    const latest = answer ?? api;
    const isDeletionDue = canBeDeleted(latest.pod, versioned.podIsFinished);
    const timesSent = this.#recordSent(uid, active, api, plan, isDeletionDue);
    let deletion: Deletion = 'none';
    if (isDeletionDue) {
      deletion = await this.#delete(uid, active, versioned, latest.uid, permits);
    } else if (this.#options.readBeforePatch === 'when-stale' && isAsExpected && !active.isDropped) {
      this.#trusted.trust(uid, latest, merged);
    }
    return { kind: patch === undefined ? 'unchanged' : 'written', version: versioned.version, timesSent, deletion };
  }

  /**
   * What is to be sent, by the cache as it is now and the object that the API server last showed;
   * or how the sync ends without a request; or undefined, of a trusted object: read first. One
   * critical section.
   */
  #plan(uid: string, active: ActiveSync, api: ApiPod, isTrusted: boolean): Plan | SyncResult | undefined {
    const { cache, clock, logger, recovered, deletePodStatus } = this.#options;
    const versioned = cache.get(uid);
    if (versioned === undefined) return removed;
    const { version } = versioned;
    active.version = version;
    const readAtMs = clock.monotonicMs();

    if (this.#isRecreated(uid, api.uid)) return isTrusted ? undefined : this.#recreated(uid, versioned, api);
    const acceptedAt = recovered.get(uid);
    if (acceptedAt !== undefined && showsNewer(api.status, versioned.status, acceptedAt)) {
      logger.info({ podUID: uid }, 'The API server shows a newer status than the journal; dropping it');
      deletePodStatus(uid);
      return { kind: 'gone', version, reason: 'outdated' };
    }

    const { status: merged, disruptionTarget } = mergePodStatus(
      api.pod,
      api.status,
      versioned.status,
      this.#couldHaveRunningContainers(api.podOfManager ?? api.pod),
      timeFromEpochMs(clock.now()),
    );
    if (isTrusted && (disruptionTarget !== undefined || replacesConditions(api.status, merged))) return undefined;
    this.#rememberDisruptionTarget(uid, versioned, disruptionTarget);
    const patch = this.#createPatch(api, merged);
    if (isTrusted && patch === undefined) return undefined;
    return { kind: 'plan', versioned, readAtMs, merged, patch };
  }

  /** The API server shows what was planned. @returns how often this body has been sent for this version */
  #recordSent(
    uid: string,
    active: ActiveSync,
    api: ApiPod,
    { versioned: { version, unsentSinceMs, status }, readAtMs, merged, patch }: Plan,
    isDeletionDue: boolean,
  ): number {
    const { cache, clock, metrics, onSent, resendDetector } = this.#options;
    metrics.observePodStatusSyncDuration(Math.trunc(clock.monotonicMs() - (unsentSinceMs ?? readAtMs)) / 1000);
    if (active.isDropped) return 0;
    cache.markSent(uid, api.uid, version, readAtMs);
    if (cache.get(uid)?.unsentSinceMs === undefined) onSent(uid, merged.phase === status.phase && !isDeletionDue);
    return patch === undefined ? 0 : resendDetector.sent(uid, version, patch, api.pod);
  }

  #isRecreated(uid: string, apiUID: string): boolean {
    const translated = this.#options.podManager.translatePodUID(apiUID);
    return translated !== '' && translated !== uid;
  }

  #recreated(uid: string, versioned: VersionedPodStatus, api: ApiPod): SyncResult {
    const pod = this.#options.podManager.getPodByUID(uid);
    const fields = { pod: `${versioned.podNamespace}/${versioned.podName}`, podUID: uid, apiUID: api.uid };
    // What the journal kept may be of a static pod that the pod manager has not been told of yet.
    const isStatic = pod === undefined ? this.#options.recovered.has(uid) && isMirrorPod(api.pod) : isStaticPod(pod);
    if (isStatic) {
      // Divergence: the kubelet drops the status of a static pod whose mirror it does not know yet.
      this.#options.logger.debug(fields, 'Static pod has a mirror that is not known yet');
      const error = new ApiError('The mirror pod is not known to the pod manager', { kind: 'invalid-response' });
      return { kind: 'failed', version: versioned.version, verb: 'get', failure: 'not-visible', error };
    }
    this.#options.logger.info(fields, 'Pod was deleted and then recreated, skipping status update');
    this.#options.deletePodStatus(uid);
    return { kind: 'gone', version: versioned.version, reason: 'recreated' };
  }

  /** The merge has refreshed its transition time; the kubelet does that in the cached status. */
  #rememberDisruptionTarget(
    uid: string,
    versioned: VersionedPodStatus,
    disruptionTarget: PodCondition | undefined,
  ): void {
    const { status } = versioned;
    if (disruptionTarget === undefined || status.conditions === undefined) return;
    if (status.conditions.includes(disruptionTarget)) return;
    const conditions = status.conditions.map((other) =>
      other.type === disruptionTarget.type ? disruptionTarget : other,
    );
    this.#options.cache.replaceStatus(uid, versioned, { ...status, conditions });
  }

  #couldHaveRunningContainers(pod: Pod): boolean {
    try {
      return this.#options.podDeletionSafety.podCouldHaveRunningContainers(pod);
    } catch (error) {
      this.#options.logger.error(
        { ...thrownFields(error), podUID: pod.metadata?.uid },
        'podCouldHaveRunningContainers threw; taken as true',
      );
      return true;
    }
  }

  #createPatch(api: ApiPod, merged: PodStatus): PodStatusPatch | undefined {
    if (this.#options.patchStrategy === 'json-patch') {
      // The JSON patch compares spellings; what only differs in spelling is not sent.
      if (diffPodStatus(api.status, merged) === undefined) return undefined;
      const body = createStatusJsonPatch(api.uid, api.pod.status, merged);
      return body && { type: 'application/json-patch+json', body };
    }
    const body = createStatusPatch(api.uid, api.status, merged);
    return body && { type: 'application/strategic-merge-patch+json', body };
  }

  async #delete(
    uid: string,
    active: ActiveSync,
    versioned: VersionedPodStatus,
    apiUID: string,
    permits: SyncPermits,
  ): Promise<Deletion> {
    const { namespace, name } = referenceOf(versioned);
    const fields = { pod: `${namespace}/${name}`, podUID: uid };
    try {
      await permits.acquire(permits.signal);
      await this.#options.requests.delete({ namespace, name }, apiUID, permits.signal);
    } catch (error) {
      // Stopped while it waited for its turn.
      if (permits.signal.aborted) return { failure: 'aborted', error: describeAbort(permits.signal) };
      if (!(error instanceof RequestFailure)) throw error;
      this.#options.logger.info(
        { ...fields, failure: error.failure, reason: error.message },
        'Failed to delete status for pod',
      );
      return { failure: error.failure, error: error.error };
    }
    this.#options.logger.info(fields, 'Pod fully terminated and removed from the API server');
    const wasDropped = active.isDropped;
    const latest = this.#options.cache.get(uid);
    this.#options.deletePodStatus(uid);
    if (latest !== undefined && (wasDropped || latest.version > versioned.version)) this.#options.onLost(uid, latest);
    return wasDropped ? 'none' : 'done';
  }
}

/** No outcome follows from this one: whoever dropped the status has reported it. */
const removed: SyncResult = { kind: 'gone', version: 0, reason: 'removed' };

/** True when a patch writes or removes the list of conditions as a whole, of which others own a part. */
function replacesConditions(apiStatus: PodStatus, merged: PodStatus): boolean {
  return (apiStatus.conditions === undefined) !== (merged.conditions === undefined);
}

/** What a PATCH that was made without reading first may fail of, where one after a GET would not. */
const failuresOfStaleReading: ReadonlySet<FailureClass> = new Set(['stale', 'not-visible', 'refused']);

function referenceOf({ podNamespace: namespace, podName: name }: VersionedPodStatus): PodReference {
  return { namespace, name };
}
