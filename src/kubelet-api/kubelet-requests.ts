import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ConnectionLimit } from '../shared/connection-limit.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';
import type { AccessControl } from './access-control.ts';
import { HTTPError } from './http-error.ts';
import { type KubeletAPIContext, type KubeletRequest, sendText } from './kubelet-api-context.ts';
import { kubeletRoutes } from './kubelet-handlers.ts';
import { refuseUpgrade } from './streaming-proxy.ts';
import { serveStreaming } from './streaming.ts';

export interface KubeletRequestsOptions {
  readonly accessControl: AccessControl;
  /** Connections of authorized requests in progress do not count. */
  readonly connections: ConnectionLimit;
  /** Aborted when the server is closed. */
  readonly closed: AbortSignal;
}

/** Serves requests of a server. Never rejects. */
export class KubeletRequests {
  readonly #routes: ReturnType<typeof kubeletRoutes>;
  readonly #context: KubeletAPIContext;
  readonly #server: KubeletRequestsOptions;
  readonly #logger: Logger;

  constructor(context: KubeletAPIContext, server: KubeletRequestsOptions) {
    this.#context = context;
    this.#routes = kubeletRoutes(context);
    this.#server = server;
    this.#logger = context.logger;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { root, ...parsed } = await this.#authorized(request, response);
      const route = Object.hasOwn(this.#routes, root) ? this.#routes[root] : undefined;
      if (route === undefined || parsed.segments.length > route.maxSegments)
        throw new HTTPError(404, '404: Page Not Found');
      if (!route.methods.includes(request.method ?? '')) {
        response.setHeader('allow', route.methods.join(', '));
        throw new HTTPError(405, 'Method Not Allowed');
      }
      await route.handle(parsed, response);
    } catch (error) {
      const { statusCode, message } = this.#failure(error, request);
      if (response.headersSent) response.destroy();
      else sendText(response, statusCode, message);
    }
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      const { root, ...parsed } = await this.#authorized(request, socket);
      await serveStreaming(this.#context, root, parsed, { request, socket, head });
    } catch (error) {
      const { statusCode, message } = this.#failure(error, request);
      refuseUpgrade(this.#context.clock, socket, { statusCode, message });
    }
  }

  async #authorized(
    request: IncomingMessage,
    client: Duplex | ServerResponse,
  ): Promise<KubeletRequest & { readonly root: string }> {
    // Not a URL object: it would resolve `..`, and only one form of the path may be checked and used.
    const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s);
    const decoded = decode(path);
    const { accessControl, connections, closed } = this.#server;
    connections.use(request.socket);
    await accessControl.check(request, decoded);
    if (client.destroyed) throw new HTTPError(400, 'The client has closed its connection');
    if (!connections.exempt(request.socket)) throw new HTTPError(429, 'Too many requests are in progress');
    client.once('close', () => connections.use(request.socket));
    const [root = '', ...segments] = path.slice(1).split('/');
    const aborted = new AbortController();
    const abort = (): void => aborted.abort();
    client.once('close', abort);
    closed.addEventListener('abort', abort, { once: true });
    client.once('close', () => closed.removeEventListener('abort', abort));
    return {
      ...{ request, root, query: new URLSearchParams(query), signal: aborted.signal },
      segments: (segments.at(-1) === '' ? segments.slice(0, -1) : segments).map(decode),
    };
  }

  #failure(error: unknown, { url, method }: IncomingMessage): { statusCode: number; message: string } {
    if (error instanceof HTTPError) return error;
    const [path] = (url ?? '').split('?');
    this.#logger.error({ reason: reasonOf(error), path, method }, 'A request to the kubelet API could not be served');
    return { statusCode: 500, message: 'The request could not be served' };
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new HTTPError(400, 'The path is not valid');
  }
}
