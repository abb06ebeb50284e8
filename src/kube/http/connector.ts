import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buildConnector } from 'undici/index.js';
import { callbackify, promisify } from 'node:util';

/** Sockets that are still connecting. A dispatcher's `destroy()` does not close them; its owner must. */
export type Connecting = Set<{ destroy(error?: Error): unknown }>;

/** undici's connector; tracks each socket in `connecting` until it is connected. */
export function trackedConnector(
  options: buildConnector.BuildOptions,
  connecting: Connecting,
): buildConnector.connector {
  // It returns the socket, although its type is void.
  const connect = buildConnector(options) as (...args: Parameters<buildConnector.connector>) => Duplex;
  return (target, callback) => {
    const socket = connect(target, (...result) => {
      connecting.delete(socket);
      callback(...result);
    });
    connecting.add(socket);
  };
}

/** Tracks each socket until it is closed: the socket to a proxy is connected before TLS with the API server begins. */
export function trackedSockets(connect: buildConnector.connector, connecting: Connecting): buildConnector.connector {
  return (target, callback) => {
    const socket = connect(target, callback) as unknown as Duplex;
    connecting.add(socket);
    socket.on('error', () => {}).once('close', () => connecting.delete(socket));
  };
}

/** Yields a socket that is already connected, and then connects. */
export function connectorFrom(
  connected: Socket | undefined,
  connect: buildConnector.connector,
): buildConnector.connector {
  let first = connected;
  return (target, callback) => {
    if (first === undefined) return connect(target, callback);
    const socket = first;
    first = undefined;
    queueMicrotask(() => callback(null, socket));
  };
}

/** undici treats errors with these codes as recoverable and reconnects immediately while requests are queued. */
const recoverableCodes = ['UND_ERR_SOCKET', 'UND_ERR_INFO'];

/**
 * A connection that cannot be opened fails its request, and the caller retries with back-off.
 * Otherwise undici would reconnect in a hot loop to a proxy that accepts and closes connections.
 */
export function failingConnector(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error === null) return callback(error, socket);
      const { code } = error as NodeJS.ErrnoException;
      const isRecoverable = code !== undefined && recoverableCodes.includes(code);
      callback(
        isRecoverable ? connectionError('ERR_PROXY_CONNECTION', 'the connection was closed', error) : error,
        null,
      );
    });
}

/** A connection error with a code that undici does not treat as recoverable. */
export function connectionError(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code });
}

interface SocksConnectorOptions {
  readonly proxy: URL;
  readonly toProxy: buildConnector.connector;
  readonly startTls: buildConnector.connector;
  /** Longest handshake with the proxy. */
  readonly timeoutMs: number;
  readonly connecting: Connecting;
}

/** Connects through a SOCKS5 proxy; names are resolved by the proxy. */
export function socksConnector({
  proxy,
  toProxy,
  startTls,
  timeoutMs,
  connecting,
}: SocksConnectorOptions): buildConnector.connector {
  const connectToProxy = promisify(toProxy) as (target: buildConnector.Options) => Promise<Socket>;
  const secure = promisify(startTls) as (target: buildConnector.Options) => Promise<Socket>;
  const host = withoutBrackets(proxy.hostname);
  const port = proxy.port === '' ? 1080 : Number(proxy.port);
  const credentials =
    proxy.username === ''
      ? {}
      : { userId: decodeURIComponent(proxy.username), password: decodeURIComponent(proxy.password) };

  const connect = async (target: buildConnector.Options): Promise<Socket> => {
    // Loaded here, because most programs import this function and do not call it.
    const { SocksClient } = await import('socks');
    const isSecure = target.protocol === 'https:';
    const socket = await connectToProxy({ host: proxy.host, hostname: host, port: String(port), protocol: 'http:' });
    connecting.add(socket);
    try {
      await SocksClient.createConnection({
        command: 'connect',
        proxy: { host, port, type: 5, ...credentials },
        destination: {
          host: withoutBrackets(target.hostname),
          port: Number(target.port) || (isSecure ? 443 : 80),
        },
        timeout: timeoutMs,
        existing_socket: socket,
      });
    } catch (error) {
      socket.destroy();
      // Without `cause`: it holds the proxy's password.
      const message = error instanceof Error ? error.message : 'failed';
      const isTimeout = message === 'Proxy connection timed out';
      throw connectionError(isTimeout ? 'UND_ERR_CONNECT_TIMEOUT' : 'ERR_SOCKS_PROXY', message);
    } finally {
      connecting.delete(socket);
    }
    return isSecure ? secure({ ...target, httpSocket: socket }) : socket;
  };
  return callbackify(connect) as unknown as buildConnector.connector;
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
