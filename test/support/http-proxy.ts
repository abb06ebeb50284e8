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

export interface HTTPProxyOptions {
  /** The URL of the server. */
  readonly target: string;
  /** PEM; undefined without TLS. */
  readonly ca?: string | undefined;
  /** In place of those of the client. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called with each request, which waits for it. */
  readonly prepare: (request: IncomingMessage) => Promise<Forwarding>;
}

/** How a request is passed on. */
export interface Forwarding {
  /** Default: what the client sends, while it sends it. */
  readonly body?: Buffer | undefined;
  /** True if it is passed on even if the client does not wait for the response. */
  readonly outlivesClient?: boolean | undefined;
  /** Called when the server responds; without a status, when the connection has ended before. */
  readonly onEnd?: ((status?: number) => void) | undefined;
}

/** An HTTP proxy on loopback, before one server. */
export class HTTPProxy {
  readonly #options: HTTPProxyOptions;
  readonly #server: Server;
  readonly #upstream: HTTPAgent | HTTPSAgent;
  #isDown = false;

  constructor(options: HTTPProxyOptions) {
    this.#options = options;
    const { ca } = options;
    this.#upstream = ca === undefined ? new HTTPAgent() : new HTTPSAgent({ keepAlive: true, ca });
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    // A connection that is closed just when it is used again would be a fault that nobody asks for.
    this.#server.keepAliveTimeout = 0;
    this.#server.requestTimeout = 0;
    this.#server.on('clientError', (_error, socket) => socket.destroy());
    this.#server.on('connection', (socket) => {
      socket.on('error', () => {});
      if (this.#isDown) socket.destroy();
    });
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** While it is true, connections are cut. */
  set isDown(isDown: boolean) {
    this.#isDown = isDown;
    if (isDown) this.#server.closeAllConnections();
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
    const { target, ca, headers: ownHeaders, prepare } = this.#options;
    const { body, outlivesClient = false, onEnd } = await prepare(request);
    const { method, url } = request;
    const { host: _, ...headers } = { ...request.headers, ...ownHeaders };
    const send = ca === undefined ? httpRequest : httpsRequest;
    const sent = send(`${target}${url}`, { method, headers, agent: this.#upstream }, (answer) => {
      onEnd?.(answer.statusCode);
      response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
      answer.on('error', () => response.destroy()).on('close', () => answer.complete || response.destroy());
      answer.pipe(response);
    });
    sent.on('error', () => response.destroy()).on('close', () => onEnd?.());
    if (!outlivesClient) response.on('close', () => sent.destroy());
    if (body === undefined) request.on('error', () => sent.destroy()).pipe(sent);
    else sent.end(body);
  }
}
