import type { RequestVerb } from '../../kube/client/pod-client.ts';
import { Alarm } from '../../shared/alarm.ts';
import { type MonotonicTimes, timeFromEpochMs } from '../../shared/time.ts';
import { failureClassTable, type RetriedFailureClass } from './failure-classes.ts';
import type { PodRecord } from './pod-records.ts';
import type { SyncPorts } from './sync-ports.ts';
import type { Result, SyncFailure } from './sync-result.ts';

/** Minimum duration of an outage. */
const outageAfterMs = 30_000;
/** After this long without a response, the next one ends the back-off of all pods. A single GET may fail. */
const unreachableAfterMs = 1_000;
/** Minimum interval between probes. */
const probeIntervalMs = 1_000;

/** Since when no status can be written, and how the last request failed. */
export interface OutageInspection {
  /** When the first of the requests failed (RFC 3339). */
  readonly since: string;
  readonly verb: RequestVerb;
  readonly failure: RetriedFailureClass;
  /** Undefined when there was no response. */
  readonly statusCode: number | undefined;
  readonly message: string;
}

export interface APIOutageOptions extends Pick<SyncPorts, 'clock' | 'logger'> {
  readonly countUnsent: () => number;
}

/**
 * Detects outages: times in which no status can be written. An outage begins after 30 s in which
 * requests failed for reasons unrelated to the pod (`isOutage` in the table of failure classes), and
 * either requests of two pods failed and nothing was written, or no request of any verb succeeded. A
 * single pod whose PATCH fails after a successful GET is not an outage.
 *
 * A timer logs the beginning at warn after 30 s, because the next failure may come much later; if the
 * API server has never processed a request, the first failure is logged. The end is logged at info.
 */
export class APIOutage {
  readonly #options: APIOutageOptions;
  /** In the order of their first failed sync in a row: the two oldest decide. */
  readonly #failing = new Set<PodRecord>();
  /** When the first GET failed since a request last succeeded. Only GETs count: a GET follows each failed PATCH or DELETE. */
  #noResponseSinceMs: number | undefined;
  #last: Omit<OutageInspection, 'since'> | undefined;
  /** Start of the failures that were logged. */
  #loggedSinceMs: number | undefined;
  /** Logs the beginning without waiting for another failure. */
  readonly #alarm: Alarm;
  #isStarted = false;
  #lastProbeMs = Number.NEGATIVE_INFINITY;
  #onReachable: (failing: readonly PodRecord[]) => void = () => {};
  /** The API server has processed a request. */
  #hasResponded = false;

  constructor(options: APIOutageOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.#update());
  }

  /** `listener` gets the failing pods when a request succeeds and none had succeeded for 1 s. */
  onReachable(listener: (failing: readonly PodRecord[]) => void): void {
    this.#onReachable = listener;
  }

  /** From now on, an outage is logged without waiting for another failure. */
  start(): void {
    this.#isStarted = true;
    this.#update();
  }

  /** Leaves no timer. */
  stop(): void {
    this.#isStarted = false;
    this.#alarm.stop();
  }

  /** Undefined while there is no outage. */
  inspect(times: MonotonicTimes): OutageInspection | undefined {
    return this.isDown ? this.requestFailure(times) : undefined;
  }

