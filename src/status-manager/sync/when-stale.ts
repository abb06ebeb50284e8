import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { FailureClass } from '../../kube/client/api-error.ts';
import type { PodManager } from '../../kube/pod-manager.ts';
import type { Pod, PodStatus } from '../../kube/types.ts';
import { equalJSON } from '../status/equality.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';
import type { APIPod } from './decide.ts';
import { failureClassTable } from './failure-classes.ts';
import type { SyncPermits } from './pod-requests.ts';
import {
  isHeldBack,
  type PatchPlan,
  type Plan,
  type PodSyncer,
  type SentResult,
  type SyncResult,
} from './pod-syncer.ts';

/** Syncs one pod: `PodSyncer`, or a layer around it. */
export type StatusSyncer = Pick<PodSyncer, 'syncPod' | 'deletePod' | 'forget'>;

export interface WhenStaleOptions {
  readonly syncer: PodSyncer;
  readonly cache: PodStatusCache;
  readonly podManager: PodManager;
  /** Also keep the status in the API server's own format, which a JSON patch tests. */
  readonly keepsRawStatus: boolean;
}

/**
 * Implements `readBeforePatch: 'when-stale'`: a layer around `PodSyncer` that caches the API objects
 * from our last responses and patches without a GET. An object is trusted for one sync; its result
 * decides whether the next sync may trust the new object.
 * Divergence, opt-in: the kubelet reads before each patch.
 */
export class WhenStale implements StatusSyncer {
  readonly #options: WhenStaleOptions;
  /** Pod UID (for a static pod its own, not its mirror's) → API object, with only the members that a sync needs. */
  readonly #trusted = new Map<string, APIPod>();

  constructor(options: WhenStaleOptions) {
    this.#options = options;
  }

  async syncPod(uid: string, permits: SyncPermits): Promise<SyncResult> {
    const trusted = this.#take(uid);
    const result = trusted && (await this.#patchWithoutReading(uid, trusted, permits));
    return result ?? this.#trustIfAsPlanned(uid, await this.#options.syncer.syncPod(uid, permits));
  }

  deletePod(...args: Parameters<PodSyncer['deletePod']>): ReturnType<PodSyncer['deletePod']> {
    return this.#options.syncer.deletePod(...args);
  }

  forget(uid: string): void {
    this.#trusted.delete(uid);
    this.#options.syncer.forget(uid);
  }

  /** Undefined if the pod must be read first. */
  async #patchWithoutReading(uid: string, trusted: APIPod, permits: SyncPermits): Promise<SyncResult | undefined> {
    const { syncer } = this.#options;
    const planned = syncer.plan(uid, trusted);
    if (!isPatchSafe(planned, trusted)) return undefined;
    const failure = await syncer.permit(planned, permits);
    if (failure !== undefined) return failure;
    const plan = syncer.replan(uid, trusted, planned);
    if (!isPatchSafe(plan, trusted)) return undefined;
    const response = await syncer.patch(uid, plan, trusted, permits);
    if ('kind' in response) return isCuredByReading(response.failure) ? undefined : response;
    if (equalJSON(response.status, plan.merged)) {
      return this.#trust(uid, syncer.recordSent(uid, plan, trusted, response, 'written'));
    }
    // Another writer has changed the object since; the response equals what a GET would return.
    return this.#trustIfAsPlanned(uid, await syncer.syncAPIPod(uid, response, permits, 'written'));
  }

  /**
   * Removes and returns the trusted object, with the pod manager's pod for the safety provider;
   * undefined if the pod must be read first, because another writer has, or may have, changed it.
   */
  #take(uid: string): APIPod | undefined {
    const trusted = this.#trusted.get(uid);
    if (trusted === undefined) return undefined;
    this.#trusted.delete(uid);
    const { podManager } = this.#options;
    const pod = podManager.getPodByUID(uid);
    if (pod === undefined) return undefined;
    const completePod = podManager.getMirrorPodByPod(pod) ?? pod;
    if (isNewer(completePod, trusted.pod)) return undefined;
    // Another writer may have reset the phase, on which the merge depends.
    if (isPodPhaseTerminal(completePod.status?.phase) !== isPodPhaseTerminal(trusted.status.phase)) return undefined;
    return { ...trusted, completePod };
  }

  /** Trusts the object for the next sync if it has exactly the planned status. */
  #trustIfAsPlanned(uid: string, result: SyncResult): SyncResult {
    return 'latest' in result && equalJSON(result.latest.status, result.merged) ? this.#trust(uid, result) : result;
  }

  #trust(uid: string, result: SentResult): SyncResult {
    const { deletionDue, latest, merged, versioned } = result;
    if (deletionDue !== undefined || this.#options.cache.wasDropped(uid, versioned)) return result;
    const { annotations, generation, deletionTimestamp, name, namespace, resourceVersion } = latest.pod.metadata ?? {};
    const metadata = { name, namespace, uid: latest.uid, annotations, generation, deletionTimestamp, resourceVersion };
    const status = this.#options.keepsRawStatus ? latest.pod.status : undefined;
    this.#trusted.set(uid, { pod: { metadata, status }, uid: latest.uid, status: merged });
    return result;
  }
}

/**
 * Whether the plan is safe to execute on the trusted object. A terminal phase that is held back is read first: usually the
 * containers have just stopped, and the pod's worker is about to say so. Then one patch has all, as in the kubelet.
 */
function isPatchSafe(plan: Plan | undefined, trusted: APIPod): plan is PatchPlan {
  return (
    plan?.kind === 'patch' &&
    plan.disruptionTarget === undefined &&
    !isHeldBack(plan) &&
    !replacesAllConditions(trusted.status, plan.merged)
  );
}

/** True if the API server has a version of the pod after `than`, as far as their resource versions can be compared. */
function isNewer(pod: Pod, than: Pod): boolean {
  return Number(pod.metadata?.resourceVersion) > Number(than.metadata?.resourceVersion);
}

/** True if the patch replaces or removes the complete list of conditions, including foreign ones. */
function replacesAllConditions(apiStatus: PodStatus, merged: PodStatus): boolean {
  return (apiStatus.conditions === undefined) !== (merged.conditions === undefined);
}

function isCuredByReading(failure: FailureClass): boolean {
  return failure !== 'aborted' && failureClassTable[failure].isCuredByReading;
}
