import type { AbortSignalLike } from '../../shared/abort.ts';
import { thrownFields } from '../../shared/logger.ts';
import type { TracedSync } from '../tracing.ts';
import { type RequestPermit, unlimited } from './client-limiter.ts';
import type { SyncPermits } from './pod-requests.ts';
import type { PodSyncer } from './pod-syncer.ts';
import type { InFlightSync, SyncedAs, SyncPhase } from './pod-records.ts';
import type { SyncPorts } from './sync-ports.ts';

export interface InFlightSyncsOptions extends SyncPorts {
  readonly syncer: PodSyncer;
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

/** The syncs in flight, at most one per pod: GET, PATCH and DELETE. */
export class InFlightSyncs {
  readonly #options: InFlightSyncsOptions;
  /** At most `concurrency`; looked through whenever a sync is to be started. */
  readonly #syncs = new Set<InFlightSync>();

  constructor(options: InFlightSyncsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#syncs.size;
  }

  /** The phase of a sync that waits for the limiter or a connection, or was just started; undefined if none does. */
  get waiting(): SyncPhase | undefined {
    for (const { phase } of this.#syncs) if (isAtGate(phase)) return phase;
    return undefined;
  }

  /**
   * Syncs these pods, at most `concurrency` at a time and without the client's limits; a pod already in
   * flight is synced afterwards.
   */
  async syncAll(uids: readonly string[], concurrency: number, signal: AbortSignalLike): Promise<SyncBatchResult> {
    const kinds: SyncedAs[] = [];
    const remaining = uids.values();
    const worker = async (): Promise<void> => {
      for (const uid of remaining) kinds.push(await this.#startInTurn(uid, signal));
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, uids.length) }, worker));
    const count = (kind: SyncedAs): number => kinds.filter((each) => each === kind).length;
    return { tried: kinds.length, written: count('written'), unchanged: count('unchanged'), failed: count('failed') };
  }

  async #startInTurn(uid: string, signal: AbortSignalLike): Promise<SyncedAs> {
    const { records } = this.#options;
    for (let sync = records.get(uid)?.inFlight; sync !== undefined; sync = records.get(uid)?.inFlight) await sync.ended;
    return this.start(uid, signal, unlimited);
  }

  /** Resolves when all syncs in flight have ended. */
  async whenAllEnded(): Promise<void> {
    await Promise.all(Array.from(this.#syncs, ({ ended }) => ended));
  }

  /**
   * Starts the sync of a pod that is not in flight. The pod is in flight immediately, before any other
   * code runs. Never rejects.
   */
  start(uid: string, signal: AbortSignalLike, admission: RequestPermit): Promise<SyncedAs> {
    const { clock, records } = this.#options;
    const permits: SyncPermits = {
      signal,
      acquire: (aborted) => {
        sync.phase = { kind: 'starting', sinceMs: clock.monotonicMs() };
        return admission.acquire(aborted, (limit) => {
          sync.phase = { kind: 'limiter', limit, sinceMs: clock.monotonicMs() };
        });
      },
      onWait: (verb, kind) => {
        const sinceMs = clock.monotonicMs();
        sync.phase = kind === undefined ? { kind: 'working', sinceMs } : { kind, verb, sinceMs };
        if (this.waiting === undefined) this.#options.onNoneWaiting();
      },
    };
    const sync: InFlightSync = {
      ended: Promise.resolve().then(() => this.#sync(uid, permits, admission)),
      phase: { kind: 'starting', sinceMs: clock.monotonicMs() },
    };
    this.#syncs.add(sync);
    records.of(uid).inFlight = sync;
    return sync.ended;
  }

  async #sync(uid: string, permits: SyncPermits, admission: RequestPermit): Promise<SyncedAs> {
    const { cache, logger, onEnded, outcomes, records, section } = this.#options;
    let kind: SyncedAs = 'failed';
    let hasThrown = false;
    try {
      kind = await this.#options.tracing.sync(uid, (end) => this.#syncAndDelete(uid, permits, end));
    } catch (error) {
      hasThrown = true;
      logger.error({ ...thrownFields(error), podUID: uid }, 'Unexpected error while syncing a pod');
    }
    section.run(() => {
      outcomes.syncEnded(uid, cache.get(uid));
      const record = records.of(uid);
      this.#syncs.delete(record.inFlight!);
      record.inFlight = undefined;
      records.release(uid);
      admission.release();
      onEnded(uid, hasThrown);
    });
    return kind;
  }

  async #syncAndDelete(uid: string, permits: SyncPermits, end: (traced: TracedSync) => void): Promise<SyncedAs> {
    const { syncer } = this.#options;
    const result = await syncer.syncPod(uid, permits);
    const isSent = result.kind === 'written' || result.kind === 'unchanged';
    const syncedAs = result.kind === 'aborted' ? 'failed' : result.kind;
    end({ outcome: syncedAs, version: isSent ? result.versioned.version : undefined });
    if (result.kind === 'gone' || result.kind === 'aborted') return syncedAs;
    const { versioned } = result;
    if (result.kind !== 'failed' && result.deletionDue !== undefined)
      await syncer.deletePod(uid, versioned, result.deletionDue, permits);
    return syncedAs;
  }
}

/** It waits for a limit or a connection, or may have to as soon as it makes its request. */
function isAtGate({ kind }: SyncPhase): boolean {
  return kind === 'starting' || kind === 'limiter' || kind === 'connection';
}
