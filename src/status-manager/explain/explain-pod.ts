import { canonicalPodStatus } from '../status/canonical.ts';
import { canonicalTime, epochMsOf, MonotonicTimes, timeFromEpochMs } from '../../shared/time.ts';
import { getPodCondition } from '../status/conditions.ts';
import { statusWordOf } from '../../kube/pods/pod-summary.ts';
import { isBeingDeleted } from '../status/deletion.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';
import type { OutageInspection } from '../sync/api-outage.ts';
import type { RequestedDeletion } from '../sync/terminating-pods.ts';
import type { Pod, PodStatus } from '../../kube/objects/types.ts';
import { inspectPod, type InspectionSources, type PodInspection } from '../inspection.ts';
import type { DroppedStatus } from './dropped-statuses.ts';
import { sentenceOf } from './sentence.ts';
import type { PodCause, PodExplanation, ReadyExplanation } from './explanation.ts';
import { unreadyCauses } from './unready-causes.ts';

/** Input of `explainPod`. */
export interface ExplainFacts {
  readonly podUID: string;
  /** Wall time in ms since the epoch. */
  readonly nowMs: number;
  /** Failed pods are retried on their own. */
  readonly isSending: boolean;
  /** As the pod manager shows it. */
  readonly pod: Pod | undefined;
  /** The API object: the pod itself, or the mirror of a static pod. */
  readonly apiPod: Pod | undefined;
  /** The cached status. */
  readonly status: PodStatus | undefined;
  /** Inspection of the cached status. */
  readonly inspection: PodInspection | undefined;
  /** The API server has accepted the DELETE, and finalizers keep the object. */
  readonly requestedDeletion: RequestedDeletion | undefined;
  readonly outage: OutageInspection | undefined;
  /** The last status of the pod that was dropped a short time ago; undefined if another one is cached. */
  readonly dropped: DroppedInspection | undefined;
}

interface DroppedInspection extends Omit<DroppedStatus, 'atMs'> {
  readonly at: string;
  readonly sentAt: string | undefined;
}

/** Collects the facts about one pod; makes no request. @param uid of the pod, or of its mirror pod */
export function readExplainFacts(uid: string, sources: InspectionSources): ExplainFacts {
  const { cache, clock, loop, podManager, records } = sources;
  const podUID = podManager.translatePodUID(uid) || uid;
  const versioned = cache.get(podUID);
  const pod = podManager.getPodByUID(podUID);
  const times = new MonotonicTimes(clock);
  return {
    podUID,
    nowMs: clock.now(),
    isSending: loop?.isSending ?? false,
    pod,
    apiPod: (pod && podManager.getMirrorPodByPod(pod)) ?? pod,
    status: versioned?.status,
    inspection: versioned && inspectPod(podUID, versioned, sources, times),
    requestedDeletion: loop?.terminatingPods.requestedDeletionOf(records.get(podUID), times),
    outage: loop?.apiOutage.inspect(times),
    dropped: versioned === undefined ? inspectDropped(sources.dropped.get(podUID), times) : undefined,
  };
}

function inspectDropped(dropped: DroppedStatus | undefined, times: MonotonicTimes): DroppedInspection | undefined {
  if (dropped === undefined) return undefined;
  const { sentAtMs } = dropped.versioned;
  return {
    ...dropped,
    at: times.format(dropped.atMs),
    sentAt: sentAtMs === undefined ? undefined : times.format(sentAtMs),
  };
}

