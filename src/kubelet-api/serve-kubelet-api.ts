import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import type { NodeAgent } from '../agent/node-agent/node-agent.ts';
import { StatusManagerError } from '../shared/errors.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';
import { requirePort, resolveClock, resolveLogger } from '../shared/ports.ts';
import { AccessControl } from './access-control.ts';
import { HTTPError } from './http-error.ts';
import type { KubeletAPIContext, KubeletRequest } from './kubelet-api-context.ts';
import { type KubeletAPIOptions, requireKubeletAPIOptions } from './kubelet-api-options.ts';
import { kubeletRoutes } from './kubelet-handlers.ts';
import { readCertificate, selfSignedCertificate } from './serving-certificate.ts';
import { proxyUpgrade, refuseUpgrade } from './streaming-proxy.ts';
import { streamingURL } from './streaming.ts';
import { sendText } from './kubelet-api-context.ts';

/** A server that `serveKubeletAPI` has started. */
export interface KubeletAPIServer extends AsyncDisposable {
  /** `https://0.0.0.0:10250`, for example. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and closes the connections, those of `kubectl exec` too. */
  close(): Promise<void>;
}

/**
 * Serves the kubelet's API for `kubectl logs`, `exec`, `attach`, `port-forward` and `cp`, over TLS. The API server
 * calls it with its kubelet client certificate (`authentication.clientCAFile`) or a token. By default, the API server
 * decides about each request, by TokenReview and SubjectAccessReview: everything else is refused.
 *
 * Call it before `start()` of the agent: the Node then shows the port. Rejects if the address cannot be listened on, or a
 * file cannot be read. Source: kubelet `ListenAndServeKubeletServer`.
 * @throws StatusManagerError INVALID_OPTION, INVALID_STATE
 *
 * @example
 * ```ts
 * import { createNodeAgent } from 'kubelet-status-manager/agent';
 * import { serveKubeletAPI } from 'kubelet-status-manager/kubelet-api';
 *
 * const agent = createNodeAgent({ nodeName: 'node-a', client, runtime });
 * const server = await serveKubeletAPI(agent, {
 *   runtime,
 *   authentication: { clientCAFile: '/etc/kubernetes/pki/ca.crt' },
 * });
 * agent.start();
 * process.once('SIGTERM', async () => {
 *   await server.close();
 *   await agent.stop({ drain: true });
 * });
 * ```
 */
export async function serveKubeletAPI(agent: NodeAgent, options: KubeletAPIOptions): Promise<KubeletAPIServer> {
  requirePort('agent', agent, ['inspect', 'getPods']);
  requireKubeletAPIOptions(options, agent.apiRequests !== undefined);
  const { host = '0.0.0.0', port = 10_250, runtime, authentication = {}, authorization = {} } = options;
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const closed = new AbortController();
  setMaxListeners(0, closed.signal);
  const accessControl = new AccessControl({
    ...{ nodeName: agent.nodeName, requests: agent.apiRequests, authentication, authorization },
    ...{ clock, logger, signal: closed.signal },
  });
  const requests = new KubeletRequests({ agent, runtime, options, clock, logger }, accessControl, closed.signal);
  const { clientCAFile } = authentication;
  const server = createServer({
    ...(await servingCertificate(agent.nodeName, options, clock.now())),
    minVersion: 'TLSv1.2',
    ...(clientCAFile !== undefined && {
      ca: await readFile(clientCAFile),
      requestCert: true,
      // A client without a certificate may have a token.
      rejectUnauthorized: false,
    }),
  });
  const sockets = new Set<Duplex>();
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => void requests.serve(request, response));
  server.on('upgrade', (request, socket, head) => void requests.upgrade(request, socket, head));
  // Log files of containers that write nothing are followed for hours.
  server.requestTimeout = requestTimeoutMs;
  server.keepAliveTimeout = idleTimeoutMs;
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  agent.setKubeletEndpoint(address.port);
  const url = `https://${isIPv6(address.address) ? `[${address.address}]` : address.address}:${address.port}`;
  logger.info({ url }, 'Serving the kubelet API');
  const close = async (): Promise<void> => {
    closed.abort();
    const ended = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await ended;
  };
  return { url, port: address.port, close, [Symbol.asyncDispose]: close };
}

/** How long a client may take for a request. */
const requestTimeoutMs = 60_000;
/** kubelet: `IdleTimeout` */
const idleTimeoutMs = 90_000;

/** Serves requests of a server. Never rejects. */
class KubeletRequests {
  readonly #routes: ReturnType<typeof kubeletRoutes>;
  readonly #context: KubeletAPIContext;
  readonly #accessControl: AccessControl;
  readonly #logger: Logger;
  readonly #closed: AbortSignal;

  constructor(context: KubeletAPIContext, accessControl: AccessControl, closed: AbortSignal) {
    this.#context = context;
    this.#routes = kubeletRoutes(context);
    this.#accessControl = accessControl;
    this.#logger = context.logger;
    this.#closed = closed;
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
      const url = await streamingURL(this.#context, root, parsed);
      await proxyUpgrade(url, { request, socket, head });
    } catch (error) {
      const { statusCode, message } = this.#failure(error, request);
      refuseUpgrade(socket, statusCode, message);
    }
  }

  async #authorized(
    request: IncomingMessage,
    client: Duplex | ServerResponse,
  ): Promise<KubeletRequest & { readonly root: string }> {
    // Not a URL object: it would resolve `..`, and only one form of the path may be checked and used.
    const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s);
    const decoded = decode(path);
    await this.#accessControl.check(request, decoded);
    const [root = '', ...segments] = path.slice(1).split('/');
    const aborted = new AbortController();
    const abort = (): void => aborted.abort();
    client.once('close', abort);
    this.#closed.addEventListener('abort', abort, { once: true });
    client.once('close', () => this.#closed.removeEventListener('abort', abort));
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

async function servingCertificate(
  nodeName: string,
  { tlsCertFile, tlsPrivateKeyFile, certDirectory = '/var/lib/kubelet/pki' }: KubeletAPIOptions,
  nowMs: number,
): Promise<{ readonly cert: string; readonly key: string }> {
  return tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined
    ? readCertificate(tlsCertFile, tlsPrivateKeyFile)
    : selfSignedCertificate(certDirectory, [nodeName], nowMs);
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: Error): void =>
      reject(new StatusManagerError('INVALID_STATE', `Cannot listen on ${host}:${port}: ${cause.message}`, { cause }));
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      resolve();
    });
  });
}
