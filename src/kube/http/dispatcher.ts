import type { Socket } from 'node:net';
import { type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici/index.js';
import {
  type Connecting,
  connectionError,
  connectorFrom,
  failingConnector,
  trackedConnector,
  trackedSockets,
  socksConnector,
} from './connector.ts';
import type { TlsMaterial } from './credentials.ts';

/** Below the 60 s after which common load balancers forget an idle connection; kube-apiserver keeps it for 90 s. */
export const KEEP_ALIVE_MS = 45_000;
const TCP_KEEP_ALIVE_MS = 30_000;

export interface DispatcherOptions {
  readonly origin: string;
  readonly proxy: URL | undefined;
  readonly tls: TlsMaterial;
  readonly tlsServerName: string | undefined;
  readonly skipTLSVerify: boolean;
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  /** Maximum time without data while a body is read; 0: no limit. */
  readonly bodyTimeoutMs: number;
}

/** A set of connections that `destroy()` ends completely. */
export interface DestroyableDispatcher {
  readonly dispatcher: Dispatcher;
  /** Aborts the requests in flight and the connection attempts, which undici's `destroy` does not track. */
  destroy(): Promise<void>;
}

/** @param connected a socket to use for the first connection */
export function createDispatcher(options: DispatcherOptions, connected?: Socket): DestroyableDispatcher {
  // Does not use the socket's `signal` option: Node keeps its listener until the signal is aborted.
  const connecting: Connecting = new Set();
  const dispatcher = connectedBy(options, connecting, connected);
  return {
    dispatcher,
    async destroy() {
      const destroyed = dispatcher.destroy();
      // With an error, so that TLS over a connection to a proxy fails, too.
      const error = connectionError('ERR_CONNECTION_GIVEN_UP', 'the connection has been given up');
      for (const connection of connecting) connection.destroy(error);
      await destroyed;
    },
  };
}

/** Connects directly, and lets the server choose HTTP/2 or HTTP/1.1. */
export function http2Connector(options: DispatcherOptions, connecting: Connecting): buildConnector.connector {
  return trackedConnector({ ...socketOptions(options).secure, allowH2: true }, connecting);
}

function socketOptions({ tls, tlsServerName, skipTLSVerify, connectTimeoutMs }: DispatcherOptions): {
  readonly plain: buildConnector.BuildOptions;
  readonly secure: buildConnector.BuildOptions;
} {
  const plain = { timeout: connectTimeoutMs, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
  const secure = {
    ...plain,
    ...tls,
    servername: tlsServerName,
    // Otherwise not set, so that Node's own default applies.
    ...(skipTLSVerify && { rejectUnauthorized: false }),
  } as buildConnector.BuildOptions;
  return { plain, secure };
}

/** A set of keep-alive HTTP/1.1 connections to one API server, directly or through a proxy. */
function connectedBy(options: DispatcherOptions, connecting: Connecting, connected: Socket | undefined): Dispatcher {
  const { origin, proxy, connectTimeoutMs } = options;
  const { plain, secure } = socketOptions(options);
  const pool = {
    connections: options.connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
  };
  const connect = trackedConnector(secure, connecting);
  if (proxy === undefined) return new Pool(origin, { ...pool, connect: connectorFrom(connected, connect) });
  if (proxy.protocol === 'socks5:') {
    const toProxy = trackedConnector(plain, connecting);
    const throughProxy = socksConnector({ proxy, toProxy, startTls: connect, timeoutMs: connectTimeoutMs, connecting });
    return new Pool(origin, { ...pool, connect: throughProxy });
  }
  return new ProxyAgent({
    ...pool,
    uri: proxy.href,
    requestTls: secure,
    proxyTls: { timeout: connectTimeoutMs },
    // The connections to the proxy, for CONNECT.
    clientFactory: (url: URL, clientOptions: { connect: buildConnector.connector }) =>
      new Pool(url, {
        ...clientOptions,
        headersTimeout: connectTimeoutMs,
        connect: namedByHost(trackedSockets(clientOptions.connect, connecting)),
      }),
    // The connections to the API server, each tunnelled through the proxy.
    factory: (tunnelOrigin: URL, tunnelOptions: object) => {
      const { connect: openTunnel } = tunnelOptions as { connect: buildConnector.connector };
      return new Pool(tunnelOrigin, { ...tunnelOptions, connect: failingConnector(openTunnel) });
    },
  });
}

/** undici passes a proxy's IP address as server name, and Node 26 rejects it. Without a server name, TLS verifies the host. */
function namedByHost(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) => {
    const { servername: _servername, ...unnamed } = target;
    connect(unnamed, callback);
  };
}
