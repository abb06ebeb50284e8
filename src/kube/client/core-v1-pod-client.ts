import { type AbortSignalLike, untilAborted } from '../../shared/abort.ts';
import type { Clock, ClockLike } from '../../shared/clock.ts';
import { requireObject } from '../../shared/errors.ts';
import { resolveClock } from '../../shared/ports.ts';
import { isObject, parseJSON } from '../../shared/json.ts';
import type { Pod } from '../types.ts';
import { APIError, describeAbort, describeAPIError } from './api-error.ts';
import type { CoreV1ApiLike, CoreV1ApiMethod } from './core-v1-api-like.ts';
import type {
  ClosablePodClient,
  DeletePodOptions,
  PatchType,
  PodReference,
  PodStatusPatch,
  RequestOptions,
} from './pod-client.ts';
import { signalOf } from './lazy-signal-options.ts';
import { generatedConfiguration, RawResponseMiddleware } from './raw-response-middleware.ts';
import { SharedConnections } from './shared-connections.ts';

/** Options of `createCoreV1PodClient`. */
export interface CoreV1PodClientOptions {
  /** For a `Retry-After` that is a date. Default: the real clock. */
  readonly clock?: ClockLike | undefined;
}

/**
 * A `PodClient` over client-node's generated `CoreV1Api` (1.4 or 2.x) or a mock of it. Pods are the
 * server's own JSON, with unknown members and with times as strings. Adds what client-node lacks:
 * the patch's content type, an abort that works even while credentials are fetched, keep-alive
 * connections, and `Retry-After`. Rejects with `APIError` only. A mock runs no middleware, so its
 * return value is used; if it returns nothing or `{}`, the request rejects with an
 * `invalid-response` that names the method.
 */
export function createCoreV1PodClient(api: CoreV1ApiLike, options: CoreV1PodClientOptions = {}): ClosablePodClient {
  requireObject('api', api);
  requireObject('options', options);
  return new CoreV1PodClient(api, options);
}

class CoreV1PodClient implements ClosablePodClient {
  readonly #api: CoreV1ApiLike;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #connections = new SharedConnections();

  constructor(api: CoreV1ApiLike, options: CoreV1PodClientOptions) {
    this.#api = api;
    this.#clock = resolveClock(options.clock);
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

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #call<Method extends CoreV1ApiMethod>(
    method: Method,
    request: Parameters<CoreV1ApiLike[Method]>[0],
    options: RequestOptions,
    patchType?: PatchType,
  ): Promise<unknown> {
    const signal = signalOf(options);
    if (signal.aborted) throw describeAbort(signal);
    const middleware = new RawResponseMiddleware({
      request: options,
      patchType,
      connections: this.#connections,
      configuration: generatedConfiguration(this.#api),
    });
    let returned: unknown;
    try {
      // client-node ignores the signal while it fetches credentials; a mock may ignore it completely.
      returned = await untilAborted(
        (async () => this.#api[method](request as never, middleware.callOptions))(),
        signal,
      );
    } catch (error) {
      // A 2xx counts, even if the generated code cannot deserialise its body.
      if (middleware.response === undefined) throw this.#failure(error, middleware, signal);
    }
    const response = middleware.response === undefined ? returned : parseJSON(middleware.response.text);
    const isDelete = method === 'deleteNamespacedPod';
    if (isDelete ? isNonEmptyObject(response) : isPod(response)) return response;
    throw new APIError(`${method} returned something other than ${isDelete ? 'a pod or a Status' : 'a pod'}`, {
      kind: 'invalid-response',
      statusCode: middleware.response?.statusCode,
    });
  }

  #failure(error: unknown, { connection, facts }: RawResponseMiddleware, signal: AbortSignalLike): APIError {
    const failure = signal.aborted ? describeAbort(signal) : describeAPIError(error, this.#clock.now(), facts);
    const noResponse = failure.kind === 'network' || failure.kind === 'timeout';
    if (connection !== undefined && (noResponse || failure.statusCode === 401)) {
      // Not awaited: the connection closes when its last request has ended.
      this.#connections.drop(connection).catch(() => {});
    }
    return failure;
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
