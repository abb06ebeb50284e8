import { callbackify, promisify } from 'node:util';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici/index.js';
import { type Connecting, connectionError } from './connector.ts';

export interface SocksConnectorOptions {
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
