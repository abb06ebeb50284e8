import type { PatchType } from './pod-client.ts';
import type { ConnectionContext, SharedConnection, SharedConnections } from './shared-connections.ts';

/** What is used of client-node's `RequestContext`. */
interface RequestContext extends ConnectionContext {
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

/** A 2xx answer as it came over the wire. */
interface RawAnswer {
  readonly statusCode: number;
  readonly text: string;
}

interface RawAnswerMiddlewareOptions {
  readonly signal: AbortSignal;
  readonly connections: SharedConnections;
  /** Content type of a PATCH; client-node would take JSON patch for any. */
  readonly patchType?: PatchType | undefined;
}

/**
 * client-node middleware for one call. Before: content type, abort signal, shared connection.
 * After: keeps the answer's text, because the generated models drop what they do not know and turn
 * times into `Date`s. Works with 1.4 and 2.x without importing either.
 */
export class RawAnswerMiddleware {
  /** The second argument of a generated API method. */
  readonly callOptions: object;
  readonly #options: RawAnswerMiddlewareOptions;
  #connection: SharedConnection | undefined;
  #answer: RawAnswer | undefined;

  constructor(options: RawAnswerMiddlewareOptions) {
    this.#options = options;
    // Last before sending, first after: what the caller configured neither undoes nor alters it.
    this.callOptions = { middleware: [this], middlewareMergeStrategy: 'append' };
  }

  /** The shared connection that the request went through, once it was sent. */
  get connection(): SharedConnection | undefined {
    return this.#connection;
  }

  /** The answer, if it came whole and is a 2xx; absent too when a mock never ran the middleware. */
  get answer(): RawAnswer | undefined {
    return this.#answer;
  }

  pre(context: RequestContext): Observable<RequestContext> {
    const { signal, connections, patchType } = this.#options;
    if (patchType !== undefined) context.setHeaderParam('Content-Type', patchType);
    context.setSignal(signal);
    this.#connection = connections.use(context);
    return { toPromise: () => Promise.resolve(context) };
  }

  post(context: ResponseContext): Observable<ResponseContext> {
    return { toPromise: () => this.#keepAnswer(context) };
  }

  async #keepAnswer(context: ResponseContext): Promise<ResponseContext> {
    const text = await context.body.text();
    const statusCode = context.httpStatusCode;
    if (statusCode >= 200 && statusCode < 300) this.#answer = { statusCode, text };
    // A body can be read only once.
    context.body = {
      text: () => Promise.resolve(text),
      binary: () => Promise.resolve(Buffer.from(text)),
      stream: () => new Blob([text]).stream(),
    };
    return context;
  }
}
