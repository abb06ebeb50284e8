import type { PodStatusCache, SentAs, VersionedPodStatus } from './cache/pod-status-cache.ts';
import type { Clock } from '../shared/clock.ts';
import type { StatusJournal } from './journal/status-journal.ts';
import type { InformerState, PodManager, UIDTranslations } from '../kube/pod-manager.ts';
import type { OutageInspection } from './sync/api-outage.ts';
import type { LoopInspection, ManagerState, WaitingFor } from './sync/loop-inspection.ts';
import type { HotLoop } from './sync/resend-detector.ts';
import type { RequestedDeletion } from './sync/terminating-pods.ts';

/** What the manager knows of one pod. */
export interface PodInspection {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  /** The cached version. */
  readonly version: number;
  /** The version that was last written to the API object; undefined when none was, or when the object has changed since. */
  readonly sentVersion: number | undefined;
  readonly podIsFinished: boolean;
  /**
   * Age of the oldest unsent change; undefined when the API server shows all changes. In a hot loop,
   * the time since it was noticed that the API server does not keep what is written.
   */
  readonly unsentForMs: number | undefined;
  readonly isInFlight: boolean;
  /** What the pod waits for and since when; undefined when nothing is to be done for it. */
  readonly waitingFor: WaitingFor | undefined;
  /** When a failed sync is retried; undefined when none is pending. */
  readonly nextTryInMs: number | undefined;
  /** Why the last sync failed; undefined when it succeeded. */
  readonly lastError: string | undefined;
  /** How the newest sent version was confirmed: by a PATCH (`written`), by a read (`unchanged`), or at start (`adopted`). */
  readonly lastSentAs: SentAs | undefined;
  /** Time since then, or since that version was last written again; undefined when none was sent. */
  readonly lastSentAgeMs: number | undefined;
  /** The API server does not keep what is written: which members, and whose field managers own them. */
  readonly hotLoop: HotLoop | undefined;
  /** When an earlier run accepted this status (RFC 3339); undefined once it was set again or sent in this run. */
  readonly recoveredAt: string | undefined;
}

/** A snapshot of a manager; it does not change afterwards. */
export interface ManagerInspection {
  readonly state: ManagerState;
  /** A change was accepted and no batch has run since. */
  readonly isWakeUpWaiting: boolean;
  /** One entry for each cached status. */
  readonly pods: readonly PodInspection[];
  /** Pods whose deletion the API server has accepted and that finalizers keep; they have no cached status. */
  readonly requestedDeletions: readonly RequestedDeletion[];
  /** Since when no status can be written; undefined unless requests of several pods, or all requests, have failed for 30 s. */
  readonly outage: OutageInspection | undefined;
  /** Age of the last request that succeeded; undefined when none has. */
  readonly lastSuccessfulRequestAgeMs: number | undefined;
  /** Undefined when the pod manager is not an informer. */
  readonly informer: InformerState | undefined;
  /** UID of the API object (a mirror's for a static pod) → version last written. kubelet: `apiStatusVersions`. */
  readonly apiStatusVersions: ReadonlyMap<string, number>;
}

/** Where the manager keeps what `inspect()` and the gauges show. */
export interface InspectionSources {
  readonly cache: PodStatusCache;
  readonly podManager: PodManager;
  readonly clock: Clock;
  /** Undefined without a client. */
  readonly loop: LoopInspection | undefined;
  readonly journal: StatusJournal;
}

export function inspectManager(state: ManagerState, sources: InspectionSources): ManagerInspection {
  const { cache, podManager, clock, loop } = sources;
  const translations = podManager.getUIDTranslations();
  const nowMs = clock.monotonicMs();
  const lastSuccess = loop?.lastSuccess;
  return {
    state,
    isWakeUpWaiting: loop?.isWakeUpWaiting ?? false,
    pods: Array.from(cache.entries(), ([podUID, versioned]) =>
      inspectPod(podUID, versioned, sources, nowMs, translations),
    ),
    requestedDeletions: loop?.requestedDeletions() ?? [],
    outage: loop?.outage,
    lastSuccessfulRequestAgeMs: lastSuccess === undefined ? undefined : clock.now() - lastSuccess,
    informer: podManager.informerState?.(),
    apiStatusVersions: cache.sentVersions(),
  };
}

export function inspectPod(
  podUID: string,
  versioned: VersionedPodStatus,
  { cache, journal, loop }: InspectionSources,
  nowMs: number,
  translations?: UIDTranslations,
): PodInspection {
  const failed = loop?.backOffOf(podUID);
  const dueMs = failed && (versioned.version > failed.version ? failed.newVersionDueMs : failed.dueMs);
  const { sentAs, sentAtMs } = versioned;
  const unsentSinceMs = versioned.unsentSinceMs ?? (failed?.reason === 'hot-loop' ? failed.sinceMs : undefined);
  return {
    podUID,
    podNamespace: versioned.podNamespace,
    podName: versioned.podName,
    version: versioned.version,
    sentVersion: cache.sentVersion(cache.apiUIDOf(podUID, translations)),
    podIsFinished: versioned.podIsFinished,
    unsentForMs: unsentSinceMs === undefined ? undefined : nowMs - unsentSinceMs,
    isInFlight: loop?.isInFlight(podUID) ?? false,
    waitingFor: waitingForOf(podUID, versioned, loop, nowMs),
    nextTryInMs: dueMs === undefined ? undefined : Math.max(0, dueMs - nowMs),
    lastError: failed?.message,
    lastSentAs: sentAs,
    lastSentAgeMs: sentAtMs === undefined ? undefined : nowMs - sentAtMs,
    hotLoop: loop?.hotLoopOf(podUID),
    recoveredAt: journal.recovered.get(podUID),
  };
}

/** @param loop undefined without a client */
export function waitingForOf(
  podUID: string,
  { unsentSinceMs }: VersionedPodStatus,
  loop: LoopInspection | undefined,
  nowMs: number,
): WaitingFor | undefined {
  if (loop !== undefined) return loop.waitingFor(podUID, nowMs);
  return unsentSinceMs === undefined ? undefined : { kind: 'no-client', forMs: nowMs - unsentSinceMs };
}
