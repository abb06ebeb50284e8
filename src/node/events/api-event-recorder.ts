import { refuseOption } from '../../shared/errors.ts';
import { APIError } from '../../kube/client/api-error.ts';
import { type Clock, sleep, systemClock } from '../../shared/clock.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { TokenBucket } from '../../shared/token-bucket.ts';
import { integer } from '../../shared/option-checks.ts';
import { maxDurationMs } from '../../shared/validate.ts';
import { undefinedIfAborted } from '../../shared/abort.ts';
import { withDeadline } from '../../shared/deadline.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { EventClient } from './event-client.ts';
import { type CorrelatedEvent, EventCorrelator } from './event-correlator.ts';
import type { EventRecorder, ObjectEvent, PodEvent } from './event-recorder.ts';
import { type KubeEvent, podObjectReference } from './kube-event.ts';
import { systemRandom } from '../../shared/entropy.ts';

/** In the source of the events. */
const component = 'kubelet';

/** Options of `APIEventRecorder`. */
export interface APIEventRecorderOptions {
  readonly client: EventClient;
  /** The host in the events' source. */
  readonly nodeName: string;
  readonly logger: Logger;
  /** Sustained requests per second. Default: 50. kubelet: `eventRecordQPS`. */
  readonly qps?: number | undefined;
  /** Maximum number of requests in a burst. Default: 100. kubelet: `eventBurst`. */
  readonly burst?: number | undefined;
  /**
   * How long an event waits, in milliseconds, if no other event is waiting or being written: the sync that recorded it sends
   * more urgent requests first. `stop()` does not wait. Default: 0.
   */
  readonly delayMs?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Returns a number in [0, 1), which spreads the first retries of several nodes. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** State of an `APIEventRecorder`, for debugging. */
export interface EventRecorderInspection {
  /** Number of events that are waiting to be written. */
  readonly queued: number;
  /** Number of events that were dropped because the queue was full, or the API server refused them or did not respond. */
  readonly dropped: number;
  /** Since when no event could be written; absent if the last write succeeded. */
  readonly failingSince?: string | undefined;
}

const maxQueuedEvents = 1000;
const maxTriesPerEvent = 12;
const retryDelayMs = 10_000;
const requestTimeoutMs = 30_000;
const defaultQPS = 50;
const defaultBurst = 100;

/**
 * Writes events to the API server, one after the other. A repeated event increments the count of the
 * first one, similar events are aggregated, and the rate per object is limited: see `EventCorrelator`.
 * An event that cannot be written is tried 12 times, 10 s apart. It is dropped after that, if the API
 * server refuses it, or if 1,000 events are waiting. `event` never throws and never waits.
 * Source: client-go `record.EventBroadcaster`, `EventRecorder`.
 *
 * @example
 * ```ts
 * import { APIEventRecorder, createEventClient } from 'kubelet-status-manager/agent';
 *
 * const recorder = new APIEventRecorder({ client: createEventClient(client.transport), nodeName, logger });
 * recorder.event({ pod, type: 'Warning', reason: 'NotEnoughDisk', message: 'Not enough space for the logs' });
 * await recorder.stop();
 * ```
 */
export class APIEventRecorder implements EventRecorder {
  readonly #options: APIEventRecorderOptions;
  readonly #clock: Clock;
  readonly #correlator: EventCorrelator;
  readonly #failures: FailureLog;
  /** Never recovers: a later event that is written says nothing about a refused one. */
  readonly #refusals: FailureLog;
  readonly #requests: TokenBucket;
  readonly #delayMs: number;
  readonly #stop = new AbortController();
  readonly #queue: KubeEvent[] = [];
  #draining: Promise<void> | undefined;
  #dropped = 0;
  /** Makes names unique, because the clock has no nanoseconds. */
  #lastNameNs = 0n;

  /** @throws StatusManagerError INVALID_OPTION unless `qps` and `burst` are positive, and `delayMs` is an integer ≥ 0 */
  constructor(options: APIEventRecorderOptions) {
    const { qps = defaultQPS, burst = defaultBurst, delayMs = 0 } = options;
    if (!(qps > 0)) refuseOption('qps', 'a number > 0');
    if (!(burst >= 1)) refuseOption('burst', 'a number >= 1');
    this.#options = options;
    integer(0, maxDurationMs)('delayMs', delayMs);
    this.#delayMs = delayMs;
    this.#clock = options.clock ?? systemClock;
    this.#requests = new TokenBucket(qps, burst, this.#clock);
    this.#correlator = new EventCorrelator(this.#clock, (objectName) => this.#newName(objectName));
    const context = { logger: options.logger, clock: this.#clock, fields: { node: options.nodeName } };
    this.#failures = new FailureLog({ ...context, what: 'Writing events' });
    const refused = { failed: 'The API server refuses an event', recovered: 'The API server accepts the event' };
    this.#refusals = new FailureLog({ ...context, what: refused });
  }

  /** Queues an Event; does nothing after `stop()`. */
  event(event: PodEvent | ObjectEvent): void {
    if (this.#stop.signal.aborted) return;
    if (this.#queue.length >= maxQueuedEvents) return this.#drop(event, 'too many events are waiting');
    this.#queue.push(this.#kubeEvent(event));
    this.#draining ??= this.#drain();
  }

  /**
   * Accepts no more events. Resolves when the waiting ones are written; when one of them cannot be
   * written, the rest are dropped. Can be called again.
   */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#draining;
  }

  /** A snapshot; makes no request. */
  inspect(): EventRecorderInspection {
    const { failingSince } = this.#failures;
    return {
      queued: this.#queue.length,
      dropped: this.#dropped,
      ...(failingSince === undefined ? {} : { failingSince }),
    };
  }

  /** Source: client-go `makeEvent`. */
  #kubeEvent(event: PodEvent | ObjectEvent): KubeEvent {
    const { nodeName } = this.#options;
    const involvedObject = 'pod' in event ? podObjectReference(event.pod, event.container) : event.object;
    const now = timeFromEpochMs(this.#clock.now());
    const namespace = involvedObject.namespace || 'default';
    const { annotations } = event;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: this.#newName(involvedObject.name), namespace, ...(annotations && { annotations }) },
      involvedObject,
      reason: event.reason,
      message: event.message,
      type: event.type,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component, host: nodeName },
      reportingComponent: component,
      reportingInstance: nodeName,
    };
  }

