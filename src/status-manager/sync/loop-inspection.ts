import type { RequestVerb } from '../../kube/client/pod-client.ts';
import type { MonotonicTimes } from '../../shared/time.ts';
import type { APIOutage, OutageInspection } from './api-outage.ts';
import { type BackOffReason, dueMsOf } from './back-off.ts';
import type { ClientLimiter } from './client-limiter.ts';
import type { InFlightSyncs } from './in-flight-syncs.ts';
import type { WakeUp } from './loop-signals.ts';
import type { PodRecord, SyncPhase } from './pod-records.ts';
import type { PodRequests } from './pod-requests.ts';
import type { SyncPorts } from './sync-ports.ts';
import type { RequestedDeletion, TerminatingPods } from './terminating-pods.ts';

/** The states of a manager; `SyncLoop` says what happens in each. */
export type ManagerState = 'created' | 'running' | 'stopping' | 'stopped';

/**
 * What a pod waits for before its status is written or its API object deleted, and since when. If
 * there are several reasons, the most immediate one: a pod in flight waits for the response. Times are
 * RFC 3339.
 */
export type WaitingFor = { readonly since: string } & (
  | { /** The manager has no client. */ readonly kind: 'no-client' }
  | { /** `start()` was not called, or `stop()` was. */ readonly kind: 'not-running' }
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
      /** The last sync failed, or another writer undid it (`hot-loop`). */
      readonly kind: 'back-off';
      readonly class: BackOffReason;
      /** The request that failed; undefined for a hot loop. */
      readonly verb: RequestVerb | undefined;
      /** Undefined without a response. */
      readonly statusCode: number | undefined;
      readonly message: string;
      /** Failures in a row. */
      readonly tries: number;
      readonly nextTryAt: string;
    }
  | {
      /** `podCouldHaveRunningContainers` returns true, so the terminal phase is not written. */
      readonly kind: 'pod-deletion-safety';
    }
  | { /** The next wake-up or full batch. */ readonly kind: 'next-batch' }
);

/** Sources of `LoopInspection`. */
export interface LoopInspectionSources extends Pick<SyncPorts, 'cache' | 'limiter' | 'records'> {
  readonly inFlight: InFlightSyncs;
  readonly terminatingPods: TerminatingPods;
  readonly apiOutage: APIOutage;
  readonly wakeUp: WakeUp;
  readonly requests: PodRequests;
  readonly loop: { readonly state: ManagerState; readonly isSending: boolean };
}

/** Read-only view of a loop for `inspect()` and the metrics. Makes no request. */
export class LoopInspection {
  readonly #sources: LoopInspectionSources;

  constructor(sources: LoopInspectionSources) {
    this.#sources = sources;
  }

  get isWakeUpWaiting(): boolean {
    return this.#sources.wakeUp.isWaiting;
  }

  /** Failed pods are retried on their own. */
  get isSending(): boolean {
    return this.#sources.loop.isSending;
  }

  /** Undefined while the API server processes requests. */
  outage(times: MonotonicTimes): OutageInspection | undefined {
    return this.#sources.apiOutage.inspect(times);
  }

  /** As `outage`, from the first failed request on. */
  requestFailure(times: MonotonicTimes): OutageInspection | undefined {
    return this.#sources.apiOutage.requestFailure(times);
  }

  /** Milliseconds since a request of the client last succeeded; undefined when none has. */
  get lastSuccessAgeMs(): number | undefined {
    return this.#sources.requests.lastSuccessAgeMs;
  }

  /** Number of pods in a hot loop. */
  get hotLoopPods(): number {
    let count = 0;
    for (const { lastPatch } of this.#sources.records.values()) if (lastPatch?.hotLoop !== undefined) count++;
    return count;
  }

  /** What the pod waits for; undefined if it waits for nothing. */
  waitingFor(uid: string, times: MonotonicTimes): WaitingFor | undefined {
    return waitingFor(uid, this.#sources, times);
  }

  /** A superset of the pods for which `waitingFor` is defined. */
  uidsThatMayWait(): Set<string> {
    const { cache, records } = this.#sources;
    const uids = new Set(cache.unsentCandidates());
    for (const { uid, inFlight, queuedSinceMs, backOff, heldBack } of records.values())
      if ((inFlight ?? queuedSinceMs ?? backOff ?? heldBack) !== undefined) uids.add(uid);
    return uids;
  }

  /** Pods whose objects finalizers keep; they no longer have a cached status. */
  requestedDeletions(times: MonotonicTimes): RequestedDeletion[] {
    return this.#sources.terminatingPods.requestedDeletions(times);
  }

  requestedDeletionOf(uid: string, times: MonotonicTimes): RequestedDeletion | undefined {
    const record = this.#sources.records.get(uid);
    return record && this.#sources.terminatingPods.requestedDeletionOf(record, times);
  }
}

/** Undefined when the pod waits for nothing. Read-only. */
function waitingFor(uid: string, sources: LoopInspectionSources, times: MonotonicTimes): WaitingFor | undefined {
  const { cache, inFlight, limiter, loop, records } = sources;
  const { inFlight: sync, queuedSinceMs, backOff, heldBack } = records.get(uid) ?? atRest;
  if (sync !== undefined && sync.phase.kind !== 'ended') {
    const since = times.format(sync.phase.sinceMs);
    return atGate(sync.phase, since, limiter, times) ?? { kind: 'syncing', since };
  }
  if (queuedSinceMs !== undefined) {
    const since = times.format(queuedSinceMs);
    const ahead = inFlight.waiting;
    return (ahead && atGate(ahead, since, limiter, times)) ?? { kind: 'turn', since };
  }
  const versioned = cache.get(uid);
  const failed = loop.state === 'stopped' ? undefined : backOff;
  if (failed !== undefined && versioned !== undefined) {
    return {
      kind: 'back-off',
      class: failed.reason,
      verb: failed.verb,
      statusCode: failed.statusCode,
      message: failed.message,
      tries: failed.tries,
      nextTryAt: times.formatDue(Math.max(times.nowMs, dueMsOf(failed, versioned.version))),
      since: times.format(failed.sinceMs),
    };
  }
  if (versioned?.unsentSinceMs !== undefined) {
    const since = times.format(versioned.unsentSinceMs);
    if (cache.apiUIDOf(uid) === '') return { kind: 'mirror-pod', since };
    return { kind: loop.isSending ? 'next-batch' : 'not-running', since };
  }
  return heldBack && { kind: 'pod-deletion-safety', since: times.format(heldBack.sinceMs) };
}

const atRest: Partial<PodRecord> = {};

/** What a sync waits for; undefined if for nothing. A queued pod waits at the gate at which a pod ahead of it waits. */
function atGate(
  phase: SyncPhase,
  since: string,
  { isPaused, pauseMs }: ClientLimiter,
  times: MonotonicTimes,
): WaitingFor | undefined {
  if ('verb' in phase) return { kind: phase.kind, verb: phase.verb, since };
  if (phase.kind !== 'limiter') return undefined;
  if (isPaused) return { kind: 'retry-after', nextTryAt: times.formatDue(times.nowMs + pauseMs), since };
  return phase.limit === 'pause' ? undefined : { kind: 'limiter', limit: phase.limit, since };
}
