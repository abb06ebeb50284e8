import min from 'lodash/min.js';
import type { PodStatusCache, VersionedPodStatus } from './cache/pod-status-cache.ts';
import type { Clock } from '../shared/clock.ts';
import { epochMsOf, MonotonicTimes, timeFromEpochMs } from '../shared/time.ts';
import type { JournalFailure } from './journal/journal.ts';
import type { StatusJournal } from './journal/status-journal.ts';
import type { InformerState, PodManager, UIDTranslations } from '../kube/pod-manager/pod-manager.ts';
import type { PodTermination } from './pod-deletion-safety.ts';
import type { OutageInspection } from './sync/api-outage.ts';
import type { DroppedStatuses } from './explain/dropped-statuses.ts';
import type { ManagerState, SyncLoop } from './sync/sync-loop.ts';
import { waitingFor, type WaitingFor } from './sync/waiting-for.ts';
import { dueMsOf } from './sync/back-off.ts';
import type { HotLoop, PodRecords } from './sync/pod-records.ts';
import { type RejectionInspection, rejectionOf } from './sync/rejected-updates.ts';
import type { RequestedDeletion } from './sync/terminating-pods.ts';

/** State of one pod. All times are RFC 3339 in UTC, in whole seconds. */
export interface PodInspection {
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  /** The cached version. */
  readonly version: number;
  /** Version last written to the API object; undefined if none was, or if the object has changed since. */
  readonly sentVersion: number | undefined;
  readonly podIsFinished: boolean;
  /**
   * When the oldest unsent change was accepted; undefined when the API server shows all changes. In a
   * hot loop, when the hot loop was detected.
   */
  readonly unsentSince: string | undefined;
  /** A sync of the pod is in progress: its result is not known yet, or its DELETE follows. */
  readonly isInFlight: boolean;
  /** What the pod waits for and since when; undefined when it waits for nothing. */
  readonly waitingFor: WaitingFor | undefined;
  /** When a failed sync is retried; undefined when none is pending. */
  readonly nextTryAt: string | undefined;
  /** Why the last sync failed; undefined when it succeeded. */
  readonly lastError: string | undefined;
  /** How the newest sent version was confirmed: by a PATCH (`written`), by a read (`unchanged`), or at start (`adopted`). */
  readonly sentAs: 'written' | 'unchanged' | 'adopted' | undefined;
  /** Time of that confirmation, or of the latest rewrite of that version; undefined if none was sent. */
  readonly sentAt: string | undefined;
  /** Set while writes to this pod are undone: the fields affected, and the field managers that own them. */
  readonly hotLoop: HotLoop | undefined;
  /** Why the status that `setPodStatus` was last called with, or a container of it, was rejected; undefined if it was not. */
  readonly rejected: RejectionInspection | undefined;
  /** The containers are being stopped, as `podDeletionSafety` says; undefined if they are not, or if it does not say. */
  readonly termination: PodTermination | undefined;
  /** The previous version, if it was never sent because the cached one replaced it. */
  readonly supersedes: number | undefined;
  /** When an earlier run accepted this status; undefined once this run has set or sent it. */
  readonly recoveredAt: string | undefined;
}

/** An immutable snapshot of a manager. All times are RFC 3339 in UTC, in whole seconds. */
export interface ManagerInspection {
  readonly state: ManagerState;
  /** A change was accepted and no batch has run since. */
  readonly isWakeUpWaiting: boolean;
  /** One entry for each cached status. */
  readonly pods: readonly PodInspection[];
  /** Pods whose DELETE was accepted and whose objects finalizers keep; they have no cached status. */
  readonly requestedDeletions: readonly RequestedDeletion[];
  /** Since when no status can be written; undefined unless requests of several pods, or all requests, have failed for 30 s. */
  readonly outage: OutageInspection | undefined;
  /** As `outage`, but from the first failed request on. */
  readonly requestFailure: OutageInspection | undefined;
  /**
   * When a request last succeeded, or the informer received an event; undefined when neither has happened. Counts all
   * requests of the `client`, those of an informer or an agent that share it as well.
   */
  readonly lastSuccessfulRequestAt: string | undefined;
  /** Undefined when the pod manager is not an informer. */
  readonly informer: InformerState | undefined;
  /** Why the journal cannot record statuses, and since when; undefined while it can, and without a journal. */
  readonly journalFailure: JournalFailure | undefined;
  /** UID of the API object (a mirror's for a static pod) → version last written. kubelet: `apiStatusVersions`. */
  readonly apiStatusVersions: ReadonlyMap<string, number>;
}

