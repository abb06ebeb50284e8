import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { buildConnector, Pool, ProxyAgent } from 'undici';
import type { TlsMaterial } from './credentials.ts';

/** Below the 60 s after which common load balancers forget an idle connection; kube-apiserver keeps it for 90 s. */
const KEEP_ALIVE_MS = 45_000;
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
  /** Longest silence within a body; 0: no limit. */
  readonly bodyTimeoutMs: number;
  /**
   * Sockets that are being connected directly, of which undici's `destroy` knows nothing. Not a
   * signal among the options of a socket: Node keeps its listener until the signal is aborted.
   */
  readonly connecting: Set<Duplex>;
}

/** A set of keep-alive HTTP/1.1 connections to one API server, directly or through a proxy. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { origin, proxy, tls, tlsServerName, skipTLSVerify, connectTimeoutMs, headersTimeoutMs } = options;
  const secure = {
    timeout: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
    // Left alone otherwise: Node's own default counts.
    ...(skipTLSVerify ? { rejectUnauthorized: false } : {}),
  };
  const pool = {
    connections: options.connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    headersTimeout: headersTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
  };
  if (proxy === undefined) return new Pool(origin, { ...pool, connect: connector(secure, options.connecting) });
  return new ProxyAgent({
    ...pool,
    uri: proxy.href,
    requestTls: secure,
    // undici would speak TLS to a SOCKS proxy for which these are set.
    ...(proxy.protocol === 'socks5:' ? {} : { proxyTls: { timeout: connectTimeoutMs } }),
    clientFactory: (url: URL, clientOptions: object) =>
      new Pool(url, { ...clientOptions, headersTimeout: connectTimeoutMs }),
  });
}

/** undici's own, with what it connects in `connecting` for as long as it does. */
function connector(options: buildConnector.BuildOptions, connecting: Set<Duplex>): buildConnector.connector {
  // It returns the socket, though its type does not say so.
  const connect = buildConnector(options) as (...args: Parameters<buildConnector.connector>) => Duplex;
  return (target, callback) => {
    const socket = connect(target, (...result) => {
      connecting.delete(socket);
      callback(...result);
    });
    connecting.add(socket);
  };
}
