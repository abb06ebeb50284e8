import { isObject } from '../../shared/json.ts';
import { bodyOf, type ResponseBody, type SendableRequest, sendThrough } from './agent-pool.ts';
import type { RequestFacts } from './api-error.ts';
import { refuseDeepJSON } from './json-depth.ts';
import { signalOf } from './lazy-signal-options.ts';
import type { PatchType, RequestOptions } from './pod-client.ts';
import { secretsOf } from './redact.ts';
import { isSuccess } from './response-body.ts';
import type { ConnectionContext, SharedConnection, SharedConnections } from './shared-connections.ts';

/** The subset of `Observable` that client-node requires. */
export interface Observable<Value> {
  toPromise(): Promise<Value>;
}

/** The subset of a `CoreV1Api`'s `Configuration` that is used. */
export interface GeneratedConfiguration {
  /** Sends a request; replaced for each of our calls when it is client-node's own. */
  readonly httpApi: { send(context: unknown): Observable<unknown> };
  /** The caller's middleware for all requests. */
  readonly middleware: readonly unknown[];
}

/**
 * The configuration of a real `CoreV1Api`, 1.4 or 2.x, read from members that its types declare
 * private. Undefined for a mock, or if the private layout changes: then nothing is replaced.
 */
export function generatedConfiguration(api: unknown): GeneratedConfiguration | undefined {
  const inner = isObject(api) ? api['api'] : undefined;
  const configuration = isObject(inner) ? inner['configuration'] : undefined;
  if (!isObject(configuration)) return undefined;
  const { httpApi, middleware } = configuration;
  return isObject(httpApi) && typeof httpApi['send'] === 'function' && Array.isArray(middleware)
    ? (configuration as unknown as GeneratedConfiguration)
    : undefined;
}

/** True if the API uses client-node's own HTTP library, not one of the caller's. */
function sendsByDefault({ httpApi }: GeneratedConfiguration): boolean {
  return httpApi.constructor.name === 'IsomorphicFetchHttpLibrary' && !Object.hasOwn(httpApi, 'send');
}

/** The subset of client-node's `RequestContext` that is used. */
interface RequestContext extends ConnectionContext, Partial<SendableRequest> {
  setHeaderParam(name: string, value: string): void;
  setSignal(signal: AbortSignal): void;
}

/** The subset of client-node's `ResponseContext` that is used. */
interface ResponseContext {
  readonly httpStatusCode: number;
  body: ResponseBody;
}

/** A 2xx response as it was sent by the server. */
interface RawResponse {
  readonly statusCode: number;
  readonly text: string;
}

interface RawResponseMiddlewareOptions {
  readonly request: RequestOptions;
  readonly connections: SharedConnections;
  /** Content type of a PATCH; client-node would take JSON patch for any. */
  readonly patchType?: PatchType | undefined;
  /** Of the API, unless it is a mock. */
  readonly configuration: GeneratedConfiguration | undefined;
}

/**
 * client-node middleware for one call. Before: content type, abort signal, shared connection.
 * In between: sends the request itself, where client-node would use node-fetch.
 * After: keeps the text of the response, because the generated models drop unknown members and turn
 * times into `Date`s; without middleware of the caller, they get nothing to deserialise.
 * Works with 1.4 and 2.x without importing either.
 */
export class RawResponseMiddleware {
  /** The second argument of a generated API method. */
  readonly callOptions: object;
  /** The shared connection that the request went through, once it was sent. */
  connection: SharedConnection | undefined;
  /** The response, if it was read completely and is a 2xx; also absent when a mock did not run the middleware. */
  response: RawResponse | undefined;
  readonly #options: RawResponseMiddlewareOptions;
  readonly #sendsItself: boolean;
  #request: RequestContext | undefined;

  constructor(options: RawResponseMiddlewareOptions) {
    this.#options = options;
    // Runs last before the request and first after it, so the caller's middleware cannot change it.
    // Not enumerable, so a mock that records or serializes its arguments does not see internal objects.
    const { configuration } = options;
    this.#sendsItself = configuration !== undefined && sendsByDefault(configuration);
    this.callOptions = Object.defineProperties(
      {},
      {
        middleware: { value: [this] },
        middlewareMergeStrategy: { value: 'append' },
        httpApi: { value: this.#sendsItself ? this : undefined },
      },
    );
  }

  /** For the description of a failure. */
  get facts(): RequestFacts {
    const headers = this.#request?.getHeaders?.();
    return {
      host: hostOf(this.#request?.getUrl?.()),
      secrets: secretsOf(headers?.['Authorization'] ?? headers?.['authorization']),
    };
  }

  pre(context: RequestContext): Observable<RequestContext> {
    const { request, connections, patchType } = this.#options;
    if (patchType !== undefined) context.setHeaderParam('Content-Type', patchType);
    if (!this.#sendsItself) context.setSignal(request.signal);
    this.connection = connections.use(context);
    this.#request = context;
    return { toPromise: () => Promise.resolve(context) };
  }

  /** As `httpApi`. */
  send(context: RequestContext): Observable<unknown> {
    return { toPromise: () => this.#send(context) };
  }

  async #send(context: RequestContext): Promise<unknown> {
    const { request } = this.#options;
    const pool = await this.connection?.pool?.();
    if (pool !== undefined && typeof (context as SendableRequest).getBody() !== 'object')
      return sendThrough(pool, context as SendableRequest, signalOf(request));
    context.setSignal(request.signal);
    return this.#options.configuration!.httpApi.send(context).toPromise();
  }

  post(context: ResponseContext): Observable<ResponseContext> {
    return { toPromise: () => this.#keepResponse(context) };
  }

  async #keepResponse(context: ResponseContext): Promise<ResponseContext> {
    const text = await context.body.text();
    const statusCode = context.httpStatusCode;
    // client-node would parse it, too.
    refuseDeepJSON(text, statusCode);
    if (isSuccess(statusCode)) this.response = { statusCode, text };
    // Unless the caller has middleware, the generated code would build a model that is never read.
    const isReadAgain = this.response === undefined || this.#options.configuration?.middleware.length !== 0;
    context.body = bodyOf(isReadAgain ? text : '{}');
    return context;
  }
}

function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}
