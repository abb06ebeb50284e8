import { EventEmitter } from 'node:events';
import type { ServerRequest, ServerResponse } from '../../src/api-server/http/exchange.ts';

/** A request that comes on no connection. */
export class DirectRequest extends EventEmitter implements ServerRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly complete = true;
  readonly socket = { destroy() {}, once() {} };
  bodyText?: string;

  constructor(method: string, url: string, headers: Record<string, string>, body: string | undefined) {
    super();
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.once('newListener', () =>
      process.nextTick(() => {
        if (body !== undefined) this.emit('data', Buffer.from(body));
        this.emit('end');
      }),
    );
  }

  resume(): void {}
}

interface ResponseHandlers {
  readonly onHead: (statusCode: number) => void;
  readonly onChunk: (text: string) => void;
  readonly onEnd: (
    isCut: boolean,
    head: { readonly statusCode: number; readonly headers: Record<string, string> },
  ) => void;
}

/** A response that goes to handlers. */
export class DirectResponse extends EventEmitter implements ServerResponse {
  statusCode = 200;
  headersSent = false;
  readonly writableLength = 0;
  readonly headers: Record<string, string> = {};
  readonly #handlers: ResponseHandlers;
  #isOver = false;

  constructor(handlers: ResponseHandlers) {
    super();
    this.#handlers = handlers;
  }

  setHeader(name: string, value: string): void {
    this.headers[name.toLowerCase()] = value;
  }

  appendHeader(name: string, value: string): void {
    this.setHeader(name, value);
  }

  writeHead(statusCode: number, headers: Readonly<Record<string, string | number>>): void {
    this.statusCode = statusCode;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, String(value));
    this.headersSent = true;
  }

  flushHeaders(): void {
    this.#handlers.onHead(this.statusCode);
  }

  write(chunk: string | Uint8Array): boolean {
    if (!this.#isOver) this.#handlers.onChunk(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    return true;
  }

  end(chunk = ''): void {
    if (this.#isOver) return;
    if (chunk !== '') this.write(chunk);
    this.#over(false);
  }

  destroy(): void {
    if (!this.#isOver) this.#over(true);
  }

  #over(isCut: boolean): void {
    this.#isOver = true;
    this.headersSent = true;
    this.#handlers.onEnd(isCut, this);
    this.emit('close');
  }
}

/** An error of a connection. */
export function connectionError(code: string): Error {
  return Object.assign(new Error(`${code} (simulated)`), { code });
}
