import { APIStatusError } from '../api-status.ts';
import type { ServerRequest, ServerResponse } from '../http/exchange.ts';
import { type AbortSignalLike, LightAbortController } from '../../shared/abort.ts';
import { expiredFault, type Fault, type FaultOf } from './fault.ts';
import { type FaultRequest, requestOf, type RunningRequest } from './fault-match.ts';

/** One request and its response, on which faults act. */
export class HTTPExchange implements RunningRequest {
  /** The attributes of the request that faults match. */
  readonly about: FaultRequest;
  /** Aborted when the response is complete, or the connection has gone. */
  readonly closed: AbortSignalLike;
  readonly #closing = new LightAbortController();
  readonly #request: ServerRequest;
  readonly #response: ServerResponse;

  constructor(request: ServerRequest, response: ServerResponse) {
    this.about = requestOf(request.method ?? '', request.url ?? '/');
    this.#request = request;
    this.#response = response;
    this.closed = this.#closing.signal;
    response.once('close', () => this.abandon());
  }

  /** Aborts everything that waits for this request, without waiting for the connection to close. */
  abandon(): void {
    this.#closing.abort('closed');
  }

  apply(fault: Fault): void {
    const isWatch = this.about.verb === 'watch' && this.#response.headersSent;
    if (fault.kind === 'cut' && (fault.afterBytes === undefined || fault.afterBytes === 0)) return this.cut();
    if (!isWatch) throw new RangeError('A request in flight that is not a watch can only be cut, without `afterBytes`');
    switch (fault.kind) {
      case 'cut':
        return this.cutAfter(fault.afterBytes!);
      case 'hang':
        return this.silence();
      case 'end':
        return this.end();
      case 'expire':
        return this.end(errorEvent());
      default:
        throw new RangeError(`A watch in flight can be cut, hang, end or expire, but not fault.${fault.kind}()`);
    }
  }

  /** Responds without processing the request. The rest of its body is read and discarded. */
  respond(fault: FaultOf<'status' | 'body' | 'expire' | 'end'>): void {
    const { type, code, text, headers } = responseOf(fault, this.about.verb === 'watch');
    const length = Buffer.byteLength(text);
    this.#response.writeHead(code, { 'content-type': type, 'content-length': length, ...headers });
    this.#response.end(text);
    this.#request.resume();
  }

  /** Sends nothing more; the connection stays open. */
  silence(): void {
    this.#request.resume();
    this.#intercept({ write() {}, end() {} });
  }

  /** Marks the record of the request: its response was prepared but never sent. */
  markWithoutResponse(): void {
    this.#response.statusCode = 0;
  }

  /** Ends the response normally; later writes are discarded. */
  end(last = ''): void {
    const { end } = this.#intercept({ write() {}, end() {} });
    end(last);
  }

  cut(): void {
    this.#response.destroy();
  }

  /**
   * Cuts the connection after this many more bytes of the body; with 0, before the first byte. A
   * shorter response arrives complete.
   */
  cutAfter(bytes: number): void {
    let left = bytes;
    const cut = (): void => {
      if (bytes === 0) this.markWithoutResponse();
      this.cut();
    };
    const { write, end } = this.#intercept({
      write(chunk) {
        if (left === 0) return cut();
        const part = chunk.subarray(0, left);
        left -= part.length;
        // Called when the chunk has been passed to the operating system.
        if (left > 0) write(part);
        else write(part, cut);
        return undefined;
      },
      end() {
        if (left > 0) end();
        else if (bytes === 0) cut();
      },
    });
  }

  /** Redirects the server's writes to `instead`. @returns the original writer of the connection */
  #intercept(instead: Writes): { write: (chunk: Buffer, onSent?: () => void) => void; end: (last?: string) => void } {
    const response = this.#response;
    const write = response.write.bind(response) as (chunk: Buffer, onSent?: () => void) => void;
    const end = response.end.bind(response);
    const take = (chunk: unknown): void => {
      if (typeof chunk === 'string') instead.write(Buffer.from(chunk));
      else if (chunk instanceof Uint8Array) instead.write(Buffer.from(chunk));
    };
    Object.assign(response, {
      // The client must not receive the response head either.
      flushHeaders() {},
      write(chunk: unknown) {
        take(chunk);
        return true;
      },
      end(chunk: unknown) {
        take(chunk);
        instead.end();
        return response;
      },
    });
    return { write, end };
  }
}

/** Receives the server's writes instead of the connection. */
interface Writes {
  write(chunk: Buffer): void;
  end(): void;
}

interface RawResponse {
  readonly code: number;
  readonly type: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

function responseOf(fault: FaultOf<'status' | 'body' | 'expire' | 'end'>, isWatch: boolean): RawResponse {
  const type = 'application/json';
  switch (fault.kind) {
    case 'body':
      return { code: 200, type: 'text/html', text: fault.text, headers: {} };
    case 'end':
      return { code: 200, type, text: '', headers: {} };
    case 'expire':
      if (isWatch) return { code: 200, type, text: errorEvent(), headers: {} };
      return { code: 410, type, text: `${JSON.stringify(expiredFault.body())}\n`, headers: {} };
    case 'status': {
      const { code, reason, message, causes, retryAfterMs } = fault;
      const retryAfterSeconds = retryAfterMs === undefined ? undefined : retryAfterMs / 1000;
      const details = {
        ...(causes.length > 0 && { causes }),
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      };
      const text = `${JSON.stringify(new APIStatusError(code, reason, message, details).body())}\n`;
      const headers = retryAfterSeconds === undefined ? undefined : { 'retry-after': String(retryAfterSeconds) };
      return { code, type, text, headers: headers ?? {} };
    }
  }
  return fault satisfies never;
}

function errorEvent(): string {
  return `${JSON.stringify({ type: 'ERROR', object: expiredFault.body() })}\n`;
}
