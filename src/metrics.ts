import type { FailureClass } from './client/api-error.ts';
import type { RequestVerb } from './client/pod-client.ts';

/** Which list of the pod’s spec a container is in. */
export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';
/** A pod’s `spec.priority`, coarsely; `unknown` for a pod that the pod manager does not know. */
export type PriorityBucket = 'unknown' | 'system-critical' | 'high' | 'medium' | 'normal' | 'low' | 'very-low';
/** How a pending resize ended. */
export type ResizeResolution = 'accepted' | 'reverted' | 'terminated';
/** What came of one request: it succeeded, or its failure class. */
export type RequestOutcome = 'ok' | FailureClass;

/** What happened to one version of a pod's status; `StatusOutcome` says what each means. */
export type OutcomeKind = 'written' | 'unchanged' | 'superseded' | 'refused' | 'retried' | 'deleted' | 'gone';

/** How many pods wait for a resize for one reason, in one priority bucket. */
export interface PendingResizeCount {
  /** Lower case: `deferred` or `infeasible`. */
  readonly reason: string;
  readonly priorityBucket: PriorityBucket;
  readonly count: number;
}

/** What the status gauges show, read at the moment of a scrape. */
export interface StatusGauges {
  readonly cachedStatuses: number;
  /** Cached statuses whose present version has not reached the API server. */
  readonly unsentStatuses: number;
  /** 0 when nothing is unsent. */
  readonly oldestUnsentAgeSeconds: number;
}

/**
 * Where the manager reports its measurements. Implementations must be cheap; what they throw is
 * logged and harms nobody. `kubelet-status-manager/prometheus` has one over prom-client. Metric names: docs/metrics.md.
 */
export interface Metrics {
  /** From the oldest unsent change of a pod’s status to its arrival. kubelet: `kubelet_pod_status_sync_duration_seconds`. */
  observePodStatusSyncDuration(seconds: number): void;
  /** kubelet: `kubelet_terminated_containers_total`. */
  incTerminatedContainers(containerType: ContainerType, exitCode: number, reason: string): void;
  /** Replaces all earlier counts. kubelet: `kubelet_pod_pending_resizes`. */
  setPendingResizes(counts: readonly PendingResizeCount[]): void;
  /** kubelet: `kubelet_pod_in_progress_resizes`. */
  setInProgressResizes(count: number): void;
  /** kubelet: `kubelet_pod_deferred_resize_duration_seconds`. */
  observeDeferredResizeDuration(resolution: ResizeResolution, priorityBucket: PriorityBucket, seconds: number): void;
  /** One request to the API server. */
  incRequests(verb: RequestVerb, outcome: RequestOutcome): void;
  /** One refused update of the cache; `reason` is `illegal-container-transition`. */
  incRefusedUpdates(reason: string): void;
  /** One outcome of one version of a status, as listeners hear of it. */
  incOutcomes(outcome: OutcomeKind): void;
  /**
   * Called once by the manager: `read` gives the gauges at any later time.
   * @returns forgets them; called when the manager stops
   */
  registerStatusGauges(read: () => StatusGauges): () => void;
}

const nothing = (): void => {};

/** Measures nothing; the default. */
export const noopMetrics: Metrics = {
  observePodStatusSyncDuration: nothing,
  incTerminatedContainers: nothing,
  setPendingResizes: nothing,
  setInProgressResizes: nothing,
  observeDeferredResizeDuration: nothing,
  incRequests: nothing,
  incRefusedUpdates: nothing,
  incOutcomes: nothing,
  registerStatusGauges: () => nothing,
};
