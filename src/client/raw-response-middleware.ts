import type { RequestFacts } from './api-error.ts';
import { isNestedTooDeeply, nestedTooDeeply } from './json-depth.ts';
import type { PatchType } from './pod-client.ts';
import { secretsOf } from './redact.ts';
import type { ConnectionContext, SharedConnection, SharedConnections } from './shared-connections.ts';

/** What is used of client-node's `RequestContext`. */
interface RequestContext extends ConnectionContext {
  getHeaders?(): Readonly<Record<string, string>>;
  getUrl?(): string;
  setHeaderParam(name: string, value: string): void;
  setSignal(signal: AbortSignal): void;
}

interface ResponseBody {
  text(): Promise<string>;
  binary(): Promise<Buffer>;
  stream?(): unknown;
}

/** What is used of client-node's `ResponseContext`. */
interface ResponseContext {
  readonly httpStatusCode: number;
  body: ResponseBody;
}

/** All that client-node ever asks of an `Observable`. */
interface Observable<Value> {
  toPromise(): Promise<Value>;
}

/** A 2xx response as it was sent by the server. */
interface RawResponse {
  readonly statusCode: number;
  readonly text: string;
}

interface RawResponseMiddlewareOptions {
  readonly signal: AbortSignal;
  readonly connections: SharedConnections;
  /** Content type of a PATCH; client-node would take JSON patch for any. */
  readonly patchType?: PatchType | undefined;
}

/**
 * client-node middleware for one call. Before: content type, abort signal, shared connection.
 * After: keeps the text of the response, because the generated models drop unknown members and turn
 * times into `Date`s. Works with 1.4 and 2.x without importing either.
 */
export class RawResponseMiddleware {
  /** The second argument of a generated API method. */
  readonly callOptions: object;
  readonly #options: RawResponseMiddlewareOptions;
  #connection: SharedConnection | undefined;
  #facts: RequestFacts = {};
  #response: RawResponse | undefined;

  constructor(options: RawResponseMiddlewareOptions) {
    this.#options = options;
    // Last before sending, first after: what the caller configured neither undoes nor alters it.
    // Not enumerable: a mock that records its arguments, or writes them as JSON, does not see our own objects.
    this.callOptions = Object.defineProperties(
      {},
      { middleware: { value: [this] }, middlewareMergeStrategy: { value: 'append' } },
    );
  }

  /** The shared connection that the request went through, once it was sent. */
  get connection(): SharedConnection | undefined {
    return this.#connection;
  }

  /** For the description of a failure. */
  get facts(): RequestFacts {
    return this.#facts;
  }

  /** The response, if it was read completely and is a 2xx; also absent when a mock did not run the middleware. */
  get response(): RawResponse | undefined {
    return this.#response;
  }

  pre(context: RequestContext): Observable<RequestContext> {
    const { signal, connections, patchType } = this.#options;
    if (patchType !== undefined) context.setHeaderParam('Content-Type', patchType);
    context.setSignal(signal);
    this.#connection = connections.use(context);
    const headers = context.getHeaders?.();
    this.#facts = {
      host: hostOf(context.getUrl?.()),
      secrets: secretsOf(headers?.['Authorization'] ?? headers?.['authorization']),
    };
    return { toPromise: () => Promise.resolve(context) };
  }

  post(context: ResponseContext): Observable<ResponseContext> {
    return { toPromise: () => this.#keepResponse(context) };
  }

  async #keepResponse(context: ResponseContext): Promise<ResponseContext> {
    const text = await context.body.text();
    const statusCode = context.httpStatusCode;
    // client-node would parse it, too.
    if (isNestedTooDeeply(text)) throw nestedTooDeeply(statusCode);
    if (statusCode >= 200 && statusCode < 300) this.#response = { statusCode, text };
    // A body can be read only once.
    context.body = {
      text: () => Promise.resolve(text),
      binary: () => Promise.resolve(Buffer.from(text)),
      stream: () => new Blob([text]).stream(),
    };
    return context;
  }
}

function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}
