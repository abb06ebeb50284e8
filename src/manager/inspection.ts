import type { PodStatusCache, VersionedPodStatus } from '../cache/pod-status-cache.ts';
import type { InformerState, PodManager } from '../pods/pod-manager.ts';
import type { OutageInspection } from '../sync/api-outage.ts';
import type { ManagerState, SyncLoop } from '../sync/sync-loop.ts';
import type { RequestedDeletion } from '../sync/terminating-pods.ts';
import type { WaitingFor } from '../sync/waiting-for.ts';

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
  /** Age of the oldest unsent change; undefined when all changes were sent. */
  readonly unsentForMs: number | undefined;
  readonly isInFlight: boolean;
  /** What the pod waits for and since when; undefined when nothing is to be done for it. */
  readonly waitingFor: WaitingFor | undefined;
  /** When a failed sync is retried; undefined when none is pending. */
  readonly nextTryInMs: number | undefined;
  /** Why the last sync failed; undefined when it succeeded. */
  readonly lastError: string | undefined;
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
  /** Since when no status can be written; undefined while the API server processes requests. */
  readonly outage: OutageInspection | undefined;
  /** Age of the last request that succeeded; undefined when none has. */
  readonly lastSuccessfulRequestAgeMs: number | undefined;
  /** Undefined when the pod manager is not an informer. */
  readonly informer: InformerState | undefined;
  /** UID of the API object (a mirror's for a static pod) → version last written. kubelet: `apiStatusVersions`. */
  readonly apiStatusVersions: ReadonlyMap<string, number>;
}

/** One entry for each cached status, in order of the pods' first status. */
export function inspectPods(
  cache: PodStatusCache,
  podManager: PodManager,
  loop: SyncLoop | undefined,
  nowMs: number,
): PodInspection[] {
  const translations = podManager.getUIDTranslations();
  return Array.from(cache.entries(), ([podUID, versioned]) => {
    const failed = loop?.backOffOf(podUID);
    const dueMs = failed && (versioned.version > failed.version ? failed.newVersionDueMs : failed.dueMs);
    return {
      podUID,
      podNamespace: versioned.podNamespace,
      podName: versioned.podName,
      version: versioned.version,
      sentVersion: cache.sentVersion(cache.apiUIDOf(podUID, translations)),
      podIsFinished: versioned.podIsFinished,
      unsentForMs: versioned.unsentSinceMs === undefined ? undefined : nowMs - versioned.unsentSinceMs,
      isInFlight: loop?.isInFlight(podUID) ?? false,
      waitingFor: waitingForOf(podUID, versioned, loop, nowMs),
      nextTryInMs: dueMs === undefined ? undefined : Math.max(0, dueMs - nowMs),
      lastError: failed?.message,
    };
  });
}

/** @param loop undefined without a client */
export function waitingForOf(
  podUID: string,
  { unsentSinceMs }: VersionedPodStatus,
  loop: SyncLoop | undefined,
  nowMs: number,
): WaitingFor | undefined {
  if (loop !== undefined) return loop.waitingFor(podUID, nowMs);
  return unsentSinceMs === undefined ? undefined : { kind: 'no-client', forMs: nowMs - unsentSinceMs };
}
