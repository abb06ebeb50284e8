import { ApiError, classifyApiError, describeAbort, describeApiError, type FailureClass } from '../client/api-error.ts';
import type { PatchType, PodClient, PodReference, PodStatusPatch, RequestVerb } from '../client/pod-client.ts';
import type { Clock } from '../clock.ts';
import type { Metrics } from '../metrics.ts';
import { isObject } from '../status/json.ts';
import type { Pod } from '../types.ts';

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

  constructor(verb: RequestVerb, failure: FailureClass, error: ApiError) {
    super(error.message);
    this.verb = verb;
    this.failure = failure;
    this.error = error;
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
      requirePod('get', await this.#options.client.getPod(pod, { signal: deadline })),
    );
  }

  patchStatus(pod: PodReference, patch: PodStatusPatch, signal: AbortSignal): Promise<Pod> {
    return this.#request('patch', signal, patch.type, async (deadline) =>
      requirePod('patch', await this.#options.client.patchPodStatus(pod, patch, { signal: deadline })),
    );
  }

  /** At once and for good, and only the object with this UID. */
  delete(pod: PodReference, uid: string, signal: AbortSignal): Promise<void> {
    return this.#request('delete', signal, undefined, async (deadline) => {
      await this.#options.client.deletePod(pod, { uid, gracePeriodSeconds: 0 }, { signal: deadline });
    });
  }

  async #request<T>(
    verb: RequestVerb,
    signal: AbortSignal,
    patchType: PatchType | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const { clock, metrics } = this.#options;
    try {
      const answer = await this.#withDeadline(call, signal);
      metrics.incRequests(verb, 'ok');
      return answer;
    } catch (rejection) {
      const error = describeApiError(rejection, clock.now());
      const classified = classifyApiError(error, verb, patchType);
      // A client that gave up by itself: for us one more request without an answer.
      const failure = classified === 'aborted' && !signal.aborted ? 'transient' : classified;
      metrics.incRequests(verb, failure);
      throw new RequestFailure(verb, failure, error);
    }
  }

  /** Settles at the deadline and at the abort at the latest, whatever the client does. */
  #withDeadline<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock, requestTimeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const controller = new AbortController();
      const deadline = clock.afterFunc(requestTimeoutMs, () =>
        giveUp(new ApiError(`No answer within ${requestTimeoutMs} ms`, { kind: 'timeout' })),
      );
      const abort = (): void => giveUp(signal.reason);
      const tidyUp = (): void => {
        deadline.stop();
        signal.removeEventListener('abort', abort);
      };
      const giveUp = (reason: unknown): void => {
        tidyUp();
        controller.abort(reason);
        reject(describeAbort(controller.signal));
      };
      signal.addEventListener('abort', abort);
      call(controller.signal).then(resolve, reject).finally(tidyUp);
    });
  }
}

function requirePod(verb: RequestVerb, answer: Pod | undefined): Pod {
  if (answer !== undefined && isObject(answer.metadata)) return answer;
  throw new ApiError(`The answer to ${verb} is no pod`, { kind: 'invalid-response' });
}
