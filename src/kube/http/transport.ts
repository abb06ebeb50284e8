import trimEnd from 'lodash/trimEnd.js';
import type { Dispatcher } from 'undici/index.js';
import { type AbortSignalLike, untilAborted } from '../../shared/abort.ts';
import type { Clock } from '../../shared/clock.ts';
import { APIError, describeAbort } from '../client/api-error.ts';
import { type QueryParameters, checkPath, isHeartbeat, queryString } from './api-path.ts';
import { type Credentials, CredentialSource } from './credentials.ts';
import { type BufferedResponse, requestBuffered } from '../client/buffered-response.ts';
import { bodyText, defaultMaxResponseBytes, isSuccess, parseJSONBody } from '../client/response-body.ts';
import { closedError } from './connection-queue.ts';
import { Connections } from './connections.ts';
import type { KubeConfigSource } from './kube-config-types.ts';
import { resolveKubeConfig } from './kube-config.ts';
import { invalidKubeConfig } from './kube-config-values.ts';
import type {
  KubeRequestOptions,
  KubeResponse,
  KubeStream,
  KubeStreamOptions,
  KubeTransport,
} from './kube-transport.ts';
import { proxyFor } from './proxy.ts';
import { SharedSessions } from './shared-sessions.ts';
import { errorOfResponse, errorOfConnection } from './transport-errors.ts';
import {
  type KubeTransportOptions,
  type ResolvedTransportOptions,
  resolveTransportOptions,
} from './transport-options.ts';

/**
 * Uses neither the network nor files before the first request.
 * @throws {StatusManagerError} INVALID_ARGUMENT for a kubeconfig that cannot be used, INVALID_OPTION for an option.
 */
export function createKubeTransport(kubeConfig: KubeConfigSource, options: KubeTransportOptions = {}): KubeTransport {
  return new UndiciTransport(kubeConfig, resolveTransportOptions(options), false);
}

/**
 * For many nodes in one process: streams share HTTP/2 sessions, and heartbeats share another one. Behaves as
 * `createKubeTransport` if there is a proxy or the server does not choose HTTP/2.
 */
export function createSharingTransport(
  kubeConfig: KubeConfigSource,
  options: KubeTransportOptions = {},
): KubeTransport {
  return new UndiciTransport(kubeConfig, resolveTransportOptions(options), true);
}

interface Call<Response> {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  /** Take precedence over the transport's headers. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal: AbortSignalLike | undefined;
  readonly connection: { dispatcherFor(tls: Credentials['tls']): Dispatcher };
  /** Sends it, and resolves with a buffered response or with a stream. */
  readonly send: (dispatcher: Dispatcher, options: Dispatcher.DispatchOptions) => Promise<Response>;
}

class UndiciTransport implements KubeTransport {
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>;
  #lastSuccessMs: number | undefined;
  readonly #credentials: CredentialSource;
  readonly #origin: string;
  readonly #host: string;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #connections: Connections;
  /** Separate connections: a node whose heartbeats are late is considered dead. */
  readonly #heartbeatConnections: Connections;
  readonly #streamConnections: Connections;
  /** The headers of all requests with these credentials, built once. */
  #commonHeaders: { readonly credentials: Credentials; readonly headers: Credentials['headers'] } | undefined;

