import type { Clock } from '../../shared/clock.ts';
import { tryCall } from '../../shared/guarded.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Metrics, ResizeResolution } from '../metrics.ts';
import type { PodManager } from '../../kube/pod-manager/pod-manager.ts';
import { logThrown } from '../../shared/ports.ts';
import { canonicalPodStatus } from '../status/canonical.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { Pod, PodCondition, ValidPod } from '../../kube/objects/types.ts';
import { PendingResizeCounts, priorityBucket } from './pending-resize-counts.ts';

export interface ResizeConditionsOptions {
  readonly podManager: PodManager;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

interface PendingResize {
  readonly condition: PodCondition;
  /** When it last changed, on the monotonic clock. */
  readonly sinceMs: number;
}

interface PodResizeConditions {
  readonly pending?: PendingResize | undefined;
  readonly inProgress?: PodCondition | undefined;
}

/** Result of a change of PodResizeInProgress, with the condition's observedGeneration; 0 without one. */
export interface ResizeInProgressChange {
  readonly observedGeneration: number;
  readonly changed: boolean;
}

/**
 * The two resize conditions of each pod. They become part of a cached status only when the caller
 * includes them in the status it sets. Source: kubelet `podResizeConditions`.
 */
export class ResizeConditions {
  readonly #conditions = new Map<string, PodResizeConditions>();
  readonly #pendingCounts: PendingResizeCounts;
  #inProgressCount = 0;
  readonly #options: ResizeConditionsOptions;

  constructor(options: ResizeConditionsOptions) {
    this.#options = options;
    this.#pendingCounts = new PendingResizeCounts((uid) => this.#podOf(uid));
  }

  /** Copies of the conditions that are set. */
  get(uid: string): PodCondition[] {
    const { pending, inProgress } = this.#conditions.get(uid) ?? {};
    return [pending?.condition, inProgress].filter((condition) => condition !== undefined).map((each) => ({ ...each }));
  }

  hasPendingReason(uid: string, reason: 'Deferred' | 'Infeasible'): boolean {
    return this.#conditions.get(uid)?.pending?.condition.reason === reason;
  }

  setPending(uid: string, reason: string, message: string, observedGeneration: number): boolean {
    const conditions = this.#conditions.get(uid);
    const old = conditions?.pending;
    const condition = this.#condition(
      'PodResizePending',
      old?.condition,
      reason === 'Infeasible' ? reason : 'Deferred',
      message,
      observedGeneration,
    );
    const hasSameReason = old?.condition.reason === condition.reason;
    const sinceMs = hasSameReason ? old!.sinceMs : this.#options.clock.monotonicMs();
    this.#set(uid, { ...conditions, pending: { condition, sinceMs } });
    // Divergence: the kubelet recounts only when the condition is new, so a changed reason appears late.
    if (!hasSameReason) this.#reportPending();
    return !hasSameReason || (old?.condition.observedGeneration ?? 0) !== observedGeneration;
  }

