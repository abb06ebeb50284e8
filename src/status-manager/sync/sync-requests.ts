import min from 'lodash/min.js';
import { LightAbortController } from '../../shared/abort.ts';
import {
  APIError,
  type APIErrorKind,
  classifyAPIError,
  describeAbort,
  describeAPIError,
  type FailureClass,
} from '../../kube/client/api-error.ts';
import { LazySignalOptions } from '../../kube/client/lazy-signal-options.ts';
import type {
  PatchType,
  PodReference,
  PodStatusPatch,
  RequestOptions,
  RequestVerb,
} from '../../kube/client/pod-client.ts';
import type { Timer } from '../../shared/clock.ts';
import type { RequestOutcome } from '../metrics.ts';
import type { PodSync } from './pod-sync.ts';
import type { SyncPorts } from './sync-ports.ts';
import { isObject } from '../../shared/json.ts';
import type { Pod } from '../../kube/objects/types.ts';

/** Longest wait for a connection, in case the client has no limit of its own. */
const maxQueuedMs = 600_000;

/** The sync that makes a request: its signal aborts the request, and it is told what the request waits for. */
export type RequestingSync = Pick<PodSync, 'enter' | 'signal'>;

export interface SyncRequestsOptions extends Pick<
  SyncPorts,
  'client' | 'clock' | 'metrics' | 'requestTimeoutMs' | 'tracing'
> {
  /** Called for each request that succeeded. */
  readonly onSuccess?: (() => void) | undefined;
}

/** A failed request, with the facts that the loop needs. */
export class RequestFailure extends Error {
  readonly verb: RequestVerb;
  readonly failure: FailureClass;
  readonly error: APIError;
  readonly tookMs: number;

  constructor(verb: RequestVerb, failure: FailureClass, error: APIError, tookMs: number) {
    super(error.message);
    this.verb = verb;
    this.failure = failure;
    this.error = error;
    this.tookMs = tookMs;
  }
}

/**
 * The three requests of a sync, with deadline, metrics and failure classification. They reject only
 * with a `RequestFailure`, or with the signal's reason if it was aborted before the request.
 */
export class SyncRequests {
  readonly #options: SyncRequestsOptions;
  #lastSuccessMs: number | undefined;

  constructor(options: SyncRequestsOptions) {
    this.#options = options;
  }

  /** Milliseconds since a request of the client last succeeded; undefined when none has. */
  get lastSuccessAgeMs(): number | undefined {
    const { client, clock } = this.#options;
    const ownMs = this.#lastSuccessMs === undefined ? undefined : clock.monotonicMs() - this.#lastSuccessMs;
    return min([ownMs, client.lastSuccessAgeMs]);
  }

  get(pod: PodReference, sync: RequestingSync): Promise<Pod> {
    return this.#request('get', pod, sync, undefined, async (deadline) =>
      requirePod('get', await this.#options.client.getPod(pod, deadline)),
    );
  }

  patchStatus(pod: PodReference, patch: PodStatusPatch, sync: RequestingSync): Promise<Pod> {
    return this.#request('patch', pod, sync, patch.type, async (deadline) =>
      requirePod('patch', await this.#options.client.patchPodStatus(pod, patch, deadline)),
    );
  }

  /** Deletes the object with this UID immediately (grace period 0). */
  delete(pod: PodReference, uid: string, sync: RequestingSync): Promise<void> {
    return this.#request('delete', pod, sync, undefined, async (deadline) => {
      await this.#options.client.deletePod(pod, { uid, gracePeriodSeconds: 0 }, deadline);
    });
  }

  async #request<T>(
    verb: RequestVerb,
    pod: PodReference,
    sync: RequestingSync,
    patchType: PatchType | undefined,
    call: (deadline: RequestOptions) => Promise<T>,
  ): Promise<T> {
    const { signal } = sync;
    if (signal.aborted) throw signal.reason;
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      const response = await this.#options.tracing.request(verb, pod, () => this.#withDeadline(verb, sync, call));
      this.#lastSuccessMs = clock.monotonicMs();
      this.#options.onSuccess?.();
      this.#count(verb, 'ok', '2xx', startedMs);
      return response;
    } catch (rejection) {
      const error = describeAPIError(rejection, clock.now());
      const classified = classifyAPIError(error, verb, patchType);
      // The client aborted on its own: treated as a request without a response.
      const failure = classified === 'aborted' && !signal.aborted ? 'Unreachable' : classified;
      this.#count(verb, failure, error.statusCode === undefined ? '<error>' : String(error.statusCode), startedMs);
      throw new RequestFailure(verb, failure, error, clock.monotonicMs() - startedMs);
    }
  }

  #count(verb: RequestVerb, outcome: RequestOutcome, code: string, startedMs: number): void {
    const { clock, metrics } = this.#options;
    metrics.incRequests(verb, outcome, code);
    metrics.observeRequestDuration(verb, (clock.monotonicMs() - startedMs) / 1000);
  }

  /**
   * Settles by the deadline or the abort, whatever the client does. The deadline does not run while
   * the request waits for a connection: otherwise a slow API server would fail requests that were
   * never sent. The client limits that wait; if it does not, `maxQueuedMs` does.
   */
  #withDeadline<T>(
    verb: RequestVerb,
    sync: RequestingSync,
    call: (deadline: RequestOptions) => Promise<T>,
  ): Promise<T> {
    const { signal } = sync;
    const { clock, requestTimeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const controller = new LightAbortController();
      let timer: Timer | undefined;
      let isSettled = false;
      const giveUpAfter = (delayMs: number, message: string, kind: APIErrorKind): void => {
        timer?.stop();
        timer = clock.afterFunc(delayMs, () => giveUp(new APIError(`${message} within ${delayMs} ms`, { kind })));
      };
      let isQueued = false;
      const onStarted = (): void => {
        if (isSettled) return;
        isQueued = false;
        giveUpAfter(requestTimeoutMs, 'No response', 'timeout');
        sync.enter({ kind: 'response', verb });
      };
      const onQueued = (): void => {
        if (isSettled) return;
        isQueued = true;
        giveUpAfter(maxQueuedMs, 'Not sent', 'connection-wait');
        sync.enter({ kind: 'connection', verb });
      };
      const abort = (): void => giveUp(signal.reason);
      const cleanUp = (): void => {
        if (isSettled) return;
        isSettled = true;
        timer?.stop();
        signal.removeEventListener('abort', abort);
        sync.enter({ kind: 'syncing' });
      };
      const giveUp = (reason: unknown): void => {
        cleanUp();
        controller.abort(reason);
        reject(describeAbort(controller.signal));
      };
      signal.addEventListener('abort', abort);
      const response = call(new LazySignalOptions(controller.signal, onQueued, onStarted));
      if (!isQueued) onStarted();
      response.then(
        (response) => {
          cleanUp();
          resolve(response);
        },
        (error) => {
          cleanUp();
          reject(error);
        },
      );
    });
  }
}

function requirePod(verb: RequestVerb, response: Pod | undefined): Pod {
  if (response !== undefined && isObject(response.metadata)) return response;
  throw new APIError(`The response to ${verb} is not a pod`, { kind: 'invalid-response' });
}