  constructor(kubeConfig: KubeConfigSource, options: ResolvedTransportOptions, sharesSessions: boolean) {
    const config = resolveKubeConfig(kubeConfig, options.kubeConfigDir);
    config.user(); // an unusable one is refused here, not at the first request
    const cluster = config.cluster();
    const server = readServer(cluster.server);
    this.#clock = options.clock;
    this.#origin = server.origin;
    this.#host = server.host;
    this.#basePath = trimEnd(server.pathname, '/');
    const proxy = proxyFor(server, cluster.proxyUrl, options.env);
    const connectionsOptions = {
      ...options,
      origin: server.origin,
      proxy,
      tlsServerName: cluster.tlsServerName,
      skipTLSVerify: cluster.skipTLSVerify,
      waitTimeoutMs: options.connectionWaitTimeoutMs,
    };
    this.#connections = new Connections(connectionsOptions);
    const canShare = sharesSessions && server.protocol === 'https:' && proxy === undefined;
    const connectionsFor = ({ keepAlive }: { readonly keepAlive: boolean }): Connections =>
      new Connections(connectionsOptions, canShare ? new SharedSessions({ ...options, keepAlive }) : undefined);
    this.#heartbeatConnections = connectionsFor({ keepAlive: true });
    this.#streamConnections = connectionsFor({ keepAlive: false });
    this.#credentials = new CredentialSource(config, options);
    this.#headers = {
      accept: 'application/json',
      ...(!cluster.disableCompression && { 'accept-encoding': 'gzip' }),
      'user-agent': options.userAgent,
    };
  }

  async request(method: string, path: string, options: KubeRequestOptions = {}): Promise<KubeResponse> {
    const { body, contentType = 'application/json', headers, signal } = options;
    const { maxResponseBytes = defaultMaxResponseBytes } = options;
    const connection = isHeartbeat(path) ? this.#heartbeatConnections : this.#connections;
    const call: Call<BufferedResponse> = {
      method,
      path: this.#target(path, options.query),
      headers: body === undefined ? headers : { 'content-type': contentType, ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      connection,
      send: (dispatcher, request) => requestBuffered(dispatcher, request, signal, maxResponseBytes),
    };
    await connection.queue.enter(options);
    let response: BufferedResponse;
    try {
      response = await this.#send(call);
    } finally {
      connection.queue.leave();
    }
    const text = await bodyText(response.body, response.headers['content-encoding'], maxResponseBytes);
    return {
      statusCode: response.statusCode,
      headers: response.headers,
      text,
      json: () => parseJSONBody(text, response.statusCode),
    };
  }

  async stream(path: string, options: KubeStreamOptions = {}): Promise<KubeStream> {
    const { signal } = options;
    const connection = this.#streamConnections.forStream();
    try {
      const response = this.#send<Dispatcher.ResponseData>({
        method: 'GET',
        path: this.#target(path, options.query),
        // Requests no compression: a proxy that compresses a response also buffers it.
        headers: { 'accept-encoding': 'identity', ...options.headers },
        signal,
        connection,
        send: (dispatcher, request) => dispatcher.request({ ...request, signal: signal ?? null }),
      });
      // undici ignores the signal until it is connected; the connection is closed below.
      const { statusCode, body } = await untilAborted(response, signal, describeAbort);
      body.once('close', () => connection.release());
      return { statusCode, body: this.#chunks(body, signal) };
    } catch (error) {
      connection.release();
      throw error;
    }
  }

  get lastSuccessAgeMs(): number | undefined {
    return this.#lastSuccessMs === undefined ? undefined : this.#clock.monotonicMs() - this.#lastSuccessMs;
  }

  async closeIdle(): Promise<void> {
    await Promise.all(this.#all.map((connections) => connections.closeIdle()));
  }

  async close(): Promise<void> {
    this.#credentials.close();
    await Promise.all(this.#all.map((connections) => connections.close()));
  }

  get #all(): readonly Connections[] {
    return [this.#connections, this.#heartbeatConnections, this.#streamConnections];
  }

  #target(path: string, query: QueryParameters | undefined): string {
    checkPath(path);
    return `${this.#basePath}${path}${queryString(query)}`;
  }

  /** After a 401, sends the request once more if there are other credentials. */
  async #send<Response extends BufferedResponse | Dispatcher.ResponseData>(call: Call<Response>): Promise<Response> {
    if (this.#connections.isClosed) throw closedError();
    const credentials =
      this.#credentials.fresh() ?? (await untilAborted(this.#credentials.load(), call.signal, describeAbort));
    try {
      return await this.#sendAs(credentials, call);
    } catch (error) {
      if ((error as APIError).statusCode !== 401) throw error;
      const renewed = await untilAborted(this.#credentials.renew(credentials), call.signal, describeAbort);
      if (renewed === undefined) throw error;
      return this.#sendAs(renewed, call);
    }
  }

  /** Rejects with an `APIError` for anything but a 2xx response. */
  async #sendAs<Response extends BufferedResponse | Dispatcher.ResponseData>(
    credentials: Credentials,
    { method, path, headers, body, signal, connection, send }: Call<Response>,
  ): Promise<Response> {
    let response: Response;
    try {
      response = await send(connection.dispatcherFor(credentials.tls), {
        origin: this.#origin,
        method,
        path,
        headers: this.#headersFor(credentials, headers),
        body: body ?? null,
      });
    } catch (error) {
      throw this.#failure(error, signal, credentials);
    }
    if (isSuccess(response.statusCode)) {
      this.#lastSuccessMs = this.#clock.monotonicMs();
      return response;
    }
    throw await errorOfResponse(response, credentials, this.#clock.now());
  }

  #headersFor(
    credentials: Credentials,
    headers: Call<unknown>['headers'],
  ): Readonly<Record<string, string | string[]>> {
    if (this.#commonHeaders?.credentials !== credentials) {
      this.#commonHeaders = { credentials, headers: { ...this.#headers, ...credentials.headers } };
    }
    return headers === undefined ? this.#commonHeaders.headers : { ...this.#commonHeaders.headers, ...headers };
  }

  async *#chunks(
    body: Dispatcher.ResponseData['body'],
    signal: AbortSignalLike | undefined,
  ): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const chunk of body) yield chunk as Uint8Array;
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  #failure(error: unknown, signal: AbortSignalLike | undefined, credentials?: Credentials): APIError {
    if (error instanceof APIError) return error;
    if (signal?.aborted) return describeAbort(signal);
    if (this.#connections.isClosed) return closedError();
    const failure = errorOfConnection(error, this.#host, credentials, this.#clock.now());
    if (failure.kind === 'network') this.#credentials.expire();
    return failure;
  }
}

function readServer(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  const isUsable = url && /^https?:$/.test(url.protocol) && !(url.username || url.password || url.search || url.hash);
  if (isUsable) return url;
  throw invalidKubeConfig('clusters[].cluster.server', 'to be an http or https URL without user, query and fragment');
}
