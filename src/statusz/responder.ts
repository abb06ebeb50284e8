import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Clock, Timer } from '../index.ts';

/** A client that has not taken its response after this time is cut off. */
const deadlineMs = 10_000;
/** More requests than this at the same time get 503. */
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

/** Sends responses with the security headers. What a slow client can occupy is bounded in time and number. */
export class Responder {
  readonly #clock: Clock;
  /** Each with its deadline. */
  readonly #open = new Map<ServerResponse, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False when too many responses are being sent: then this one is a 503. Call it first. */
  open(response: ServerResponse): boolean {
    for (const [name, value] of Object.entries(headersOfAll)) response.setHeader(name, value!);
    if (this.#open.size >= maxResponses) {
      response.setHeader('retry-after', '1');
      this.sendText(response, 503, 'Too many requests at the same time');
      return false;
    }
    const cutOff = (): void => {
      response.destroy();
      // A response whose connection was lost before it came here is not closed again.
      this.#closed(response);
    };
    this.#open.set(response, this.#clock.afterFunc(deadlineMs, cutOff));
    response.once('close', () => this.#closed(response));
    return true;
  }

  /** 304 when the client has it already. */
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

  /** Cuts off every client. */
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
