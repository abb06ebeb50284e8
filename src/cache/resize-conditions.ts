import type { Clock } from '../clock.ts';
import type { Metrics, PendingResizeCount, PriorityBucket, ResizeResolution } from '../metrics.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { canonicalPodStatus } from '../status/canonical.ts';
import { timeFromEpochMs } from '../status/canonical-time.ts';
import type { Pod, PodCondition } from '../types.ts';

interface PendingResize {
  readonly condition: PodCondition;
  /** Wall time of its last transition, to the millisecond: that of the condition is cut to seconds. */
  readonly sinceMs: number;
}

interface PodResizeConditions {
  readonly pending?: PendingResize;
  readonly inProgress?: PodCondition;
}

/** What came of a change of PodResizeInProgress: the generation that the condition speaks of, 0 without one. */
export interface ResizeInProgressChange {
  readonly observedGeneration: number;
  readonly changed: boolean;
}

/**
 * The side table of the two resize conditions. What it holds is not part of a cached status: the
 * caller puts it into the status it sets. Source: kubelet `podResizeConditions`.
 */
export class ResizeConditions {
  readonly #conditions = new Map<string, PodResizeConditions>();
  readonly #podManager: PodManager;
  readonly #clock: Clock;
  readonly #metrics: Metrics;

  constructor(podManager: PodManager, clock: Clock, metrics: Metrics) {
    this.#podManager = podManager;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  get(uid: string): PodCondition[] {
    const { pending, inProgress } = this.#conditions.get(uid) ?? {};
    return [pending?.condition, inProgress].filter((condition) => condition !== undefined);
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
    const sinceMs = hasSameReason ? old!.sinceMs : this.#clock.now();
    this.#conditions.set(uid, { ...conditions, pending: { condition, sinceMs } });
    // Divergence: the kubelet recounts only when the condition is new, so that a changed reason shows late.
    if (!hasSameReason) this.#recordPendingResizes();
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
    this.#conditions.set(uid, { ...conditions, inProgress });
    if (old === undefined) this.#recordInProgressResizes();
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
    this.#conditions.set(uid, conditions.inProgress === undefined ? {} : { inProgress: conditions.inProgress });
    this.#recordPendingResizes();
  }

  clearInProgress(uid: string): ResizeInProgressChange {
    const conditions = this.#conditions.get(uid);
    if (conditions?.inProgress === undefined) return { observedGeneration: 0, changed: false };
    this.#conditions.set(uid, conditions.pending === undefined ? {} : { pending: conditions.pending });
    this.#recordInProgressResizes();
    return { observedGeneration: conditions.inProgress.observedGeneration ?? 0, changed: true };
  }

  /** Takes over what the pods' own statuses say, as after a restart. */
  backfill(pods: Iterable<Pod>): void {
    for (const pod of pods) {
      const uid = pod.metadata?.uid ?? '';
      for (const { type, reason, message, observedGeneration } of canonicalPodStatus(pod.status, { strict: false })
        .conditions ?? []) {
        if (type !== 'PodResizePending' && type !== 'PodResizeInProgress') continue;
        const condition = this.#condition(type, undefined, reason ?? '', message ?? '', observedGeneration ?? 0);
        this.#conditions.set(uid, {
          ...this.#conditions.get(uid),
          ...(type === 'PodResizePending'
            ? { pending: { condition, sinceMs: this.#clock.now() } }
            : { inProgress: condition }),
        });
      }
    }
    this.#recordPendingResizes();
    this.#recordInProgressResizes();
  }

  /** Forgets a pod that is gone. Source: kubelet `deletePodStatus`. */
  delete(uid: string): void {
    const conditions = this.#conditions.get(uid);
    if (conditions === undefined) return;
    if (conditions.pending !== undefined) this.#observeDeferredDuration(uid, conditions.pending, 'terminated');
    this.#conditions.delete(uid);
    this.#recordPendingResizes();
    this.#recordInProgressResizes();
  }

  #condition(
    type: string,
    old: PodCondition | undefined,
    reason: string,
    message: string,
    observedGeneration: number,
  ): PodCondition {
    const now = timeFromEpochMs(this.#clock.now());
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
    const seconds = (this.#clock.now() - sinceMs) / 1000;
    this.#metrics.observeDeferredResizeDuration(resolution, priorityBucket(this.#podManager.getPodByUID(uid)), seconds);
  }

  #recordPendingResizes(): void {
    const counts = new Map<string, { reason: string; priorityBucket: PriorityBucket; count: number }>();
    for (const [uid, { pending }] of this.#conditions) {
      const pod = pending && this.#podManager.getPodByUID(uid);
      if (!pod) continue;
      const reason = (pending.condition.reason ?? '').toLowerCase();
      const bucket = priorityBucket(pod);
      const key = `${reason}/${bucket}`;
      const counted = counts.get(key) ?? { reason, priorityBucket: bucket, count: 0 };
      counted.count++;
      counts.set(key, counted);
    }
    this.#metrics.setPendingResizes([...counts.values()] satisfies PendingResizeCount[]);
  }

  #recordInProgressResizes(): void {
    let count = 0;
    for (const { inProgress } of this.#conditions.values()) if (inProgress !== undefined) count++;
    this.#metrics.setInProgressResizes(count);
  }
}

function priorityBucket(pod: Pod | undefined): PriorityBucket {
  if (pod === undefined) return 'unknown';
  const priority = pod.spec?.priority ?? 0;
  if (priority === 0) return 'normal';
  if (priority >= 2_000_000_000) return 'system-critical';
  if (priority >= 100_000) return 'high';
  if (priority > 0) return 'medium';
  return priority > -1000 ? 'low' : 'very-low';
}
