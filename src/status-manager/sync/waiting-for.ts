import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { BackOff, BackOffReason } from './back-off.ts';
import type { ClientLimiter } from './client-limiter.ts';
import type { InFlightSyncs } from './in-flight-syncs.ts';
import type { ManagerState } from './manager-state.ts';
import type { SyncQueue } from './sync-queue.ts';
import type { TerminatingPods } from './terminating-pods.ts';

/**
 * What a pod waits for before its status is written or its API object deleted, and since when. Of
 * several reasons the nearest one is shown: a pod in flight waits for the response, whatever was
 * before.
 */
export type WaitingFor = { readonly forMs: number } & (
  | { /** The manager has no client. */ readonly kind: 'no-client' }
  | { /** `start()` was not called, or `stop()` was. */ readonly kind: 'not-running' }
  | { /** A static pod: the pod manager does not show its mirror pod. */ readonly kind: 'mirror-pod' }
  | { /** A request is in flight. */ readonly kind: 'response'; readonly verb: RequestVerb }
  | { /** A request waits for a connection. */ readonly kind: 'connection'; readonly verb: RequestVerb }
  | { /** `qps` and `burst` are used up. */ readonly kind: 'limiter' }
  | {
      /** The API server has asked this client to pause: 429 or 503 to more than one pod. */
      readonly kind: 'retry-after';
      readonly nextTryInMs: number;
    }
  | { /** As many pods as allowed are in flight. */ readonly kind: 'turn' }
  | {
      /** The last sync failed, or was undone by somebody else (`hot-loop`). */
      readonly kind: 'back-off';
      readonly class: BackOffReason;
      /** The request that failed; undefined for a hot loop. */
      readonly verb: RequestVerb | undefined;
      /** Undefined without a response. */
      readonly statusCode: number | undefined;
      readonly message: string;
      /** Failures in a row. */
      readonly tries: number;
      readonly nextTryInMs: number;
    }
  | {
      /** `podCouldHaveRunningContainers` returns true, so the terminal phase is not written. */
      readonly kind: 'pod-deletion-safety';
    }
  | { /** The next wake-up or full batch. */ readonly kind: 'next-batch' }
);

/** Where the loop keeps what a pod may wait for. */
export interface WaitingForSources {
  readonly cache: PodStatusCache;
  readonly inFlight: InFlightSyncs;
  readonly queue: SyncQueue;
  readonly backOff: BackOff;
  readonly limiter: ClientLimiter;
  readonly terminatingPods: TerminatingPods;
  readonly loop: { readonly state: ManagerState; readonly isSending: boolean };
}

/** All pods that may wait for something, without looking at those that do not. */
export function uidsThatMayWait({ cache, inFlight, queue, backOff, terminatingPods }: WaitingForSources): Set<string> {
  return new Set([
    ...cache.unsentCandidates(),
    ...inFlight.uids(),
    ...queue.uids(),
    ...backOff.uids(),
    ...terminatingPods.heldBackUIDs(),
  ]);
}

/** Undefined when the pod waits for nothing. Makes no request and changes nothing. */
export function waitingFor(uid: string, sources: WaitingForSources, nowMs: number): WaitingFor | undefined {
  const { cache, inFlight, queue, backOff, limiter, terminatingPods, loop } = sources;
  const phase = inFlight.phaseOf(uid);
  if (phase !== undefined) {
    const forMs = nowMs - phase.sinceMs;
    if (phase.kind !== 'limiter') return { kind: phase.kind, verb: phase.verb, forMs };
    return limiter.isPaused ? { kind: 'retry-after', nextTryInMs: limiter.pauseMs, forMs } : { kind: 'limiter', forMs };
  }
  const queuedSinceMs = queue.sinceMs(uid);
  if (queuedSinceMs !== undefined) {
    const forMs = nowMs - queuedSinceMs;
    return limiter.isPaused ? { kind: 'retry-after', nextTryInMs: limiter.pauseMs, forMs } : { kind: 'turn', forMs };
  }
  const versioned = cache.get(uid);
  const failed = loop.state === 'stopped' ? undefined : backOff.get(uid);
  if (failed !== undefined && versioned !== undefined) {
    return {
      kind: 'back-off',
      class: failed.reason,
      verb: failed.verb,
      statusCode: failed.statusCode,
      message: failed.message,
      tries: failed.tries,
      nextTryInMs: backOff.waitMs(uid, versioned.version, nowMs),
      forMs: nowMs - failed.sinceMs,
    };
  }
  if (versioned?.unsentSinceMs !== undefined) {
    const forMs = nowMs - versioned.unsentSinceMs;
    if (cache.apiUIDOf(uid) === '') return { kind: 'mirror-pod', forMs };
    return { kind: loop.isSending ? 'next-batch' : 'not-running', forMs };
  }
  const heldBackSinceMs = terminatingPods.heldBackSinceMs(uid);
  return heldBackSinceMs === undefined ? undefined : { kind: 'pod-deletion-safety', forMs: nowMs - heldBackSinceMs };
}
