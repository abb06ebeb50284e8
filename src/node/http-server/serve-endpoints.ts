import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createStatusPage, type StatusPageManager } from '../../observe/statusz/create-status-page.ts';
import type { StatusPageOptions } from '../../observe/statusz/index.ts';
import type { ClockLike } from '../../shared/clock.ts';
import { ConnectionLimit } from '../../shared/connection-limit.ts';
import { isHostAllowed, resolveAllowedHosts } from '../../shared/host-check.ts';
import { limitReads } from '../../shared/limit-reads.ts';
import { listen, listenChecks } from '../../shared/listen.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { type OptionChecks, port as aPort, requireOptions, unchecked } from '../../shared/option-checks.ts';
import { resolveClock, resolveLogger } from '../../shared/ports.ts';
import { serveInTurn } from '../../shared/serve-in-turn.ts';
import { formatChecks, type HealthCheck, type MetricsSource } from './health-checks.ts';

/** Options of `serveAgent` and `serveVirtualNodes`. */
export interface ServeAgentOptions {
  /** Address to listen on. Default `127.0.0.1`. kubelet: `healthzBindAddress`. */
  readonly host?: string | undefined;
  /** Port to listen on; 0 means any free port. Default 10248. kubelet: `healthzPort`. */
  readonly port?: number | undefined;
  /** Registry to serve. Default: none, and `/metrics` does not exist. */
  readonly register?: MetricsSource | undefined;
  /** Options of `/statusz/`; false for no status page, as in a bundle without its files. */
  readonly statusPage?: Pick<StatusPageOptions, 'refreshIntervalMs' | 'timelineLength'> | false | undefined;
  /** Like the option of `createStatusPage`, for every path. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
}

/** A server that `serveAgent` or `serveVirtualNodes` has started. */
export interface AgentServer extends AsyncDisposable {
  /** `http://127.0.0.1:10248`, for example. */
  readonly url: string;
  /** Stops listening and closes the connections. */
  close(): Promise<void>;
}

/** What is served; each function is called for each request. */
export interface Endpoints {
  /** `/healthz` and `/livez` */
  readonly healthChecks: (nowMs: number) => readonly HealthCheck[];
  /** `/readyz` */
  readonly readinessChecks: (nowMs: number) => readonly HealthCheck[];
  readonly page: Pick<StatusPageOptions, 'nodeName'> & {
    readonly manager: StatusPageManager;
    readonly problems: (nowMs: number) => readonly string[];
  };
}

const checks: OptionChecks<ServeAgentOptions> = {
  ...listenChecks,
  allowedHosts: unchecked,
  clock: unchecked,
  logger: unchecked,
  register: aPort(['metrics']),
  statusPage: unchecked,
};

/** The connection of a client that neither sends nor reads is closed after this time. */
const idleTimeoutMs = 30_000;
/** When there are more, the one that was used least recently is closed, so that probes are served. */
const maxConnections = 64;

/** Resolves when the server listens. @throws StatusManagerError INVALID_OPTION; INVALID_STATE */
export async function serveEndpoints(
  { healthChecks, readinessChecks, page: shown }: Endpoints,
  options: ServeAgentOptions,
): Promise<AgentServer> {
  requireOptions(options, checks);
  const { host = '127.0.0.1', port = 10248, register, statusPage = {} } = options;
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const allowedHosts = resolveAllowedHosts(options.allowedHosts);
  const page =
    statusPage === false
      ? undefined
      : createStatusPage(shown.manager, {
          ...statusPage,
          ...{ nodeName: shown.nodeName, allowedHosts: options.allowedHosts, clock, logger },
          problems: () => shown.problems(clock.now()),
        });

  const metrics = limitReads(clock, async () => (await register?.metrics()) ?? '');

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    if (page !== undefined && /^\/statusz(\/|$)/.test(path)) return page(request, response);
    if (!isHostAllowed(request, allowedHosts)) return send(response, 403, 'This host name is not allowed\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return send(response, 405, 'Only GET and HEAD are allowed\n');
    }
    const sendChecks = (checks: readonly HealthCheck[]): void => {
      const { status, text } = formatChecks(path.slice(1), checks, new URLSearchParams(query).has('verbose'));
      send(response, status, text);
    };
    if (path === '/healthz' || path === '/livez') return sendChecks(healthChecks(clock.now()));
    if (path === '/readyz') return sendChecks(readinessChecks(clock.now()));
    if (path === '/metrics' && register !== undefined)
      return send(response, 200, await metrics(), register.contentType);
    return send(response, 404, `Not found. There are: ${paths.join(', ')}\n`);
  }
  const paths = ['/healthz', '/livez', '/readyz', ...(register ? ['/metrics'] : []), ...(page ? ['/statusz/'] : [])];

  const server = createServer();
  serveInTurn(server, (request, response) => {
    connections.use(request.socket);
    respond(request, response).catch((thrown: unknown) => {
      logger.error({ reason: reasonOf(thrown), path: request.url }, 'Failed to serve a request');
      if (!response.headersSent) send(response, 500, 'Internal Server Error\n');
    });
  });
  const connections = new ConnectionLimit(server, { maxConnections, clock, logger });
  server.timeout = idleTimeoutMs;
  const { address } = await listen(server, { host, port }).catch((error: unknown) => {
    page?.close();
    throw error;
  });
  const url = `http://${address}`;
  logger.info({ url, paths }, 'Serving health, metrics and the status page');
  const close = (): Promise<void> => {
    page?.close();
    return connections.closeServer();
  };
  return { url, close, [Symbol.asyncDispose]: close };
}

function send(response: ServerResponse, status: number, text: string, contentType = 'text/plain; charset=utf-8'): void {
  response
    .writeHead(status, {
      'content-type': contentType,
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    .end(text);
}
