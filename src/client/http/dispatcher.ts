import type { Dispatcher } from 'undici';
import { Pool, ProxyAgent } from 'undici';
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
  /** Ends every connection, also one that is not established yet, of which undici's `destroy` knows nothing. */
  readonly signal: AbortSignal;
}

/** A set of keep-alive HTTP/1.1 connections to one API server, directly or through a proxy. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { origin, proxy, tls, tlsServerName, skipTLSVerify, connectTimeoutMs, headersTimeoutMs, signal } = options;
  const secure = {
    signal,
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
  if (proxy === undefined) return new Pool(origin, { ...pool, connect: secure });
  return new ProxyAgent({
    ...pool,
    uri: proxy.href,
    requestTls: secure,
    // undici would speak TLS to a SOCKS proxy for which these are set.
    ...(proxy.protocol === 'socks5:' ? {} : { proxyTls: { timeout: connectTimeoutMs, signal } }),
    clientFactory: (url: URL, clientOptions: object) =>
      new Pool(url, { ...clientOptions, headersTimeout: connectTimeoutMs }),
  });
}
