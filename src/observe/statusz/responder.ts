import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../shared/clock.ts';

/** A connection is closed if the client has not read its response after this time. */
const deadlineMs = 10_000;
/** Maximum number of responses in flight; further requests get 503. */
const maxResponses = 32;

const headersOfAll: OutgoingHttpHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

export interface Content {
  readonly type: string;
  readonly body: Buffer;
  readonly etag: string;
  readonly encoding?: string | undefined;
}

/** Sends responses with the security headers. Slow clients are limited in number and by a deadline. */
export class Responder {
  readonly #clock: Clock;
  /** Responses in flight, with their deadlines. */
  readonly #open = new Map<ServerResponse, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns false, and sends a 503, if too many responses are in flight. Call it first. */
  open(response: ServerResponse): boolean {
    for (const [name, value] of Object.entries(headersOfAll)) response.setHeader(name, value!);
    if (this.#open.size >= maxResponses) {
      response.setHeader('retry-after', '1');
      this.sendText(response, 503, 'Too many requests at the same time');
      return false;
    }
    const cutOff = (): void => {
      response.destroy();
      // If the connection was lost before this call, there is no further close event.
      this.#closed(response);
    };
    this.#open.set(response, this.#clock.afterFunc(deadlineMs, cutOff));
    response.once('close', () => this.#closed(response));
    return true;
  }

  /** Sends 304 if the client already has the content. */
  send(request: IncomingMessage, response: ServerResponse, { type, body, etag, encoding }: Content): void {
    response.setHeader('etag', etag);
    if (etagsOf(request).includes(etag)) {
      response.writeHead(304).end();
      return;
    }
    if (encoding !== undefined) response.setHeader('content-encoding', encoding);
    response.writeHead(200, { 'content-type': type, 'content-length': body.byteLength }).end(body);
  }

  sendText(response: ServerResponse, status: number, text: string): void {
    const body = Buffer.from(`${text}\n`);
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'content-length': body.byteLength });
    response.end(body);
  }

  redirect(response: ServerResponse, location: string): void {
    response.setHeader('location', location);
    this.sendText(response, 308, `See ${location}`);
  }

  /** Closes all connections. */
  close(): void {
    for (const response of this.#open.keys()) response.destroy();
  }

  #closed(response: ServerResponse): void {
    this.#open.get(response)?.stop();
    this.#open.delete(response);
  }
}

function etagsOf(request: IncomingMessage): string[] {
  return (request.headers['if-none-match'] ?? '').split(',').map((etag) => etag.trim());
}