/** Explains the pod's current status and what happens next. Pure. */
export function explainPod(facts: ExplainFacts): PodExplanation {
  const { podUID, pod, inspection, requestedDeletion, outage, nowMs } = facts;
  const cause = causeOf(facts);
  // The name and the versions of a pod that is gone; a dropped status does not tell what the pod is like now.
  const dropped = cause.kind === 'dropped' ? facts.dropped : undefined;
  const last = dropped?.versioned;
  const status =
    facts.status ?? last?.status ?? (facts.apiPod && canonicalPodStatus(facts.apiPod.status, { strict: false }));
  const waiting = inspection?.waitingFor;
  const explanation: Omit<PodExplanation, 'sentence' | 'toString'> = {
    podUID,
    podNamespace:
      inspection?.podNamespace ?? pod?.metadata?.namespace ?? requestedDeletion?.podNamespace ?? last?.podNamespace,
    podName: inspection?.podName ?? pod?.metadata?.name ?? requestedDeletion?.podName ?? last?.podName,
    phase: status?.phase,
    status: status && statusWordOf({ metadata: facts.apiPod?.metadata, spec: specOf(facts.apiPod, status), status }),
    ready: dropped === undefined && status !== undefined ? readyOf(status, pod) : undefined,
    version: (inspection ?? last)?.version,
    supersedes: inspection?.supersedes,
    sentVersion: (inspection ?? dropped)?.sentVersion,
    sentAs: (inspection ?? last)?.sentAs,
    sentAt: (inspection ?? dropped)?.sentAt,
    unsentSince: inspection?.unsentSince,
    recoveredAt: inspection?.recoveredAt,
    cause,
    lastError: inspection?.lastError,
    rejected: inspection?.rejected,
    nextTryAt: waiting !== undefined && 'nextTryAt' in waiting && facts.isSending ? waiting.nextTryAt : undefined,
    isShownByPodManager: pod !== undefined,
    outage: outage && { since: outage.since, message: outage.message },
  };
  return printable({ ...explanation, sentence: sentenceOf(explanation, nowMs) });
}

/** Without the spec, sidecars are not known. */
function specOf(apiPod: Pod | undefined, { containerStatuses = [] }: PodStatus): object {
  return apiPod?.spec ?? { containers: containerStatuses };
}

/** `toString` is not enumerable, so that JSON and `console.log` omit it. */
function printable(explanation: Omit<PodExplanation, 'toString'>): PodExplanation {
  return Object.defineProperty(explanation, 'toString', { value: () => explanation.sentence });
}

function readyOf(status: PodStatus, pod: Pod | undefined): ReadyExplanation | undefined {
  const condition = getPodCondition(status.conditions, 'Ready');
  if (condition === undefined) return undefined;
  return {
    // A terminal pod is never written as Ready (kubelet: mergePodStatus).
    status: isPodPhaseTerminal(status.phase) ? 'False' : condition.status,
    since: condition.lastTransitionTime ?? undefined,
    causes: unreadyCauses(status, pod),
  };
}

function causeOf(facts: ExplainFacts): PodCause {
  const { dropped, inspection, requestedDeletion, pod } = facts;
  if (inspection?.waitingFor !== undefined) return inspection.waitingFor;
  if (requestedDeletion !== undefined) {
    const { finalizers, since } = requestedDeletion;
    return { kind: 'finalizers', finalizers, since };
  }
  if (dropped !== undefined)
    return {
      kind: 'dropped',
      reason: dropped.reason,
      isSent: isSent(dropped),
      since: dropped.at,
    };
  if (inspection === undefined) return { kind: pod === undefined ? 'unknown-pod' : 'not-set' };
  return deletionCauseOf(facts, inspection) ?? { kind: 'up-to-date' };
}

/** The API server had this status, perhaps as an earlier version. */
function isSent({ sentVersion = 0, versioned }: Pick<DroppedStatus, 'sentVersion' | 'versioned'>): boolean {
  return versioned.unsentSinceMs === undefined || sentVersion >= versioned.sameSince;
}

/** The reason why a pod that is being deleted, with nothing unsent, still exists. */
function deletionCauseOf(
  { apiPod }: ExplainFacts,
  { podIsFinished, termination }: PodInspection,
): PodCause | undefined {
  if (!podIsFinished && termination !== undefined) {
    return { kind: 'containers', since: termination.since, termination };
  }
  if (apiPod === undefined || !isBeingDeleted(apiPod)) return undefined;
  const since = deletionRequestedAt(apiPod);
  return podIsFinished ? { kind: 'next-batch', since } : { kind: 'containers', since, termination };
}

/** deletionTimestamp is when the grace period ends. */
function deletionRequestedAt({ metadata }: Pod): string {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata!;
  const endsMs = epochMsOf(canonicalTime(deletionTimestamp) ?? '');
  return timeFromEpochMs(endsMs - deletionGracePeriodSeconds * 1_000);
}
