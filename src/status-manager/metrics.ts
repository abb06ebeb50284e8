import { type FailureClass, failureClasses } from '../kube/client/api-error.ts';
import { requestVerbs, type RequestVerb } from '../kube/client/pod-client.ts';
import type { Logger } from '../shared/logger.ts';
import { resolvePartialPort } from '../shared/ports.ts';

/*
 * Label values. The types are derived from these lists; a test compares docs/monitoring.md with them.
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
  'hot-loop',
  'deletion-requested',
  'deleted',
] as const;
/** Values of the label `reason`: the kinds of `WaitingFor`, with `back-off` split by failure class. */
export const waitReasons = [
  'no-client',
  'not-running',
  'mirror-pod',
  'response',
  'connection',
  'limiter',
  'retry-after',
  'turn',
  'syncing',
  'next-batch',
  'pod-deletion-safety',
  'finalizers',
  ...failureClasses.filter((failureClass) => failureClass !== 'aborted'),
  'hot-loop',
] as const;
/** Values of the label `waiting_for`: what terminating pods wait for. */
export const terminatingWaits = ['containers', 'sandbox', 'pod-deletion-safety', 'finalizers', 'delete'] as const;
export { requestVerbs };

/** Which list of the pod’s spec a container is in. */
export type ContainerType = (typeof containerTypes)[number];
/** Bucket of a pod’s `spec.priority`; `unknown` for a pod that the pod manager does not know. */
export type PriorityBucket = (typeof priorityBuckets)[number];
/** How a pending resize ended. */
export type ResizeResolution = (typeof resizeResolutions)[number];
/** How one request ended: it succeeded, or its failure class. */
export type RequestOutcome = (typeof requestOutcomes)[number];
/** Why the cache refused an update. */
export type RefusedUpdateReason = (typeof refusedUpdateReasons)[number];
/** What a pod waits for. */
export type WaitReason = (typeof waitReasons)[number];
/** What a terminating pod waits for; `containers`, `sandbox`: not stopped after the grace period; `delete`: its DELETE fails. */
export type TerminatingWait = (typeof terminatingWaits)[number];
/** What happened to one version of a pod's status; see `StatusOutcome`. */
export type OutcomeKind = (typeof outcomeKinds)[number];

/** Number of pods with a pending resize, by reason and priority bucket. */
export interface PendingResizeCount {
  /** Lower case: `deferred` or `infeasible`. */
  readonly reason: string;
  readonly priorityBucket: PriorityBucket;
  readonly count: number;
}

/** The values of the status gauges at the time of a scrape. */
export interface StatusGauges {
  readonly cachedStatuses: number;
  /** Cached statuses that the API server does not show: not written yet, or in a hot loop. */
  readonly unsentStatuses: number;
  /** 0 when nothing is unsent. */
  readonly oldestUnsentAgeSeconds: number;
  /** Number of waiting pods by reason; reasons without a pod are absent. */
  readonly waitingPods: readonly { readonly reason: WaitReason; readonly count: number }[];
  /** Pods that cannot terminate: blocked by containers that do not stop, the safety provider, finalizers, or a failing DELETE. */
  readonly terminatingPods: readonly TerminatingPodsGauge[];
  /** Undefined before the first successful request. */
  readonly lastSuccessfulRequestAgeSeconds: number | undefined;
  /** Undefined unless there is an outage, as in `inspect()`. */
  readonly outage: OutageGauge | undefined;
  /** Pods in a hot loop: another writer keeps undoing their status. */
  readonly hotLoopPods: number;
  /** Pods whose newest status, or a container of it, was rejected by `setPodStatus`. */
  readonly rejectedPods: number;
  /** The journal cannot record statuses; undefined without a journal. */
  readonly isJournalFailing: boolean | undefined;
  /** Undefined when the pod manager is not an informer. */
  readonly informer: InformerGauges | undefined;
}

/** Terminating pods by what they wait for. */
export interface TerminatingPodsGauge {
  readonly waitingFor: TerminatingWait;
  readonly count: number;
  readonly oldestAgeSeconds: number;
}

/** An outage of the API server: no status can be written. */
export interface OutageGauge {
  readonly ageSeconds: number;
  readonly outcome: RequestOutcome;
  /** As of `incRequests`. */
  readonly code: string;
}

/** State of the pod manager's informer. */
export interface InformerGauges {
  /** The first list is complete. */
  readonly isSynced: boolean;
  /** Since the last list, event or bookmark; undefined before the first one. */
  readonly lastEventAgeSeconds: number | undefined;
  /** Number of restarts of failed lists and watches. */
  readonly restarts: number;
}

/**
 * The metrics port of the manager. Implementations must be cheap. Errors that they throw are logged
 * and ignored. `kubelet-status-manager/prometheus` implements it with prom-client. Metric names:
 * docs/monitoring.md.
 */
export interface Metrics {
  /**
   * Time from the oldest unsent change of a pod’s status until it is written; not observed for a sync
   * that writes nothing. kubelet: `kubelet_pod_status_sync_duration_seconds`.
   */
  observePodStatusSyncDuration(seconds: number): void;
  /** kubelet: `kubelet_terminated_containers_total`. */
  incTerminatedContainers(containerType: ContainerType, exitCode: number, reason: string): void;
  /** Replaces all earlier counts. kubelet: `kubelet_pod_pending_resizes`. */
  setPendingResizes(counts: readonly PendingResizeCount[]): void;
  /** kubelet: `kubelet_pod_in_progress_resizes`. */
  setInProgressResizes(count: number): void;
  /** kubelet: `kubelet_pod_deferred_resize_duration_seconds`. */
  observeDeferredResizeDuration(resolution: ResizeResolution, priorityBucket: PriorityBucket, seconds: number): void;
  /**
   * One request to the API server.
   * @param code `2xx`, the HTTP status of a failed request, or `<error>` without a response, as in client-go
   */
  incRequests(verb: RequestVerb, outcome: RequestOutcome, code: string): void;
  /**
   * Duration of one request, including its wait for a connection. client-go:
   * `rest_client_request_duration_seconds`.
   */
  observeRequestDuration(verb: RequestVerb, seconds: number): void;
  /** Statuses that could not be sent before the deadline of `stop({ drain: true })`. */
  incUnsentAtStop(count: number): void;
  /** One refused update of the cache. */
  incRefusedUpdates(reason: RefusedUpdateReason): void;
  /** One outcome of one version of a status, as `onOutcome` gets it. */
  incOutcomes(outcome: OutcomeKind): void;
  /**
   * Called once by the manager. `read` returns the current values whenever it is called.
   * @returns unregisters them; called when the manager stops
   */
  registerStatusGauges(read: () => StatusGauges): () => void;
}

const nothing = (): void => {};

/** The default: measures nothing. */
export const noopMetrics: Metrics = {
  observePodStatusSyncDuration: nothing,
  incTerminatedContainers: nothing,
  setPendingResizes: nothing,
  setInProgressResizes: nothing,
  observeDeferredResizeDuration: nothing,
  incRequests: nothing,
  observeRequestDuration: nothing,
  incUnsentAtStop: nothing,
  incRefusedUpdates: nothing,
  incOutcomes: nothing,
  registerStatusGauges: () => nothing,
};

const metricsMethods = Object.keys(noopMetrics) as (keyof Metrics)[];

/** Default: no metrics. @throws StatusManagerError INVALID_OPTION when the object has none of the methods */
export function resolveMetrics(metrics: Partial<Metrics> | undefined, logger: Logger): Metrics {
  return resolvePartialPort('metrics', metrics, metricsMethods, logger) ?? noopMetrics;
}
