import type { Duplex } from 'node:stream';
import { callbackify, promisify } from 'node:util';
import { buildConnector } from 'undici/index.js';
import type { TokenBucket } from '../../shared/token-bucket.ts';

/** Connections that are being opened. `destroy()` of a dispatcher does not end them, so whoever destroys it must. */
export type Connecting = Set<{ destroy(): unknown }>;

/** undici's own connector, with each socket in `connecting` until it is connected. */
export function trackedConnector(
  options: buildConnector.BuildOptions,
  connecting: Connecting,
): buildConnector.connector {
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

/** Takes a token of `newConnections` for each connection. */
export function pacedConnector(
  connect: buildConnector.connector,
  newConnections: TokenBucket,
  connecting: Connecting,
): buildConnector.connector {
  const connectNow = promisify(connect);
  return callbackify(async (target: buildConnector.Options) => {
    const abort = new AbortController();
    const waiting = { destroy: () => abort.abort() };
    connecting.add(waiting);
    await newConnections.take(abort.signal).finally(() => connecting.delete(waiting));
    return connectNow(target);
  }) as unknown as buildConnector.connector;
}

/** undici takes errors with these codes for recoverable and connects again immediately, for as long as there are requests. */
const recoverableCodes = ['UND_ERR_SOCKET', 'UND_ERR_INFO'];

/**
 * Whoever waits for this connection fails when it cannot be opened, and tries again by its own
 * back-off. Without this, a proxy that accepts a connection and closes it meets a storm of them.
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

/** An error of a connection, with a code that undici does not know. */
export function connectionError(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code });
}