  setInProgress(uid: string, reason: string, message: string, observedGeneration: number): ResizeInProgressChange {
    const conditions = this.#conditions.get(uid);
    const old = conditions?.inProgress;
    const keep = old !== undefined && reason === '' && message === '';
    const inProgress = this.#condition(
      'PodResizeInProgress',
      old,
      keep ? (old.reason ?? '') : reason,
      keep ? (old.message ?? '') : message,
      old === undefined ? observedGeneration : (old.observedGeneration ?? 0),
    );
    this.#set(uid, { ...conditions, inProgress });
    if (old === undefined) this.#reportInProgress();
    return {
      observedGeneration: inProgress.observedGeneration ?? 0,
      changed:
        old === undefined ||
        old.status !== inProgress.status ||
        old.reason !== inProgress.reason ||
        old.message !== inProgress.message,
    };
  }

  clearPending(uid: string, resolution: ResizeResolution): void {
    const conditions = this.#conditions.get(uid);
    if (conditions?.pending === undefined) return;
    this.#observeDeferredDuration(uid, conditions.pending, resolution);
    this.#set(uid, { inProgress: conditions.inProgress });
    this.#reportPending();
  }

  clearInProgress(uid: string): ResizeInProgressChange {
    const conditions = this.#conditions.get(uid);
    if (conditions?.inProgress === undefined) return { observedGeneration: 0, changed: false };
    this.#set(uid, { pending: conditions.pending });
    this.#reportInProgress();
    return { observedGeneration: conditions.inProgress.observedGeneration ?? 0, changed: true };
  }

  /** The pod is terminal: ends its resizes. */
  clearTerminated(uid: string): void {
    this.clearInProgress(uid);
    this.clearPending(uid, 'terminated');
  }

  /** Like `backfill`, but only for pods without conditions. */
  backfillMissing(pods: readonly ValidPod[]): void {
    this.backfill(pods.filter(({ metadata }) => !this.#conditions.has(metadata.uid)));
  }

  /** After a restart: inherits the resize conditions in the pods' own statuses. */
  backfill(pods: Iterable<ValidPod>): void {
    for (const pod of pods) {
      const uid = pod.metadata.uid;
      for (const { type, reason, message, observedGeneration } of canonicalPodStatus(pod.status, { strict: false })
        .conditions ?? []) {
        if (type !== 'PodResizePending' && type !== 'PodResizeInProgress') continue;
        const generation = Number.isSafeInteger(observedGeneration) ? observedGeneration! : 0;
        const condition = this.#condition(type, undefined, reason ?? '', message ?? '', generation);
        this.#set(uid, {
          ...this.#conditions.get(uid),
          ...(type === 'PodResizePending'
            ? { pending: { condition, sinceMs: this.#options.clock.monotonicMs() } }
            : { inProgress: condition }),
        });
      }
    }
    this.#pendingCounts.recount();
    this.#reportPending();
    this.#reportInProgress();
  }

  /** Removes the conditions of a deleted pod. Source: kubelet `deletePodStatus`. */
  delete(uid: string): void {
    const conditions = this.#conditions.get(uid);
    if (conditions === undefined) return;
    if (conditions.pending !== undefined) this.#observeDeferredDuration(uid, conditions.pending, 'terminated');
    this.#set(uid, {});
    this.#reportPending();
    this.#reportInProgress();
  }

  /** Call it after pods were removed from the pod manager; unknown pods are no longer counted. */
  recount(): void {
    if (this.#conditions.size === 0) return;
    this.#pendingCounts.recount();
    this.#reportPending();
  }

  #set(uid: string, conditions: PodResizeConditions): void {
    const old = this.#conditions.get(uid);
    const { pending, inProgress } = conditions;
    if (pending === undefined && inProgress === undefined) this.#conditions.delete(uid);
    else this.#conditions.set(uid, conditions);
    if (reasonOf(pending) !== reasonOf(old?.pending)) this.#pendingCounts.set(uid, reasonOf(pending));
    this.#inProgressCount += Number(inProgress !== undefined) - Number(old?.inProgress !== undefined);
  }

  #condition(
    type: string,
    old: PodCondition | undefined,
    reason: string,
    message: string,
    observedGeneration: number,
  ): PodCondition {
    const now = timeFromEpochMs(this.#options.clock.now());
    return {
      type,
      ...(observedGeneration !== 0 && { observedGeneration }),
      status: 'True',
      lastProbeTime: now,
      lastTransitionTime: old !== undefined && (old.reason ?? '') === reason ? old.lastTransitionTime : now,
      ...(reason !== '' && { reason }),
      ...(message !== '' && { message }),
    };
  }

  #observeDeferredDuration(uid: string, { condition, sinceMs }: PendingResize, resolution: ResizeResolution): void {
    if (condition.reason !== 'Deferred') return;
    const seconds = (this.#options.clock.monotonicMs() - sinceMs) / 1000;
    this.#options.metrics.observeDeferredResizeDuration(resolution, priorityBucket(this.#podOf(uid)), seconds);
  }

  /** Never throws, so that no change is left incomplete: if the pod manager throws, the pod is treated as unknown. */
  #podOf(uid: string): Pod | undefined {
    return tryCall(
      () => this.#options.podManager.getPodByUID(uid),
      (thrown) => logThrown(this.#options.logger, 'podManager', { podUID: uid })(thrown, 'getPodByUID'),
    );
  }

  #reportPending(): void {
    this.#options.metrics.setPendingResizes(this.#pendingCounts.counts());
  }

  #reportInProgress(): void {
    this.#options.metrics.setInProgressResizes(this.#inProgressCount);
  }
}

/** Undefined when no resize is pending. */
function reasonOf(pending: PendingResize | undefined): string | undefined {
  return pending && (pending.condition.reason ?? '');
}