/** Sources of `inspect()` and of the gauges. */
export interface InspectionSources {
  readonly cache: PodStatusCache;
  readonly podManager: PodManager;
  readonly clock: Clock;
  readonly records: PodRecords;
  /** Undefined without a client. */
  readonly loop: SyncLoop | undefined;
  readonly journal: StatusJournal;
  readonly dropped: DroppedStatuses;
  /** By pod UID. */
  readonly terminations: ReadonlyMap<string, PodTermination>;
}

export function inspectManager(state: ManagerState, sources: InspectionSources): ManagerInspection {
  const { cache, podManager, clock, loop } = sources;
  const translations = podManager.getUIDTranslations();
  const times = new MonotonicTimes(clock);
  const informer = podManager.informerState?.();
  const successAgeMs = lastSuccessAgeMs(loop, informer, clock);
  return {
    state,
    isWakeUpWaiting: loop?.isWakeUpWaiting ?? false,
    pods: Array.from(cache.entries(), ([podUID, versioned]) =>
      inspectPod(podUID, versioned, sources, times, translations),
    ),
    requestedDeletions: loop?.terminatingPods.requestedDeletions(times) ?? [],
    outage: loop?.apiOutage.inspect(times),
    requestFailure: loop?.apiOutage.requestFailure(times),
    lastSuccessfulRequestAt: successAgeMs === undefined ? undefined : timeFromEpochMs(clock.now() - successAgeMs),
    informer,
    journalFailure: sources.journal.failure,
    apiStatusVersions: cache.sentVersions(),
  };
}

/** Since a request last succeeded, or the informer received an event; undefined when neither has happened. */
export function lastSuccessAgeMs(
  loop: SyncLoop | undefined,
  informer: InformerState | undefined,
  clock: Pick<Clock, 'now'>,
): number | undefined {
  const { lastEventAt } = informer ?? {};
  const eventAgeMs = lastEventAt === undefined ? undefined : clock.now() - epochMsOf(lastEventAt);
  return min([loop?.requests.lastSuccessAgeMs, eventAgeMs]);
}

export function inspectPod(
  podUID: string,
  versioned: VersionedPodStatus,
  sources: InspectionSources,
  times: MonotonicTimes,
  translations?: UIDTranslations,
): PodInspection {
  const { cache, loop, records, terminations } = sources;
  const record = records.get(podUID);
  const failed = record?.backOff;
  const apiUID = cache.apiUIDOf(podUID, translations);
  const isTried = loop?.isSending === true && apiUID !== '';
  const dueMs = failed && isTried ? dueMsOf(failed, versioned.version) : undefined;
  const { adopted, sentAs, sentAtMs } = versioned;
  const unsentSinceMs = versioned.unsentSinceMs ?? (failed?.reason === 'hot-loop' ? failed.sinceMs : undefined);
  return {
    podUID,
    podNamespace: versioned.podNamespace,
    podName: versioned.podName,
    version: versioned.version,
    sentVersion: cache.sentVersion(apiUID),
    podIsFinished: versioned.podIsFinished,
    unsentSince: unsentSinceMs === undefined ? undefined : times.format(unsentSinceMs),
    isInFlight: record?.inFlight !== undefined && record.inFlight.phase.kind !== 'ended',
    waitingFor: waitingForOf(podUID, versioned, sources, times),
    nextTryAt: dueMs === undefined ? undefined : times.formatDue(Math.max(times.nowMs, dueMs)),
    lastError: failed?.message,
    sentAs,
    sentAt: sentAtMs === undefined ? undefined : times.format(sentAtMs),
    hotLoop: record?.lastPatch?.hotLoop,
    rejected: rejectionOf(record),
    termination: terminations.get(podUID),
    supersedes: record?.superseded,
    recoveredAt: adopted?.from === 'journal' && unsentSinceMs !== undefined ? adopted.acceptedAt : undefined,
  };
}

/** What the pod waits for; undefined if it waits for nothing. */
export function waitingForOf(
  podUID: string,
  { unsentSinceMs }: VersionedPodStatus,
  sources: InspectionSources,
  times: MonotonicTimes,
): WaitingFor | undefined {
  if (sources.loop !== undefined) return waitingFor(podUID, sources.loop, sources, times);
  return unsentSinceMs === undefined ? undefined : { kind: 'no-client', since: times.format(unsentSinceMs) };
}
