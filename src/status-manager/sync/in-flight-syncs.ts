import type { PodStatusCache } from '../cache/pod-status-cache.ts';
import type { AbortSignalLike } from '../../shared/abort.ts';
import { type Logger, thrownFields } from '../../shared/logger.ts';
import type { TracedSync, Tracing } from '../tracing.ts';
import type { Outcomes } from './outcomes.ts';
import type { Clock } from '../../shared/clock.ts';
import type { RequestVerb } from '../../kube/client/pod-client.ts';
import { type Admission, unlimited } from './client-limiter.ts';
import type { SyncPermits } from './pod-requests.ts';
import type { SyncResult } from './pod-syncer.ts';
import type { StatusSyncer } from './when-stale.ts';
import type { SyncResultHandler } from './sync-result-handler.ts';

export interface InFlightSyncsOptions {
  readonly cache: PodStatusCache;
  readonly syncer: StatusSyncer;
  readonly resultHandler: SyncResultHandler;
  readonly outcomes: Outcomes;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when no sync waits for a limit or a connection any more. */
  readonly onNoneWaiting: () => void;
  /** Called when the pod is no longer in flight. @param hasThrown the sync threw, so the pod has no back-off entry */
  readonly onEnded: (uid: string, hasThrown: boolean) => void;
}

/** What one batch did. */
export interface SyncBatchResult {
  /** Pods synced: the sum of the counts below, plus the pods whose status was dropped. */
  readonly tried: number;
  /** The API server took a PATCH. */
  readonly written: number;
  /** The API server already had the status. */
  readonly unchanged: number;
  /** A GET or PATCH failed; a later batch retries it. */
  readonly failed: number;
}

/** What a sync waits for: the limiter, a connection, or a response. */
export type SyncPhase = { readonly sinceMs: number } & (
  | { readonly kind: 'limiter' }
  | { readonly kind: 'connection' | 'response'; readonly verb: RequestVerb }
);

interface InFlightSync {
  readonly ended: Promise<SyncResult['kind']>;
  phase: SyncPhase;
}

/** The syncs in flight, at most one per pod: GET, PATCH and DELETE. */
export class InFlightSyncs {
  readonly #options: InFlightSyncsOptions;
  readonly #syncs = new Map<string, InFlightSync>();

  constructor(options: InFlightSyncsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#syncs.size;
  }

  has(uid: string): boolean {
    return this.#syncs.has(uid);
  }

  uids(): IterableIterator<string> {
    return this.#syncs.keys();
  }

  /** Undefined when the pod is not in flight. */
  phaseOf(uid: string): SyncPhase | undefined {
    return this.#syncs.get(uid)?.phase;
  }

  /** The phase of a sync that waits for the limiter or a connection, or was just started; undefined if none does. */
  get waiting(): SyncPhase | undefined {
    for (const { phase } of this.#syncs.values()) if (phase.kind !== 'response') return phase;
    return undefined;
  }

  /**
   * Syncs these pods, at most `concurrency` at a time and without the client's limits; a pod already in
   * flight is synced afterwards.
   */
  async syncAll(uids: readonly string[], concurrency: number, signal: AbortSignalLike): Promise<SyncBatchResult> {
    const kinds: SyncResult['kind'][] = [];
    const remaining = uids.values();
    const worker = async (): Promise<void> => {
      for (const uid of remaining) kinds.push(await this.#startInTurn(uid, signal));
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, uids.length) }, worker));
    const count = (kind: SyncResult['kind']): number => kinds.filter((each) => each === kind).length;
    return { tried: kinds.length, written: count('written'), unchanged: count('unchanged'), failed: count('failed') };
  }

  async #startInTurn(uid: string, signal: AbortSignalLike): Promise<SyncResult['kind']> {
    while (this.#syncs.has(uid)) await this.#syncs.get(uid)?.ended;
    return this.start(uid, signal, unlimited);
  }

  /** Resolves when all syncs in flight have ended. */
  async whenAllEnded(): Promise<void> {
    await Promise.all(Array.from(this.#syncs.values(), ({ ended }) => ended));
  }

  /**
   * Starts the sync of a pod that is not in flight. The pod is in flight immediately, before any other
   * code runs. Never rejects.
   */
  start(uid: string, signal: AbortSignalLike, admission: Admission): Promise<SyncResult['kind']> {
    const { clock } = this.#options;
    const permits: SyncPermits = {
      signal,
      acquire: (aborted) => {
        sync.phase = { kind: 'limiter', sinceMs: clock.monotonicMs() };
        return admission.acquire(aborted);
      },
      onWait: (verb, kind) => {
        sync.phase = { kind, verb, sinceMs: clock.monotonicMs() };
        if (this.waiting === undefined) this.#options.onNoneWaiting();
      },
    };
    const sync: InFlightSync = {
      ended: Promise.resolve().then(() => this.#sync(uid, permits, admission)),
      phase: { kind: 'limiter', sinceMs: clock.monotonicMs() },
    };
    this.#syncs.set(uid, sync);
    return sync.ended;
  }

  async #sync(uid: string, permits: SyncPermits, admission: Admission): Promise<SyncResult['kind']> {
    const { cache, logger, onEnded, outcomes } = this.#options;
    let kind: SyncResult['kind'] = 'failed';
    let hasThrown = false;
    try {
      kind = await this.#options.tracing.sync(uid, (end) => this.#syncAndDelete(uid, permits, end));
    } catch (error) {
      hasThrown = true;
      logger.error({ ...thrownFields(error), podUID: uid }, 'Unexpected error while syncing a pod');
    }
    outcomes.syncEnded(uid, cache.get(uid));
    this.#syncs.delete(uid);
    admission.release();
    onEnded(uid, hasThrown);
    return kind;
  }

  async #syncAndDelete(
    uid: string,
    permits: SyncPermits,
    end: (traced: TracedSync) => void,
  ): Promise<SyncResult['kind']> {
    const { cache, resultHandler, syncer } = this.#options;
    const result = await syncer.syncPod(uid, permits);
    const isSent = result.kind === 'written' || result.kind === 'unchanged';
    end({ outcome: result.kind, version: isSent ? result.versioned.version : undefined });
    if (result.kind === 'gone') return result.kind;
    const { versioned } = result;
    // The outcome of a status that was dropped in the meantime has already been reported.
    if (!cache.wasDropped(uid, versioned)) resultHandler.handleSync(uid, result);
    if (result.kind !== 'failed' && result.deletionDue !== undefined) {
      const deletion = await syncer.deletePod(uid, versioned, result.deletionDue, permits);
      if (deletion.kind !== 'failed' || !cache.wasDropped(uid, versioned)) {
        resultHandler.handleDeletion(uid, versioned, deletion);
      }
    }
    return result.kind;
  }
}
