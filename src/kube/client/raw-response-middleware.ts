import type { RequestFacts } from './api-error.ts';
import type { PatchType, RequestOptions } from './pod-client.ts';
import { secretsOf } from './redact.ts';
import { isSuccess, refuseDeepJSON } from './response-body.ts';

/** The subset of `Observable` that client-node requires. */
interface Observable<Value> {
  toPromise(): Promise<Value>;
}

/** The subset of client-node's `RequestContext` that is used. */
interface RequestContext {
  setHeaderParam(name: string, value: string): void;
  setSignal(signal: AbortSignal): void;
  getUrl?(): string;
  getHeaders?(): Readonly<Record<string, string>>;
}

/** The subset of client-node's `ResponseContext` that is used. */
interface ResponseContext {
  readonly httpStatusCode: number;
  body: { text(): Promise<string>; binary(): Promise<Buffer>; stream?(): unknown };
}

/** A 2xx response as it was sent by the server. */
interface RawResponse {
  readonly statusCode: number;
  readonly text: string;
}

/**
 * client-node middleware for one call of a generated method, 1.4 or 2.x. Before: the content type of a PATCH, for which
 * client-node would take JSON patch, and the abort signal. After: keeps the text of the response, because the generated
 * models drop unknown fields and turn times into `Date`s.
 */
export class RawResponseMiddleware {
  /** The second argument of a generated API method. */
  readonly callOptions: object;
  /** The response, if it was read completely and is a 2xx; also absent when a mock did not run the middleware. */
  response: RawResponse | undefined;
  readonly #options: RequestOptions;
  readonly #patchType: PatchType | undefined;
  #request: RequestContext | undefined;

  constructor(options: RequestOptions, patchType: PatchType | undefined) {
    this.#options = options;
    this.#patchType = patchType;
    // Runs last before the request and first after it, so the caller's middleware cannot change it.
    // Not enumerable, so a mock that records or serializes its arguments does not see internal objects.
    this.callOptions = Object.defineProperties(
      {},
      { middleware: { value: [this] }, middlewareMergeStrategy: { value: 'append' } },
    );
  }

  /** For the description of a failure. */
  get facts(): RequestFacts {
    const headers = this.#request?.getHeaders?.();
    const url = this.#request?.getUrl?.();
    return {
      host: url !== undefined && URL.canParse(url) ? new URL(url).host : undefined,
      secrets: secretsOf(headers?.['Authorization'] ?? headers?.['authorization']),
    };
  }

  pre(context: RequestContext): Observable<RequestContext> {
    if (this.#patchType !== undefined) context.setHeaderParam('Content-Type', this.#patchType);
    context.setSignal(this.#options.signal);
    this.#request = context;
    return { toPromise: () => Promise.resolve(context) };
  }

  post(context: ResponseContext): Observable<ResponseContext> {
    return { toPromise: () => this.#keepResponse(context) };
  }

  async #keepResponse(context: ResponseContext): Promise<ResponseContext> {
    const text = await context.body.text();
    const statusCode = context.httpStatusCode;
    // client-node parses the text after this.
    refuseDeepJSON(text, statusCode);
    if (isSuccess(statusCode)) this.response = { statusCode, text };
    // The caller's middleware may read it again.
    context.body = {
      text: () => Promise.resolve(text),
      binary: () => Promise.resolve(Buffer.from(text)),
      stream: () => new Blob([text]).stream(),
    };
    return context;
  }
}
