import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { ManagerState, SyncLoop } from '../sync/sync-loop.ts';

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
  readonly pods: readonly PodInspection[];
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
      nextTryInMs: dueMs === undefined ? undefined : Math.max(0, dueMs - nowMs),
      lastError: failed?.message,
    };
  });
}
