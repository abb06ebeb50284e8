import type { ManagerInspection, PodInspection } from '../../status-manager/inspection.ts';
import type { OutageInspection } from '../../status-manager/sync/api-outage.ts';
import type { PodStatus } from '../../kube/types.ts';
import type { RequestedDeletion } from '../../status-manager/sync/terminating-pods.ts';
import type { ManagerState, WaitingFor } from '../../status-manager/sync/loop-inspection.ts';
import { timeFromEpochMs } from '../../shared/time.ts';

/** A time as in Kubernetes: RFC 3339, UTC, whole seconds. */
export type Timestamp = string;

/**
 * What a pod waits for, without ages, which would make every document differ from the previous one.
 * `finalizers`: the API server has accepted the DELETE, and finalizers keep the object.
 */
export type PodWait = { readonly since: Timestamp } & (
  | {
      readonly kind: WaitingFor['kind'];
      /** The request it waits for, or that failed. */
      readonly verb?: string | undefined;
      /** Why it backs off. */
      readonly class?: string | undefined;
      readonly statusCode?: number | undefined;
      /** Failures in a row. */
      readonly tries?: number | undefined;
    }
  | { readonly kind: 'finalizers'; readonly finalizers: readonly string[] }
);

/** One row of the table. */
export interface PodSummary {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  /** Phase, reason and readiness are absent when the pod has no cached status. */
  readonly phase?: string | undefined;
  /** The reason in the status, for example `Evicted`. */
  readonly reason?: string | undefined;
  /** Status of the condition Ready. */
  readonly ready?: string | undefined;
  readonly readyContainers?: number | undefined;
  readonly containers?: number | undefined;
  /** The cached version; absent when the pod has no cached status. */
  readonly version?: number | undefined;
  readonly sentVersion?: number | undefined;
  readonly podIsFinished?: boolean | undefined;
  /** When the oldest unsent change was accepted; absent when all changes were sent. */
  readonly unsentSince?: Timestamp | undefined;
  readonly waitingFor?: PodWait | undefined;
  readonly nextTryAt?: Timestamp | undefined;
  readonly lastError?: string | undefined;
}

/** `pods.json`: the manager and all its pods. Absent members have no value. */
export interface StatusDocument {
  readonly nodeName?: string | undefined;
  /** How often the document can change, and how often the page asks for it. */
  readonly refreshIntervalMs: number;
  readonly state: ManagerState;
  readonly outage?: (Omit<OutageInspection, 'forMs'> & { readonly since: Timestamp }) | undefined;
  readonly lastSuccessfulRequestAt?: Timestamp | undefined;
  readonly informer?:
    | {
        readonly isSynced: boolean;
        readonly lastEventAt?: Timestamp | undefined;
        readonly restarts: number;
        readonly failure?: { readonly failingSince: Timestamp; readonly reason: string } | undefined;
      }
    | undefined;
  readonly pods: readonly PodSummary[];
}

export interface StatusDocumentSource {
  readonly inspection: ManagerInspection;
  readonly getPodStatus: (podUID: string) => PodStatus | undefined;
  readonly nowMs: number;
  readonly nodeName: string | undefined;
  readonly refreshIntervalMs: number;
}

export function statusDocument(source: StatusDocumentSource): StatusDocument {
  const { inspection, getPodStatus, nowMs, nodeName, refreshIntervalMs } = source;
  const { state, outage, lastSuccessfulRequestAgeMs, informer, requestedDeletions } = inspection;
  return {
    nodeName,
    refreshIntervalMs,
    state,
    outage: outage && withSince(outage, nowMs),
    lastSuccessfulRequestAt: timeBefore(nowMs, lastSuccessfulRequestAgeMs),
    informer: informer && {
      isSynced: informer.isSynced,
      lastEventAt: timeBefore(nowMs, informer.lastEventAgeMs),
      restarts: informer.restarts,
      failure: informer.failure,
    },
    pods: [
      ...inspection.pods.map((pod) => summaryOf(pod, getPodStatus(pod.podUID), nowMs)),
      ...requestedDeletions
        .filter(({ podUID }) => getPodStatus(podUID) === undefined)
        .map((deletion) => summaryOfDeletion(deletion, nowMs)),
    ],
  };
}

function summaryOf(pod: PodInspection, status: PodStatus = {}, nowMs: number): PodSummary {
  const { podUID, podNamespace, podName, version, sentVersion, podIsFinished, lastError } = pod;
  const containers = status.containerStatuses ?? [];
  return {
    podUID,
    podNamespace,
    podName,
    phase: status.phase,
    reason: status.reason,
    ready: status.conditions?.find(({ type }) => type === 'Ready')?.status,
    readyContainers: containers.filter(({ ready }) => ready).length,
    containers: containers.length,
    version,
    sentVersion,
    podIsFinished,
    unsentSince: timeBefore(nowMs, pod.unsentForMs),
    waitingFor: pod.waitingFor && waitOf(pod.waitingFor, nowMs),
    nextTryAt: pod.nextTryInMs === undefined ? undefined : timeFromEpochMs(nowMs + pod.nextTryInMs),
    lastError,
  };
}

function summaryOfDeletion(deletion: RequestedDeletion, nowMs: number): PodSummary {
  const { podUID, podNamespace, podName, finalizers, forMs } = deletion;
  const since = timeFromEpochMs(nowMs - forMs);
  return { podUID, podNamespace, podName, waitingFor: { kind: 'finalizers', finalizers, since } };
}

/** Without the message, which the row has as its last error. */
function waitOf(waitingFor: WaitingFor, nowMs: number): PodWait {
  const { kind, forMs } = waitingFor;
  const since = timeFromEpochMs(nowMs - forMs);
  if (waitingFor.kind === 'back-off') {
    const { class: failureClass, verb, statusCode, tries } = waitingFor;
    return { kind, since, class: failureClass, verb, statusCode, tries };
  }
  return { kind, since, verb: 'verb' in waitingFor ? waitingFor.verb : undefined };
}

function withSince<T extends { readonly forMs: number }>(value: T, nowMs: number) {
  const { forMs, ...rest } = value;
  return { ...rest, since: timeFromEpochMs(nowMs - forMs) };
}

function timeBefore(nowMs: number, ageMs: number | undefined): Timestamp | undefined {
  return ageMs === undefined ? undefined : timeFromEpochMs(nowMs - ageMs);
}
