import { once } from 'node:events';
import {
  Agent as HTTPAgent,
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Agent as HTTPSAgent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request of a replica that is no GET. Times are milliseconds since 1970. */
export interface RecordedWrite {
  readonly replica: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly startMs: number;
  /** When the server had responded, or the connection had ended. */
  endMs: number | undefined;
  status: number | undefined;
}

export interface RecordingProxyOptions {
  readonly replica: string;
  /** The URL of the server. */
  readonly target: string;
  /** PEM; undefined without TLS. */
  readonly ca?: string | undefined;
  /** Where the writes are added, in order of their arrival. */
  readonly writes: RecordedWrite[];
}

/** Milliseconds since 1970, finer than those of `Date.now()`. */
function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}

/** An HTTP proxy on loopback, between one replica and a server. A write is passed on even if the replica does not wait for it. */
export class RecordingProxy {
  readonly #options: RecordingProxyOptions;
  readonly #server: Server;
  readonly #upstream: HTTPAgent | HTTPSAgent;

  static async start(options: RecordingProxyOptions): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(options);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  private constructor(options: RecordingProxyOptions) {
    this.#options = options;
    const { ca } = options;
    this.#upstream = ca === undefined ? new HTTPAgent() : new HTTPSAgent({ keepAlive: true, ca });
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    // A connection that is closed just when it is used again would be a fault that no run asks for.
    this.#server.keepAliveTimeout = 0;
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    this.#upstream.destroy();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {});
    if (request.method === 'GET') return this.#forward(request, response, undefined);
    const startMs = preciseNow();
    const body = await buffer(request);
    const { method = '', url = '', headers } = request;
    // A dry run, as of the check of permissions, writes nothing.
    if (url.includes('dryRun=All')) return this.#forward(request, response, undefined, body);
    const [path = ''] = url.split('?');
    const { replica, writes } = this.#options;
    const text = path.includes('/leases') ? body.toString() : '';
    const write = { replica, method, path, headers, body: text, startMs, endMs: undefined, status: undefined };
    writes.push(write);
    return this.#forward(request, response, write, body);
  }

  #forward(
    { method, url, headers }: IncomingMessage,
    response: ServerResponse,
    write: RecordedWrite | undefined,
    body?: Buffer,
  ): void {
    const { target, ca } = this.#options;
    const send = ca === undefined ? httpRequest : httpsRequest;
    const { host: _, ...rest } = headers;
    const sent = send(`${target}${url}`, { method, headers: rest, agent: this.#upstream }, (answer) => {
      if (write !== undefined) {
        write.endMs = preciseNow();
        write.status = answer.statusCode;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('error', () => response.destroy()).on('close', () => answer.complete || response.destroy());
      answer.pipe(response);
    });
    sent.on('error', () => response.destroy());
    sent.on('close', () => {
      if (write !== undefined) write.endMs ??= preciseNow();
    });
    if (write === undefined) response.on('close', () => sent.destroy());
    sent.end(body);
  }
}
