import { type FailureClass, failureClasses } from './client/api-error.ts';
import { requestVerbs, type RequestVerb } from './client/pod-client.ts';

/*
 * The values of each label stand here, or in client/, once: the types follow from the lists, and
 * docs/metrics.md is held to them.
 */
export const containerTypes = ['container', 'init_container', 'ephemeral_container'] as const;
export const priorityBuckets = ['system-critical', 'high', 'medium', 'normal', 'low', 'very-low', 'unknown'] as const;
export const resizeResolutions = ['accepted', 'reverted', 'terminated'] as const;
export const requestOutcomes = ['ok', ...failureClasses] as const satisfies readonly ('ok' | FailureClass)[];
export const refusedUpdateReasons = ['illegal-container-transition'] as const;
export const outcomeKinds = [
  'written',
  'unchanged',
  'superseded',
  'gone',
  'reconciled',
  'refused',
  'forbidden',
  'retried',
  'deletion-requested',
  'deleted',
] as const;
export { requestVerbs };

/** Which list of the pod’s spec a container is in. */
export type ContainerType = (typeof containerTypes)[number];
/** A pod’s `spec.priority`, coarsely; `unknown` for a pod that the pod manager does not know. */
export type PriorityBucket = (typeof priorityBuckets)[number];
/** How a pending resize ended. */
export type ResizeResolution = (typeof resizeResolutions)[number];
/** How one request ended: it succeeded, or its failure class. */
export type RequestOutcome = (typeof requestOutcomes)[number];
/** Why the cache refused an update. */
export type RefusedUpdateReason = (typeof refusedUpdateReasons)[number];
/** What happened to one version of a pod's status; `StatusOutcome` says what each means. */
export type OutcomeKind = (typeof outcomeKinds)[number];

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
  /** One refused update of the cache. */
  incRefusedUpdates(reason: RefusedUpdateReason): void;
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
