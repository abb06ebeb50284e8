import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buildConnector } from 'undici/index.js';

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
