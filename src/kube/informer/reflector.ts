import { APIError, describeAPIError } from '../client/api-error.ts';
import type { KubeTransport } from '../http/kube-transport.ts';
import { type Clock, sleep, type Timer } from '../../shared/clock.ts';
import { ExponentialBackOff, jitter } from '../../shared/exponential-back-off.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { Logger } from '../../shared/logger.ts';
import { isObject, type Raw } from '../../shared/json.ts';
import type { InformerState } from '../pod-manager/pod-manager.ts';
import { isResourceVersionExpired, listObjects, type ListQuery } from './object-list.ts';
import { readWatchEvents } from './watch-events.ts';

export interface ReflectorOptions<T> {
  readonly transport: Pick<KubeTransport, 'request' | 'stream'>;
  /** Of the core API, plural: `pods`. */
  readonly resource: string;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** For the log. */
  readonly messages: { readonly failed: string; readonly recovered: string };
  /** Added to each log entry. */
  readonly logFields: object;
  /** Converts each object; the whole one is not kept. Source: client-go `cache.TransformFunc`. */
  readonly transform: (object: Raw) => T;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly listTimeoutMs: number;
  readonly inactivityTimeoutMs: number;
}

export const defaultTimeouts = { listTimeoutMs: 60_000, inactivityTimeoutMs: 150_000 } as const;

/** Receives the objects. */
export interface ReflectorSink<T> {
  /** The complete list. */
  replace(objects: readonly T[]): void;
  /** The object is new or changed. */
  upsert(object: T): void;
  remove(object: T): void;
  /** The first list is complete. */
  synced(): void;
  /** The server has sent a bookmark or another event without a changed object. */
  bookmark(): void;
}

/** client-go's reflector: 0.8 s, doubled up to 30 s, each with up to as much again at random. */
const BACK_OFF = { firstMs: 800, maxMs: 30_000 };
/** A watch open for this long is healthy and resets the back-off. A relist is immediate if the last list is older than this. */
export const HEALTHY_MS = 5_000;
/** A wait is ended early at most this often: a proxy may refuse watches while other requests succeed. */
const EARLY_TRY_MS = 5_000;
/** After a watch has been healthy; a failure before that is logged immediately. */
const LOGGED_AFTER_MS = 30_000;
/** A server ends each watch after 5 to 10 minutes: reconnecting spreads over its replicas. */
const MIN_WATCH_SECONDS = 300;

/** After this many failed watches from one resource version, the objects are listed again. client-go relists after any watch error. */
const MAX_FAILURES_AT_ONE_VERSION = 3;

/**
 * Lists the objects of a resource and watches them from that resource version, repeatedly until
 * stopped. Each list is of the newest version, as in client-go since 1.35 (gate `WatchListClient`): an
 * older one from a watch cache can lack an object that exists, or show one that is gone. A watch that
 * breaks is resumed from the last resource version. When that version has expired (410), or watches
 * from it keep failing, the objects are listed again. A watch without an event or bookmark for longer
 * than the servers' bookmark interval counts as broken. Source: client-go `tools/cache.Reflector`.
 */
export class Reflector<T> {
  /** As in `InformerPodSource`. */
  readonly listsNewest = true;
  readonly #options: ReflectorOptions<T>;
  readonly #path: string;
  readonly #selectors: Pick<ReflectorOptions<T>, 'fieldSelector' | 'labelSelector'>;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** Resource version from which the next watch starts; undefined: list first. */
  #resourceVersion: string | undefined;
  #listedMs = -Infinity;
  readonly #delays = new ExponentialBackOff(BACK_OFF);
  /** Ends the wait after the last failure. */
  #waitAborter = new AbortController();
  /** The server could not be reached, or failed. */
  #isUnreachable = false;
  #earlyTryMs = -Infinity;
  #restarts = 0;
  #hasBeenHealthy = false;
  /** Recovers only when a watch is healthy. A successful list between failing watches does not reset it. */
  readonly #failureLog: FailureLog;
  /** Number of failed watches from the same resource version. */
  #stuckAt: { resourceVersion: string | undefined; failures: number } = { resourceVersion: undefined, failures: 0 };

