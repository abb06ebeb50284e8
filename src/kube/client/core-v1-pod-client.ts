import { untilAborted } from '../../shared/abort.ts';
import type { Clock, ClockLike } from '../../shared/clock.ts';
import { requireObject } from '../../shared/errors.ts';
import { resolveClock } from '../../shared/ports.ts';
import { isObject, parseJSON } from '../../shared/json.ts';
import type { Pod } from '../objects/types.ts';
import { APIError, describeAbort, describeAPIError } from './api-error.ts';
import { senderOf } from './client-node-api.ts';
import type { CoreV1ApiLike, CoreV1ApiMethod } from './core-v1-api-like.ts';
import { lazyHTTPPodClient } from './lazy-http-pod-client.ts';
import { signalOf } from './lazy-signal-options.ts';
import type {
  ClosablePodClient,
  DeletePodOptions,
  PatchType,
  PodClient,
  PodReference,
  PodStatusPatch,
  RequestOptions,
} from './pod-client.ts';
import { RawResponseMiddleware } from './raw-response-middleware.ts';

/** Options of `createCoreV1PodClient`. */
export interface CoreV1PodClientOptions {
  /** For a `Retry-After` that is a date. Default: the real clock. */
  readonly clock?: ClockLike | undefined;
}

/**
 * A `PodClient` over client-node's generated `CoreV1Api` (1.4 or 2.x) or a mock of it. Pods are the
 * server's own JSON, with unknown fields and with times as strings. Requests of an API that
 * `KubeConfig.makeApiClient` made are sent as `createPodClient` sends them; of a mock, a spy, and an
 * API with middleware or an HTTP library of the caller, the methods are called. Rejects with
 * `APIError` only. A mock runs no middleware, so its return value is used; if it returns nothing or
 * `{}`, the request rejects with an `invalid-response` that names the method.
 */
export function createCoreV1PodClient(api: CoreV1ApiLike, options: CoreV1PodClientOptions = {}): ClosablePodClient {
  requireObject('api', api);
  requireObject('options', options);
  const methods = new CoreV1MethodsClient(api, resolveClock(options.clock));
  let http: ClosablePodClient | undefined;
  const client = (): PodClient => {
    // Looked up for each request: a test may spy on a method later.
    const sender = senderOf(api);
    if (sender === undefined) return methods;
    return (http ??= lazyHTTPPodClient(sender.kubeConfig, { ...options, userAgent: sender.userAgent }));
  };
  return {
    getPod: (...call) => client().getPod(...call),
    patchPodStatus: (...call) => client().patchPodStatus(...call),
    deletePod: (...call) => client().deletePod(...call),
    close: async () => http?.close(),
  };
}

/** Calls the methods of the API. */
class CoreV1MethodsClient implements PodClient {
  readonly #api: CoreV1ApiLike;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(api: CoreV1ApiLike, clock: Pick<Clock, 'now'>) {
    this.#api = api;
    this.#clock = clock;
  }

  async getPod({ namespace, name }: PodReference, options: RequestOptions): Promise<Pod> {
    return (await this.#call('readNamespacedPod', { name, namespace }, options)) as Pod;
  }

  async patchPodStatus(
    { namespace, name }: PodReference,
    { type, body }: PodStatusPatch,
    options: RequestOptions,
  ): Promise<Pod> {
    return (await this.#call('patchNamespacedPodStatus', { name, namespace, body }, options, type)) as Pod;
  }

  async deletePod(
    { namespace, name }: PodReference,
    { uid, gracePeriodSeconds }: DeletePodOptions,
    options: RequestOptions,
  ): Promise<void> {
    const body = { gracePeriodSeconds, preconditions: { uid } };
    await this.#call('deleteNamespacedPod', { name, namespace, body }, options);
  }

  async #call<Method extends CoreV1ApiMethod>(
    method: Method,
    request: Parameters<CoreV1ApiLike[Method]>[0],
    options: RequestOptions,
    patchType?: PatchType,
  ): Promise<unknown> {
    const signal = signalOf(options);
    if (signal.aborted) throw describeAbort(signal);
    const middleware = new RawResponseMiddleware(options, patchType);
    let returned: unknown;
    try {
      // client-node ignores the signal while it fetches credentials; a mock may ignore it completely.
      returned = await untilAborted(
        (async () => this.#api[method](request as never, middleware.callOptions))(),
        signal,
      );
    } catch (error) {
      // A 2xx counts, even if the generated code cannot deserialise its body.
      if (middleware.response === undefined)
        throw signal.aborted ? describeAbort(signal) : describeAPIError(error, this.#clock.now(), middleware.facts);
    }
    const response = middleware.response === undefined ? returned : parseJSON(middleware.response.text);
    const isDelete = method === 'deleteNamespacedPod';
    if (isDelete ? isNonEmptyObject(response) : isPod(response)) return response;
    throw new APIError(`${method} returned something other than ${isDelete ? 'a pod or a Status' : 'a pod'}`, {
      kind: 'invalid-response',
      statusCode: middleware.response?.statusCode,
    });
  }
}

function isPod(response: unknown): boolean {
  return (
    isObject(response) &&
    isObject(response['metadata']) &&
    (response['kind'] === undefined || response['kind'] === 'Pod')
  );
}

/** The response to a DELETE is the pod or a `Status`. */
function isNonEmptyObject(response: unknown): boolean {
  return isObject(response) && Object.keys(response).length > 0;
}
