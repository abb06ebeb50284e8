import { type IncomingMessage, request as httpRequest, STATUS_CODES } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Clock } from '../shared/clock.ts';
import { requestTimeoutMs } from './bounded-streaming-runtime.ts';
import { HTTPError } from './http-error.ts';

/** A request of the client to upgrade its connection. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that the client has already sent after the request. */
  readonly head: Buffer;
}

/** How long a client may take to close its connection after the last response. Source: net/http `rstAvoidanceDelay` */
const lingerMs = 500;
/** Headers that are not forwarded to the runtime: credentials, and headers of the first connection only. */
const ownHeaders = new Set(['authorization', 'host']);

/**
 * Also upgrades a connection to the runtime's streaming server, and then relays all bytes until one side closes.
 * Rejects with an `HTTPError` if the streaming server does not respond within 2 minutes. Source: apimachinery `UpgradeAwareHandler`.
 */
export function proxyUpgrade(
  clock: Pick<Clock, 'afterFunc'>,
  url: string,
  { request, socket, head }: UpgradeRequest,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const { protocol, host } = new URL(url);
    const send = protocol === 'https:' ? httpsRequest : httpRequest;
    const headers = forwardedHeaders(request, host);
    const backendRequest = send(url, { method: request.method, headers, agent: false });
    const abort = (): void => void backendRequest.destroy();
    socket.once('close', abort);
    const timer = clock.afterFunc(requestTimeoutMs, () =>
      backendRequest.destroy(new Error(`no response within ${requestTimeoutMs / 1000} s`)),
    );
    backendRequest.once('close', () => timer.stop());
    backendRequest.once('error', (cause) => {
      reject(new HTTPError(500, `The runtime's streaming server does not respond: ${cause.message}`, { cause }));
    });
    backendRequest.once('upgrade', (response, backend, backendHead) => {
      socket.off('close', abort);
      socket.write(responseHead(response));
      socket.write(backendHead);
      backend.write(head);
      join(socket, backend);
      resolve();
    });
    backendRequest.once('response', (response) => {
      // The body is no longer chunked; it ends with the connection.
      socket.write(responseHead(response, new Set(['connection', 'transfer-encoding']), 'Connection: close\r\n'));
      response.pipe(socket, { end: false });
      response.once('close', () => closeWriteAndWait(clock, socket));
      resolve();
    });
    backendRequest.end();
  });
}

/** Writes a response to a client that wanted an upgrade, and closes the connection, even if the client does not. */
export function refuseUpgrade(
  clock: Pick<Clock, 'afterFunc'>,
  socket: Duplex,
  { statusCode, message }: Pick<HTTPError, 'statusCode' | 'message'>,
): void {
  if (!socket.writable) return void socket.destroy();
  socket.write(
    `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode] ?? ''}\r\n` +
      'Content-Type: text/plain; charset=utf-8\r\n' +
      `Content-Length: ${Buffer.byteLength(message)}\r\n` +
      `Connection: close\r\n\r\n${message}`,
  );
  closeWriteAndWait(clock, socket);
}

/** Unread bytes of the client would become a reset, which may discard the response. Source: net/http `closeWriteAndWait` */
export function closeWriteAndWait(clock: Pick<Clock, 'afterFunc'>, socket: Duplex): void {
  if (socket.destroyed) return;
  const timer = clock.afterFunc(lingerMs, () => socket.destroy());
  socket.once('close', () => timer.stop());
  socket.resume().end();
}

function join(client: Duplex, backend: Duplex): void {
  for (const [from, to] of [
    [client, backend],
    [backend, client],
  ] as const) {
    from.pipe(to);
    from.once('error', () => to.destroy());
    from.once('close', () => closeAfterWrites(to));
  }
}

function closeAfterWrites(stream: Duplex): void {
  if (stream.writableFinished) stream.destroy();
  else stream.end(() => stream.destroy());
}

function forwardedHeaders(request: IncomingMessage, host: string): string[] {
  const headers = ['Host', host];
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i]!;
    if (!ownHeaders.has(name.toLowerCase())) headers.push(name, request.rawHeaders[i + 1]!);
  }
  return headers;
}

function responseHead(
  { statusCode = 0, statusMessage = '', rawHeaders }: IncomingMessage,
  dropped: ReadonlySet<string> = new Set(),
  more = '',
): string {
  let text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${more}`;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (!dropped.has(rawHeaders[i]!.toLowerCase())) text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return `${text}\r\n`;
}