  #newName(objectName: string): string {
    const nowNs = BigInt(Math.trunc(this.#clock.now())) * 1_000_000n;
    this.#lastNameNs = nowNs > this.#lastNameNs ? nowNs : this.#lastNameNs + 1n;
    return `${objectName}.${this.#lastNameNs.toString(16)}`;
  }

  async #drain(): Promise<void> {
    // Lets the caller of `event` continue first.
    await (this.#delayMs > 0 ? sleep(this.#clock, this.#delayMs, this.#stop.signal) : Promise.resolve());
    for (let event = this.#queue.shift(); event !== undefined; event = this.#queue.shift()) {
      const correlated = this.#correlator.correlate(event);
      if (correlated !== undefined) await this.#write(correlated);
    }
    this.#draining = undefined;
  }

  /** Source: client-go `recordToSink`. */
  async #write(correlated: CorrelatedEvent): Promise<void> {
    const { random = systemRandom } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        this.#correlator.updateState(await this.#send(correlated));
        return this.#failures.succeeded();
      } catch (error) {
        // An Event of this name exists: an earlier attempt was successful.
        if (statusCodeOf(error) === 409) return;
        // The pod is deleted together with its namespace, where the Event would be.
        if (isNamespaceTerminating(error)) return this.#drop(correlated.event, reasonOf(error));
        if (isRefusal(error)) {
          this.#refusals.failed(error, { involvedObject: correlated.event.involvedObject });
          return this.#drop(correlated.event, reasonOf(error));
        }
        this.#failures.failed(error);
        const isStopped = this.#stop.signal.aborted;
        if (isStopped && !isFinal(error)) this.#dropQueued();
        if (isStopped || isFinal(error) || tries === maxTriesPerEvent) {
          return this.#drop(correlated.event, reasonOf(error));
        }
      }
      await sleep(this.#clock, tries === 1 ? retryDelayMs * random() : retryDelayMs, this.#stop.signal);
    }
  }

  /** Source: client-go `recordEvent`. */
  async #send({ event, patch }: CorrelatedEvent): Promise<KubeEvent> {
    const { client } = this.#options;
    if (patch !== undefined) {
      try {
        return await this.#withTimeout((signal) => client.patch(event, patch, signal));
      } catch (error) {
        // The API server deletes Events after an hour.
        if (statusCodeOf(error) !== 404) throw error;
      }
    }
    return this.#withTimeout((signal) => client.create(event, signal));
  }

  async #withTimeout(call: (signal: AbortSignal) => Promise<KubeEvent>): Promise<KubeEvent> {
    // At a stop, the rest is written without waiting for tokens.
    await this.#requests.take(this.#stop.signal).catch(() => {});
    const { signal } = new AbortController();
    return withDeadline(this.#clock, requestTimeoutMs, signal, async (deadline) => {
      const written = await undefinedIfAborted(call(deadline.signal), deadline.signal);
      if (written === undefined) throw new Error(`no response after ${requestTimeoutMs / 1000} s`);
      return written;
    });
  }

  /** At a stop, the rest is dropped instead of waiting for an API server that does not respond. */
  #dropQueued(): void {
    for (const event of this.#queue.splice(0)) this.#drop(event, 'the recorder was stopped');
  }

  #drop({ type, reason, message }: Pick<KubeEvent, 'type' | 'reason' | 'message'>, why: string): void {
    this.#dropped++;
    this.#options.logger.debug({ event: { type, reason, message }, reason: why }, 'Dropped an event');
  }
}

function statusCodeOf(error: unknown): number | undefined {
  return error instanceof APIError ? error.statusCode : undefined;
}

/** Source: apimachinery `HasStatusCause` with `NamespaceTerminatingCause`. */
function isNamespaceTerminating(error: unknown): boolean {
  return error instanceof APIError && error.causes.some(({ reason }) => reason === 'NamespaceTerminating');
}

/** True when the API server has refused this event, for example because there is no such namespace. */
function isRefusal(error: unknown): boolean {
  const statusCode = statusCodeOf(error) ?? 0;
  return statusCode >= 400 && statusCode < 500 && ![401, 403, 429].includes(statusCode);
}

/** True when the API server has refused the event and would refuse it again. */
function isFinal(error: unknown): boolean {
  const statusCode = statusCodeOf(error);
  return statusCode !== undefined && statusCode !== 429 && statusCode !== 503;
}