  /** As `inspect`, from the first failed request on. */
  requestFailure(times: MonotonicTimes): OutageInspection | undefined {
    const sinceMs = this.#loggedSinceMs ?? this.#sinceMs();
    if (this.#last === undefined || sinceMs === undefined) return undefined;
    return { since: times.format(sinceMs), ...this.#last };
  }

  get isDown(): boolean {
    return this.#loggedSinceMs !== undefined && this.#forMs(this.#loggedSinceMs) >= outageAfterMs;
  }

  /** A sync has ended, or the full batch has found the pod in sync. */
  ended(record: PodRecord, result: Result): void {
    if (result.kind === 'failed') return this.#failed(record, result);
    // The API server has the cached status of this pod.
    if (result.kind === 'unchanged' || result.kind === 'in-sync') return this.#recovered(record);
    this.#written();
  }

  #failed(record: PodRecord, { verb, failure, tookMs, error }: SyncFailure): void {
    if (!failureClassTable[failure].isOutage) {
      // The API server has processed the request.
      this.requestSucceeded();
      return verb === 'get' ? this.#recovered(record) : this.#written();
    }
    // A bug of the client is logged for the pod.
    if (error.kind === 'unknown') this.#hasResponded = true;
    this.#last = { verb, failure, statusCode: error.statusCode, message: error.message };
    const sinceMs = this.#options.clock.monotonicMs() - tookMs;
    record.failingSinceMs ??= sinceMs;
    this.#failing.add(record);
    if (verb === 'get') this.#noResponseSinceMs ??= sinceMs;
    this.#update();
  }

  /**
   * Whether this pod may be tried despite its back-off, because its status has changed: one pod a second
   * while no request succeeds. So the end of an outage is noticed before the back-offs end.
   */
  takeTrialRequest({ backOff }: PodRecord, version: number): boolean {
    if (this.#noResponseSinceMs === undefined || backOff === undefined || backOff.reason === 'hot-loop') return false;
    const { isOutage, pausesClient } = failureClassTable[backOff.reason];
    if (!isOutage || pausesClient) return false;
    const nowMs = this.#options.clock.monotonicMs();
    const isTooSoon = nowMs - Math.max(this.#lastProbeMs, backOff.failedAtMs) < probeIntervalMs;
    if (backOff.version >= version || isTooSoon) return false;
    this.#lastProbeMs = nowMs;
    return true;
  }

  /** A request of any verb succeeded; how its sync ends is reported to `ended`. */
  requestSucceeded(): void {
    const sinceMs = this.#noResponseSinceMs;
    this.#hasResponded = true;
    this.#noResponseSinceMs = undefined;
    if (sinceMs !== undefined && this.#forMs(sinceMs) >= unreachableAfterMs) this.#onReachable([...this.#failing]);
  }

  /** The API server has processed a PATCH or DELETE. */
  #written(): void {
    for (const record of this.#failing) record.failingSinceMs = undefined;
    this.#failing.clear();
    this.#update();
  }

  /** The pod's status was dropped. This does not mean that the API server has recovered. */
  dropped(record: PodRecord): void {
    this.#recovered(record, 'The outage of the API server no longer affects any pod');
  }

  #recovered(record: PodRecord, endMessage?: string): void {
    record.failingSinceMs = undefined;
    if (this.#failing.delete(record)) this.#update(endMessage);
  }

  /** When the outage began; undefined without one. */
  #sinceMs(): number | undefined {
    const [first, second] = this.#failing;
    if (first === undefined) this.#noResponseSinceMs = undefined;
    if (second === undefined) return this.#noResponseSinceMs;
    return Math.min(Math.max(first!.failingSinceMs!, second.failingSinceMs!), this.#noResponseSinceMs ?? Infinity);
  }

  #update(endMessage = 'Pod statuses can be written again: the API server has recovered'): void {
    const sinceMs = this.#sinceMs();
    if (sinceMs === undefined) {
      this.#alarm.stop();
      if (this.#loggedSinceMs !== undefined) this.#logEnd(this.#loggedSinceMs, endMessage);
    } else if (this.#loggedSinceMs === undefined) {
      const remainingMs = this.#hasResponded ? outageAfterMs - this.#forMs(sinceMs) : 0;
      if (remainingMs <= 0) this.#logBeginning(sinceMs);
      else if (this.#isStarted) this.#alarm.arm(remainingMs);
    }
  }

  #logBeginning(sinceMs: number): void {
    const { countUnsent, logger } = this.#options;
    const { verb, failure, statusCode, message: reason } = this.#last!;
    this.#alarm.stop();
    this.#loggedSinceMs = sinceMs;
    logger.warn(
      { since: this.#wallTime(sinceMs), unsent: countUnsent(), verb, failure, statusCode, reason },
      'Pod statuses cannot be written: requests to the API server fail',
    );
  }

  #logEnd(sinceMs: number, message: string): void {
    const { countUnsent, logger } = this.#options;
    this.#loggedSinceMs = undefined;
    logger.info(
      { since: this.#wallTime(sinceMs), outageMs: Math.round(this.#forMs(sinceMs)), unsent: countUnsent() },
      message,
    );
  }

  #forMs(sinceMs: number): number {
    return this.#options.clock.monotonicMs() - sinceMs;
  }

  #wallTime(sinceMs: number): string {
    return timeFromEpochMs(this.#options.clock.now() - this.#forMs(sinceMs));
  }
}
