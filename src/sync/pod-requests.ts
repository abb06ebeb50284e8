import {
  ApiError,
  type ApiErrorKind,
  classifyApiError,
  describeAbort,
  describeApiError,
  type FailureClass,
} from '../client/api-error.ts';
import type {
  PatchType,
  PodClient,
  PodReference,
  PodStatusPatch,
  RequestOptions,
  RequestVerb,
} from '../client/pod-client.ts';
import type { Clock, Timer } from '../clock.ts';
import type { Metrics } from '../metrics.ts';
import { isObject } from '../status/json.ts';
import type { Pod } from '../types.ts';

/** Longer than any client should let a request wait for a connection. */
const maxQueuedMs = 600_000;

/** What bounds one sync: a signal that ends it early, and a permission to wait for before each request. */
export interface SyncPermits {
  readonly signal: AbortSignal;
  acquire(signal: AbortSignal): Promise<void>;
}

export interface PodRequestsOptions {
  readonly client: PodClient;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly requestTimeoutMs: number;
}

/** A request that failed; carries what the loop needs to know. */
export class RequestFailure extends Error {
  readonly verb: RequestVerb;
  readonly failure: FailureClass;
  readonly error: ApiError;
  readonly tookMs: number;

  constructor(verb: RequestVerb, failure: FailureClass, error: ApiError, tookMs: number) {
    super(error.message);
    this.verb = verb;
    this.failure = failure;
    this.error = error;
    this.tookMs = tookMs;
  }
}

/**
 * The three requests of a sync, each with its deadline, counted, and classified when it fails:
 * they reject with a `RequestFailure` only, or with the signal's reason when it is aborted before.
 */
export class PodRequests {
  readonly #options: PodRequestsOptions;

  constructor(options: PodRequestsOptions) {
    this.#options = options;
  }

  get(pod: PodReference, signal: AbortSignal): Promise<Pod> {
    return this.#request('get', signal, undefined, async (deadline) =>
      requirePod('get', await this.#options.client.getPod(pod, deadline)),
    );
  }

  patchStatus(pod: PodReference, patch: PodStatusPatch, signal: AbortSignal): Promise<Pod> {
    return this.#request('patch', signal, patch.type, async (deadline) =>
      requirePod('patch', await this.#options.client.patchPodStatus(pod, patch, deadline)),
    );
  }

  /** At once and for good, and only the object with this UID. */
  delete(pod: PodReference, uid: string, signal: AbortSignal): Promise<void> {
    return this.#request('delete', signal, undefined, async (deadline) => {
      await this.#options.client.deletePod(pod, { uid, gracePeriodSeconds: 0 }, deadline);
    });
  }

  async #request<T>(
    verb: RequestVerb,
    signal: AbortSignal,
    patchType: PatchType | undefined,
    call: (deadline: RequestOptions) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const { clock, metrics } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      const response = await this.#withDeadline(call, signal);
      metrics.incRequests(verb, 'ok');
      return response;
    } catch (rejection) {
      const error = describeApiError(rejection, clock.now());
      const classified = classifyApiError(error, verb, patchType);
      // The client gave up on its own: for us a request without a response.
      const failure = classified === 'aborted' && !signal.aborted ? 'transient' : classified;
      metrics.incRequests(verb, failure);
      throw new RequestFailure(verb, failure, error, clock.monotonicMs() - startedMs);
    }
  }

  /**
   * Settles at the deadline and at the abort at the latest, whatever the client does. The deadline
   * does not run while the request waits for a connection: a slow API server would otherwise make
   * requests fail that were never sent. The client bounds that wait; should it forget to,
   * `maxQueuedMs` does.
   */
  #withDeadline<T>(call: (deadline: RequestOptions) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock, requestTimeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const controller = new AbortController();
      let timer: Timer | undefined;
      let isSettled = false;
      const giveUpAfter = (delayMs: number, message: string, kind: ApiErrorKind): void => {
        if (isSettled) return;
        timer?.stop();
        timer = clock.afterFunc(delayMs, () => giveUp(new ApiError(`${message} within ${delayMs} ms`, { kind })));
      };
      const onStarted = (): void => giveUpAfter(requestTimeoutMs, 'No response', 'timeout');
      const onQueued = (): void => giveUpAfter(maxQueuedMs, 'Not sent', 'connection-wait');
      const abort = (): void => giveUp(signal.reason);
      const tidyUp = (): void => {
        isSettled = true;
        timer?.stop();
        signal.removeEventListener('abort', abort);
      };
      const giveUp = (reason: unknown): void => {
        tidyUp();
        controller.abort(reason);
        reject(describeAbort(controller.signal));
      };
      signal.addEventListener('abort', abort);
      onStarted();
      call({ signal: controller.signal, onQueued, onStarted }).then(resolve, reject).finally(tidyUp);
    });
  }
}

function requirePod(verb: RequestVerb, response: Pod | undefined): Pod {
  if (response !== undefined && isObject(response.metadata)) return response;
  throw new ApiError(`The response to ${verb} is not a pod`, { kind: 'invalid-response' });
}
