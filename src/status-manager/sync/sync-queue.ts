import type { AbortSignalLike } from '../../shared/abort.ts';
import { Alarm } from '../../shared/alarm.ts';
import type { APIOutage } from './api-outage.ts';
import { remainingWaitMs, withoutWait } from './back-off.ts';
import { PodSync } from './pod-sync.ts';
import type { SyncPorts } from './sync-ports.ts';
import type { PodRecord } from './pod-records.ts';

export interface SyncQueueOptions extends Pick<SyncPorts, 'cache' | 'clock' | 'concurrency' | 'limiter' | 'records'> {
  /** Aborts every sync. */
  readonly signal: AbortSignalLike;
  readonly apiOutage: APIOutage;
  /** `get` may return a sync again. */
  readonly onReady: () => void;
  /** The back-off of a pod has expired: add the pods again that have to be synced. */
  readonly onRetry: () => void;
}

/** Minimum interval between two calls of `onRetry`. */
const minRetryIntervalMs = 100;

/**
 * Which pod is synced when. Each pod is in one of these states:
 *
 * - **idle**: the API server is known to have its status.
 * - **ready** (`ReadyPods`): `get` returns it once fewer than `concurrency` pods are in flight and none of
 *   them waits for the limiter or a connection. The most urgent pod is therefore chosen late, and
 *   managers that share a client get equal shares.
 * - **in flight** (`PodSync`): from `get` to `done`. `add` does nothing: the loop examines the pod
 *   again after `done`.
 * - **waiting** (`backOff` in its record): its last sync failed or was undone. Ends when the back-off
 *   expires (`onRetry`), with a new version if the failure class permits it, and with `forget`.
 *
 * Order, delay, deduplication and limits are behind `add`, `get`, `done` and `forget`, as in
 * controller-runtime's `priorityqueue`; unlike there, `get` does not block.
 */
export class SyncQueue {
  readonly #options: SyncQueueOptions;
  readonly #ready = new ReadyPods();
  /** At most `concurrency`, apart from batches that were started by hand. */
  readonly #inFlight = new Set<PodSync>();
  /** For the pods in back-off. */
  readonly #retryTimer: Alarm;
  #lastRetryMs = Number.NEGATIVE_INFINITY;

  constructor(options: SyncQueueOptions) {
    this.#options = options;
    this.#retryTimer = new Alarm(options.clock, () => {
      this.#lastRetryMs = options.clock.monotonicMs();
      options.onRetry();
    });
    options.records.onDropped((record) => this.#ready.remove(record));
  }

  /** Number of syncs in flight. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** A sync in flight that waits for a limit or a connection, or was just started: the ready pods wait behind it. */
  get heldUp(): PodSync | undefined {
    for (const sync of this.#inFlight) if (sync.isHeldUp) return sync;
    return undefined;
  }

  /**
   * Makes the pod ready, or sets the retry timer if it is in back-off. Does nothing if the pod is in
   * flight or has no status.
   * @param mustRetry also set the timer for a status that was sent and undone by another writer; by
   * default it waits for the next full batch
   */
  add(uid: string, mustRetry: boolean): void {
    const { apiOutage, cache, clock, records } = this.#options;
    const versioned = cache.get(uid);
    if (versioned === undefined) return;
    const record = records.of(uid);
    if (record.inFlight !== undefined) return;
    const nowMs = clock.monotonicMs();
    const waitMs = remainingWaitMs(record.backOff, versioned.version, nowMs);
    if (waitMs === 0 || (this.inFlight === 0 && apiOutage.takeTrialRequest(record, versioned.version)))
      this.#ready.add(record, versioned.urgent || versioned.podIsFinished, nowMs);
    else if (mustRetry || versioned.unsentSinceMs !== undefined)
      this.#retryTimer.arm(Math.max(waitMs, this.#lastRetryMs + minRetryIntervalMs - nowMs));
  }

  /** The sync of the most urgent ready pod, now in flight; undefined if none may start. */
  get(): PodSync | undefined {
    const { concurrency, signal } = this.#options;
    if (this.inFlight >= concurrency || signal.aborted || this.heldUp !== undefined) return undefined;
    for (let record = this.#ready.take(); record !== undefined; record = this.#ready.take())
      if (record.inFlight === undefined) return this.#start(record.uid, true);
    return undefined;
  }

  /** The sync of this pod, now in flight, without order, delay and limits. Precondition: it is not in flight. */
  getNow(uid: string): PodSync {
    return this.#start(uid, false);
  }

  /** The sync has ended. */
  done(sync: PodSync): void {
    const { limiter, records } = this.#options;
    this.#inFlight.delete(sync);
    records.of(sync.uid).inFlight = undefined;
    records.release(sync.uid);
    limiter.release(sync);
  }

  /** Ends the pod's back-off, except for `Retry-After`. */
  forget(uid: string): void {
    const { clock, records } = this.#options;
    const record = records.get(uid);
    if (record !== undefined) record.backOff = withoutWait(record.backOff, clock.monotonicMs());
  }

  /** Empties the queue and leaves no timer; syncs in flight continue. Unsent statuses stay unsent. */
  clear(): void {
    for (let record = this.#ready.take(); record !== undefined; record = this.#ready.take())
      this.#options.records.release(record.uid);
    this.#retryTimer.stop();
  }

  #start(uid: string, isLimited: boolean): PodSync {
    const { clock, onReady, records, signal } = this.#options;
    const sync = new PodSync(uid, signal, isLimited, clock, onReady);
    this.#inFlight.add(sync);
    records.of(uid).inFlight = sync;
    return sync;
  }
}

/** How far an urgent pod may jump ahead of a routine one. */
const ageingMs = 5_000;

/**
 * Pods ready to be synced, each at most once. Two tiers, each FIFO. Urgent pods go first. Once a
 * routine pod has aged, every second turn goes to routine pods, so that no pod starves; only every
 * second, because a long backlog would otherwise delay pods that become Ready.
 * Divergence: the kubelet syncs in the order of its map.
 */
export class ReadyPods {
  /** Insertion order is FIFO order. */
  readonly #urgent = new Set<PodRecord>();
  readonly #routine = new Set<PodRecord>();
  #wasLastUrgent = false;

  /** A pod that is already ready keeps its position, or moves to the urgent tier. */
  add(pod: PodRecord, isUrgent: boolean, nowMs: number): void {
    if (this.#urgent.has(pod) || (!isUrgent && this.#routine.has(pod))) return;
    this.#routine.delete(pod);
    (isUrgent ? this.#urgent : this.#routine).add(pod);
    pod.readySinceMs = nowMs;
  }

  /** Removes and returns the next pod. */
  take(): PodRecord | undefined {
    const [urgent] = this.#urgent;
    const [routine] = this.#routine;
    const isAged = sinceMs(routine) + ageingMs <= sinceMs(urgent);
    const isUrgentNext = urgent !== undefined && !(this.#wasLastUrgent && isAged);
    const pod = isUrgentNext ? urgent : routine;
    this.#wasLastUrgent = isUrgentNext;
    if (pod !== undefined) this.remove(pod);
    return pod;
  }

  remove(pod: PodRecord): void {
    this.#urgent.delete(pod);
    this.#routine.delete(pod);
    pod.readySinceMs = undefined;
  }
}

function sinceMs(pod: PodRecord | undefined): number {
  return pod?.readySinceMs ?? Number.POSITIVE_INFINITY;
}