  constructor(options: ReflectorOptions<T>) {
    const { resource, fieldSelector, labelSelector, messages, clock, logger } = options;
    this.#options = options;
    this.#path = `/api/v1/${resource}`;
    this.#selectors = { fieldSelector, labelSelector };
    this.#failureLog = new FailureLog({ clock, logger, what: messages });
  }

  /** Lists and watches that failed and were started again. */
  get restarts(): number {
    return this.#restarts;
  }

  get failure(): InformerState['failure'] {
    return this.#failureLog.failure;
  }

  /** Another request has succeeded: a wait because the server could not be reached ends, and its back-off begins again. */
  requestSucceeded(): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (!this.#isUnreachable || nowMs - this.#earlyTryMs < EARLY_TRY_MS) return;
    this.#earlyTryMs = nowMs;
    this.#isUnreachable = false;
    this.#delays.reset();
    this.#waitAborter.abort();
  }

  start(sink: ReflectorSink<T>): void {
    this.#running ??= this.#run(sink);
  }

  /** Resolves when no request and no timer is left; the sink is not called after that. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(sink: ReflectorSink<T>): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const delayMs = await this.#listAndWatch(sink);
      if (delayMs > 0) await sleep(this.#options.clock, delayMs, AbortSignal.any([signal, this.#waitAborter.signal]));
    }
  }

  /** One round; resolves with how long to wait before the next. */
  async #listAndWatch(sink: ReflectorSink<T>): Promise<number> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    let isOpened = false;
    let isHealthy = false;
    let healthTimer: Timer | undefined;
    try {
      this.#resourceVersion ??= await this.#list(sink);
      await this.#watch(this.#resourceVersion, sink, () => {
        isOpened = true;
        healthTimer = clock.afterFunc(HEALTHY_MS, () => {
          isHealthy = true;
          this.#onHealthy();
        });
      });
      if (!isHealthy)
        throw new APIError(`unexpected watch close: the watch ended within ${HEALTHY_MS / 1000} s`, {
          kind: 'invalid-response',
        });
      return 0;
    } catch (error) {
      if (this.#stopping.signal.aborted) return 0;
      const tookMs = isHealthy ? 0 : clock.monotonicMs() - startedMs;
      return this.#afterFailure(describeAPIError(error, clock.now()), isOpened, tookMs);
    } finally {
      healthTimer?.stop();
    }
  }

  #afterFailure(error: APIError, isOpened: boolean, tookMs: number): number {
    const { clock } = this.#options;
    this.#restarts++;
    this.#waitAborter = new AbortController();
    this.#isUnreachable =
      error.retryAfterMs === undefined && (isUnreachable(error, isOpened) || error.statusCode! >= 500);
    let delayMs: number;
    if (this.#resourceVersion !== undefined && (cannotWatchFromThere(error) || this.#isStuck(error, isOpened))) {
      this.#resourceVersion = undefined;
      delayMs = clock.monotonicMs() - this.#listedMs >= HEALTHY_MS ? 0 : this.#backOff();
    } else {
      delayMs = Math.max(this.#backOff(), error.retryAfterMs ?? 0);
    }
    this.#logFailure(error, tookMs, delayMs);
    return delayMs;
  }

  #onHealthy(): void {
    this.#delays.reset();
    this.#hasBeenHealthy = true;
    this.#failureLog.succeeded(this.#options.logFields);
  }

  #logFailure(error: APIError, tookMs: number, delayMs: number): void {
    const { logger, logFields, resource } = this.#options;
    const next = this.#resourceVersion === undefined ? 'list' : 'watch';
    const { kind, statusCode, message } = error;
    const fields = { ...logFields, kind, statusCode, next, delayMs };
    logger.debug({ ...fields, reason: message }, `Listing or watching ${resource} failed`);
    this.#failureLog.failed(error, fields, { tookMs, afterMs: this.#hasBeenHealthy ? LOGGED_AFTER_MS : 0 });
  }

  /** Watches from this resource version keep failing, although the server can be reached. */
  #isStuck(error: APIError, isOpened: boolean): boolean {
    if (this.#stuckAt.resourceVersion !== this.#resourceVersion) {
      this.#stuckAt = { resourceVersion: this.#resourceVersion, failures: 0 };
    }
    if (!isUnreachable(error, isOpened)) this.#stuckAt.failures++;
    return this.#stuckAt.failures >= MAX_FAILURES_AT_ONE_VERSION;
  }

  #backOff(): number {
    return Math.round(jitter(this.#delays.next(), 1, this.#options.random));
  }

  /** Resolves with the resourceVersion from which to watch. */
  async #list(sink: ReflectorSink<T>): Promise<string> {
    const { transport, resource, logFields, transform, listTimeoutMs, clock, logger } = this.#options;
    const deadline = this.#deadline();
    try {
      const requestPage = async (query: ListQuery): Promise<unknown> => {
        deadline.within(listTimeoutMs);
        const response = await transport.request('GET', this.#path, {
          query: { ...this.#selectors, ...query },
          signal: deadline.signal,
        });
        return response.json();
      };
      const { objects, resourceVersion } = await listObjects({ resource, requestPage, transform });
      this.#stopping.signal.throwIfAborted();
      this.#listedMs = clock.monotonicMs();
      logger.debug({ ...logFields, [resource]: objects.length, resourceVersion }, `Listed ${resource}`);
      sink.replace(objects);
      sink.synced();
      return resourceVersion;
    } finally {
      deadline.clear();
    }
  }

  /** Resolves when the server ends the watch. */
  async #watch(resourceVersion: string, sink: ReflectorSink<T>, onOpen: () => void): Promise<void> {
    const { transport, resource, logFields, transform, inactivityTimeoutMs } = this.#options;
    const { random, logger } = this.#options;
    const deadline = this.#deadline();
    try {
      deadline.within(inactivityTimeoutMs);
      const query = {
        ...this.#selectors,
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion,
        timeoutSeconds: Math.floor(MIN_WATCH_SECONDS * (1 + random())),
      };
      const { body } = await transport.stream(this.#path, { query, signal: deadline.signal });
      onOpen();
      logger.debug({ ...logFields, resourceVersion }, `Watching ${resource}`);
      for await (const { type, object } of readWatchEvents(body)) {
        deadline.within(inactivityTimeoutMs);
        deadline.signal.throwIfAborted();
        if (type === 'BOOKMARK') sink.bookmark();
        else if (type === 'DELETED') sink.remove(transform(object));
        else sink.upsert(transform(object));
        this.#resourceVersion = resourceVersionOf(object) ?? this.#resourceVersion;
      }
    } finally {
      deadline.clear();
    }
  }

  /** Aborted by stop(), or with a TimeoutError when the latest timeout expires. */
  #deadline(): { readonly signal: AbortSignal; within(ms: number): void; clear(): void } {
    const controller = new AbortController();
    let timer: Timer | undefined;
    return {
      signal: AbortSignal.any([this.#stopping.signal, controller.signal]),
      within: (ms) => {
        timer?.stop();
        timer = this.#options.clock.afterFunc(ms, () =>
          controller.abort(new DOMException(`nothing was received for ${ms} ms`, 'TimeoutError')),
        );
      },
      clear: () => timer?.stop(),
    };
  }
}

/** @param isOpened a watch that opens and then stalls may be buffered by a proxy */
function isUnreachable({ kind, statusCode }: APIError, isOpened: boolean): boolean {
  return kind === 'network' || (kind === 'timeout' && !isOpened) || statusCode === 429 || statusCode === 503;
}

/** The resource version has expired, is newer than the server's, or is rejected. */
function cannotWatchFromThere(error: APIError): boolean {
  const { statusCode, causes } = error;
  const isTooLarge = causes.some(({ reason }) => reason === 'ResourceVersionTooLarge');
  return isResourceVersionExpired(error) || statusCode === 400 || isTooLarge;
}

/** Undefined also for `0`: a watch from `0` starts at an arbitrary version. */
function resourceVersionOf({ metadata }: Raw): string | undefined {
  const version = isObject(metadata) ? metadata['resourceVersion'] : undefined;
  return typeof version === 'string' && version !== '' && version !== '0' ? version : undefined;
}
