import type { ManagerInspection, PodInspection } from '../../status-manager/inspection.ts';
import type { OutageInspection } from '../../status-manager/sync/api-outage.ts';
import { podSummary, statusWordOf } from '../../kube/pods/pod-summary.ts';
import { type PodTermination, terminationWaitOf } from '../../status-manager/pod-deletion-safety.ts';
import type { Pod, PodStatus } from '../../kube/objects/types.ts';
import type { RequestedDeletion } from '../../status-manager/sync/terminating-pods.ts';
import type { ManagerState } from '../../status-manager/sync/sync-loop.ts';
import type { WaitingFor } from '../../status-manager/sync/waiting-for.ts';
import type { InformerState } from '../../kube/pod-manager/pod-manager.ts';

/** A time as in Kubernetes: RFC 3339, UTC, whole seconds. */
export type Timestamp = string;

/**
 * The reason why a pod waits.
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
  /** The next try after a call of the provider, or a sync, has failed; since the first failure. */
  | { readonly kind: 'provider' }
  | {
      /** The agent stops the containers of the pod, or, when they have stopped, its sandbox. */
      readonly kind: 'containers' | 'sandbox';
      readonly gracePeriodSeconds: number;
      readonly gracePeriodEndsAt: Timestamp;
    }
);

/** One row of the table. */
export interface PodRow {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  /** Absent if the pod is gone, or not on the API server. */
  readonly nodeName?: string | undefined;
  /** Phase, reason and readiness are absent when the pod has no cached status. */
  readonly phase?: string | undefined;
  /** The reason in the status, for example `Evicted`. */
  readonly reason?: string | undefined;
  /** Status of the condition Ready. */
  readonly ready?: string | undefined;
  /** Sidecars included, as in `kubectl get pods`, like the next three fields. */
  readonly readyContainers?: number | undefined;
  readonly containers?: number | undefined;
  /**
   * For example `CrashLoopBackOff`, `Init:0/1`, `Terminating`. Unlike in kubectl, the reason of a failed pod,
   * such as `Evicted`, precedes the reasons of its containers.
   */
  readonly status?: string | undefined;
  readonly restarts?: number | undefined;
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

/** One of the virtual nodes of several processes. */
export interface NodeRow {
  readonly nodeName: string;
  /** `running`, or why it does not run in this process: `notOwned`, `stopping`. */
  readonly state: string;
  /** The process that owns it, with replicas. */
  readonly owner?: string | undefined;
  /** Pods on this process, and those whose last call or sync failed. */
  readonly pods: number;
  readonly failingPods: number;
  /** Why its Node or Lease cannot be written, or the first of its pods fails. */
  readonly problem?: string | undefined;
}

interface ShownPod extends PodInspection {
  /** Of a virtual node: since when calls of the provider for the pod, or its syncs, have been failing. */
  readonly callsFailSince?: string | undefined;
}

/** What the page reads of a manager. */
export interface ShownInspection extends Omit<ManagerInspection, 'apiStatusVersions' | 'isWakeUpWaiting' | 'pods'> {
  readonly pods: readonly ShownPod[];
}

/** `pods.json`: the manager and all its pods. Absent fields have no value. */
export interface StatusDocument {
  readonly nodeName?: string | undefined;
  /** How often the document can change, and how often the page asks for it. */
  readonly refreshIntervalMs: number;
  readonly state: ManagerState;
  readonly outage?: OutageInspection | undefined;
  readonly requestFailure?: OutageInspection | undefined;
  readonly lastSuccessfulRequestAt?: Timestamp | undefined;
  readonly informer?: InformerState | undefined;
  readonly journalFailure?: ManagerInspection['journalFailure'];
  /** Further problems of the node, one sentence each. */
  readonly problems: readonly string[];
  /** Absent on the page of a single node. */
  readonly nodes?: readonly NodeRow[] | undefined;
  readonly pods: readonly PodRow[];
}

/** The data of the rows. */
export interface PodSummarySource {
  readonly inspection: Pick<ShownInspection, 'pods' | 'requestedDeletions'>;
  readonly getPodStatus: (podUID: string) => PodStatus | undefined;
  /** The pod in the pod manager. */
  readonly getPod: (podUID: string) => Pod | undefined;
}

export interface StatusDocumentSource extends PodSummarySource {
  readonly inspection: ShownInspection;
  readonly nodes: readonly NodeRow[] | undefined;
  readonly problems: readonly string[];
  readonly nodeName: string | undefined;
  readonly refreshIntervalMs: number;
}

export function statusDocument(source: StatusDocumentSource): StatusDocument {
  const { inspection, nodeName, refreshIntervalMs } = source;
  const { state, outage, requestFailure, lastSuccessfulRequestAt, informer, journalFailure } = inspection;
  return {
    nodeName,
    refreshIntervalMs,
    state,
    outage,
    requestFailure,
    lastSuccessfulRequestAt,
    informer,
    journalFailure,
    problems: source.problems,
    nodes: source.nodes,
    pods: podSummaries(source),
  };
}

/** The rows of all pods, or of one. */
export function podSummaries(
  { inspection, getPod, getPodStatus }: PodSummarySource,
  isShown: (row: { readonly podUID: string }) => boolean = () => true,
): PodRow[] {
  const { pods, requestedDeletions } = inspection;
  return [
    ...pods.filter(isShown).map((pod) => summaryOf(pod, getPod(pod.podUID), getPodStatus(pod.podUID))),
    ...requestedDeletions
      .filter((deletion) => isShown(deletion) && getPodStatus(deletion.podUID) === undefined)
      .map((deletion) => summaryOfDeletion(deletion)),
  ];
}

function summaryOf(pod: ShownPod, shown: Pod | undefined, status: PodStatus = {}): PodRow {
  const { podUID, podNamespace, podName, version, sentVersion, podIsFinished, termination } = pod;
  const lastError = pod.lastError ?? pod.rejected?.reason ?? termination?.lastError;
  // Without the spec, sidecars are not known.
  const spec = shown?.spec ?? { containers: status.containerStatuses ?? [] };
  const summarized = { metadata: shown?.metadata, spec, status };
  const { ready, total, restarts } = podSummary(summarized);
  return {
    podUID,
    podNamespace,
    podName,
    nodeName: shown?.spec?.nodeName ?? undefined,
    phase: status.phase,
    reason: status.reason,
    ready: status.conditions?.find(({ type }) => type === 'Ready')?.status,
    readyContainers: ready,
    containers: total,
    status: statusWordOf(summarized),
    restarts,
    version,
    sentVersion,
    podIsFinished,
    unsentSince: pod.unsentSince,
    waitingFor: waitOf(pod),
    nextTryAt: pod.nextTryAt,
    lastError,
  };
}

function summaryOfDeletion(deletion: RequestedDeletion): PodRow {
  const { podUID, podNamespace, podName, finalizers, since } = deletion;
  return { podUID, podNamespace, podName, waitingFor: { kind: 'finalizers', finalizers, since } };
}

function containersWaitOf(termination: PodTermination): PodWait {
  const { since, gracePeriodSeconds, gracePeriodEndsAt } = termination;
  return { kind: terminationWaitOf(termination), since, gracePeriodSeconds, gracePeriodEndsAt };
}

function waitOf({ waitingFor, termination, callsFailSince }: ShownPod): PodWait | undefined {
  if (waitingFor !== undefined) return syncWaitOf(waitingFor);
  if (termination !== undefined) return containersWaitOf(termination);
  return callsFailSince === undefined ? undefined : { kind: 'provider', since: callsFailSince };
}

/** Omits the message: the row shows it as its last error. */
function syncWaitOf(waitingFor: WaitingFor): PodWait {
  const { kind, since } = waitingFor;
  if (waitingFor.kind === 'back-off') {
    const { class: failureClass, verb, statusCode, tries } = waitingFor;
    return { kind, since, class: failureClass, verb, statusCode, tries };
  }
  return { kind, since, verb: 'verb' in waitingFor ? waitingFor.verb : undefined };
}
