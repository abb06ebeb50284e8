import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { callbackify, promisify } from 'node:util';
import type { Dispatcher } from 'undici';
import { buildConnector, Pool, ProxyAgent, Socks5ProxyAgent } from 'undici';
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
   * Sockets that are being connected, other than through an HTTP proxy, of which undici's `destroy`
   * knows nothing. Not a signal among the options of a socket: Node keeps its listener until the
   * signal is aborted.
   */
  readonly connecting: Set<Duplex>;
}

/** A set of keep-alive HTTP/1.1 connections to one API server, directly or through a proxy. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { origin, proxy, tls, tlsServerName, skipTLSVerify, connectTimeoutMs, headersTimeoutMs } = options;
  const plain = { timeout: connectTimeoutMs, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
  const secure = {
    ...plain,
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
  const connect = connector(secure, options.connecting);
  if (proxy === undefined) return new Pool(origin, { ...pool, connect });
  if (proxy.protocol === 'socks5:') {
    const toProxy = connector(plain, options.connecting);
    return new Pool(origin, { ...pool, connect: socksConnector(proxy, toProxy, connect) });
  }
  return new ProxyAgent({
    ...pool,
    uri: proxy.href,
    requestTls: secure,
    proxyTls: { timeout: connectTimeoutMs },
    clientFactory: (url: URL, clientOptions: { connect: buildConnector.connector }) =>
      new Pool(url, {
        ...clientOptions,
        headersTimeout: connectTimeoutMs,
        connect: namedByHost(clientOptions.connect),
      }),
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

/** undici names the proxy to TLS by its IP address, too, which Node 26 refuses; without a name it tells from the host. */
function namedByHost(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) => {
    const { servername: _servername, ...unnamed } = target;
    connect(unnamed, callback);
  };
}

/** What undici's types leave out. */
interface SocksTunnels {
  createSocks5Connection(host: string, port: number): Promise<Socket>;
}

/**
 * Through a SOCKS5 proxy. Of undici's agent for it only the tunnel: as a dispatcher it would name an
 * IP address as the server to TLS, which Node 26 refuses, and heed neither timeouts nor `connections`.
 */
function socksConnector(
  proxy: URL,
  toProxy: buildConnector.connector,
  startTls: buildConnector.connector,
): buildConnector.connector {
  const tunnels = new Socks5ProxyAgent(proxy, { connect: toProxy }) as unknown as SocksTunnels;
  const secured = promisify(startTls) as (target: buildConnector.Options) => Promise<Socket>;
  const connect = async (target: buildConnector.Options): Promise<Socket> => {
    const isSecure = target.protocol === 'https:';
    const port = Number(target.port) || (isSecure ? 443 : 80);
    const httpSocket = await tunnels.createSocks5Connection(target.hostname, port);
    return isSecure ? secured({ ...target, httpSocket }) : httpSocket;
  };
  return callbackify(connect) as unknown as buildConnector.connector;
}
