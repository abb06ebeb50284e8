import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { MonotonicTimes } from '../../shared/time.ts';
import { dueMsOf } from './back-off.ts';
import type { ClientLimiter } from './client-limiter.ts';
import type { RetriedFailureClass } from './failure-classes.ts';
import type { HotLoop, PodRecord } from './pod-records.ts';
import type { PodSync } from './pod-sync.ts';
import type { ManagerState, SyncLoop } from './sync-loop.ts';
import type { SyncPorts } from './sync-ports.ts';

/**
 * What a pod waits for before its status is written or its API object deleted, and since when. If
 * there are several reasons, the most immediate one: a pod in flight waits for the response. Times are
 * RFC 3339.
 */
export type WaitingFor = { readonly since: string } & (
  | { /** The manager has no client. */ readonly kind: 'no-client' }
  | { /** `start()` was not called, or `stop()` was. */ readonly kind: 'not-running'; readonly state: ManagerState }
  | { /** A static pod: the pod manager does not show its mirror pod. */ readonly kind: 'mirror-pod' }
  | { /** A request is in flight. */ readonly kind: 'response'; readonly verb: RequestVerb }
  | {
      /** A request waits for a connection, or the pod is queued behind such a request. */ readonly kind: 'connection';
      readonly verb: RequestVerb;
    }
  | {
      /** A limit of the `RequestLimiter` is used up, or the pod is queued behind such a request. */
      readonly kind: 'limiter';
      readonly limit: 'qps' | 'max-in-flight';
    }
  | {
      /** The API server has asked this client to pause: 429 or 503 to more than one pod. */
      readonly kind: 'retry-after';
      readonly nextTryAt: string;
    }
  | { /** The pod is queued behind pods in flight: usually `concurrency` of them. */ readonly kind: 'turn' }
  | { /** Its sync is between two requests, as only a callback of this library sees it. */ readonly kind: 'syncing' }
  | {
      /** The last sync failed. */
      readonly kind: 'back-off';
      readonly class: RetriedFailureClass;
      /** The request that failed. */
      readonly verb: RequestVerb;
      /** Undefined without a response. */
      readonly statusCode: number | undefined;
      readonly message: string;
      /** Failures in a row. */
      readonly tries: number;
      readonly nextTryAt: string;
    }
  | ({
      /** The API server accepts the patch but later shows the old status. */
      readonly kind: 'hot-loop';
      readonly nextTryAt: string;
    } & HotLoop)
  | {
      /** `podCouldHaveRunningContainers` returns true, so the terminal phase is not written. */
      readonly kind: 'pod-deletion-safety';
    }
  | { /** The next wake-up or full batch. */ readonly kind: 'next-batch' }
);

/** What the pod waits for; undefined if it waits for nothing. Read-only. */
export function waitingFor(
  uid: string,
  { isSending, limiter, queue, state }: Pick<SyncLoop, 'isSending' | 'limiter' | 'queue' | 'state'>,
  { cache, records }: Pick<SyncPorts, 'cache' | 'records'>,
  times: MonotonicTimes,
): WaitingFor | undefined {
  const { inFlight: sync, readySinceMs, backOff, heldBack, lastPatch } = records.get(uid) ?? atRest;
  if (sync !== undefined && sync.phase.kind !== 'ended') {
    const since = times.format(sync.phaseSinceMs);
    return atGate(sync, since, limiter, times) ?? { kind: 'syncing', since };
  }
  if (readySinceMs !== undefined) {
    const since = times.format(readySinceMs);
    const ahead = queue.heldUp;
    return (ahead && atGate(ahead, since, limiter, times)) ?? { kind: 'turn', since };
  }
  const versioned = cache.get(uid);
  // Even if an earlier try has failed: there is no next one without a mirror pod.
  if (versioned?.unsentSinceMs !== undefined && cache.apiUIDOf(uid) === '')
    return { kind: 'mirror-pod', since: times.format(versioned.unsentSinceMs) };
  const failed = state === 'stopped' ? undefined : backOff;
  if (failed !== undefined && versioned !== undefined) {
    const { reason, verb, statusCode, message, tries, sinceMs } = failed;
    const nextTryAt = times.formatDue(Math.max(times.nowMs, dueMsOf(failed, versioned.version)));
    const since = times.format(sinceMs);
    if (reason !== 'hot-loop' && verb !== undefined)
      return { kind: 'back-off', class: reason, verb, statusCode, message, tries, nextTryAt, since };
    const hotLoop = lastPatch?.hotLoop ?? { fields: [], managers: [], timesSent: tries };
    return { kind: 'hot-loop', ...hotLoop, nextTryAt, since };
  }
  if (versioned?.unsentSinceMs !== undefined) {
    const since = times.format(versioned.unsentSinceMs);
    return isSending ? { kind: 'next-batch', since } : { kind: 'not-running', state, since };
  }
  return heldBack && { kind: 'pod-deletion-safety', since: times.format(heldBack.sinceMs) };
}

const atRest: Partial<PodRecord> = {};

/** What a sync waits for; undefined if for nothing. A ready pod waits for what a pod ahead of it waits for. */
function atGate(
  { phase }: PodSync,
  since: string,
  { isPaused, pauseMs }: ClientLimiter,
  times: MonotonicTimes,
): WaitingFor | undefined {
  if (phase.kind === 'response' || phase.kind === 'connection') return { ...phase, since };
  if (phase.kind !== 'retry-after' && phase.kind !== 'limiter') return undefined;
  if (isPaused) return { kind: 'retry-after', nextTryAt: times.formatDue(times.nowMs + pauseMs), since };
  return phase.kind === 'limiter' ? { ...phase, since } : undefined;
}

/** A superset of the pods for which `waitingFor` is defined. */
export function uidsThatMayWait({ cache, records }: Pick<SyncPorts, 'cache' | 'records'>): Set<string> {
  const uids = new Set(cache.unsentCandidates());
  for (const { uid, inFlight, readySinceMs, backOff, heldBack } of records.values())
    if ((inFlight ?? readySinceMs ?? backOff ?? heldBack) !== undefined) uids.add(uid);
  return uids;
}
