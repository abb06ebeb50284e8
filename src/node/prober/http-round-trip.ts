import { type IncomingMessage, request as sendRequest } from 'node:http';
import { connect as connectHTTP2 } from 'node:http2';
import { connect, isIP, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { connect as connectTLS, type TLSSocket } from 'node:tls';
import { malformedResponseMessage } from './malformed-response.ts';
import { joinHostPort } from './container-port.ts';
import type { HTTPProbeRequest } from './http-probe-request.ts';
import { connectionAddresses, connectionErrorMessage, dialErrorMessage } from './network-error.ts';

/** A response whose body has not been read. */
export interface HTTPResponse {
  readonly statusCode: number;
  /** The header Location. */
  readonly location: string | undefined;
  readonly body: Readable;
  /** Why `body` failed, as Go's client says it. */
  describe(error: Error): string;
  /** Closes the connection. */
  close(): void;
}

/** Go's `Transport.MaxResponseHeaderBytes`. */
const maxHeaderSize = 10 << 20;
/** How many bytes of a response are kept, for the message that says why it is malformed. */
const maxHeadBytes = 4096;
const connectionHeaders = ['Connection', 'Keep-Alive', 'Proxy-Connection', 'Upgrade', 'Host'];

/**
 * Sends one request on its own connection, which is closed when `signal` is aborted. With https, HTTP/2 is used if the
 * server prefers it. Rejects with the message of Go's client. Source: Go `http.Transport.RoundTrip`.
 */
export async function roundTrip(request: HTTPProbeRequest, signal: AbortSignal): Promise<HTTPResponse> {
  const { scheme, host } = request;
  if (scheme !== 'http' && scheme !== 'https') throw new Error(`unsupported protocol scheme ${JSON.stringify(scheme)}`);
  if (host === '') throw new Error('http: no Host in request URL');
  signal.throwIfAborted();
  const socket = await dial(request, signal);
  const addresses = connectionAddresses(socket);
  if (scheme === 'http') return roundTripHTTP1(request, socket, addresses);
  const tlsSocket = await handshake(socket, host, addresses);
  const send = tlsSocket.alpnProtocol === 'h2' ? roundTripHTTP2 : roundTripHTTP1;
  return send(request, tlsSocket, addresses);
}

function dial({ host, port }: HTTPProbeRequest, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const abort = (): void => void socket.destroy(new Error('aborted'));
    signal.addEventListener('abort', abort);
    socket.once('close', () => signal.removeEventListener('abort', abort));
    // Later errors are reported by the request.
    socket.on('error', (error) =>
      reject(new Error(dialErrorMessage(error, joinHostPort(host, port)), { cause: error })),
    );
    socket.once('connect', () => resolve(socket));
  });
}

function handshake(socket: Socket, host: string, addresses: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const tlsSocket = connectTLS({
      socket,
      servername: isIP(host) === 0 ? host : '',
      rejectUnauthorized: false,
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    tlsSocket.on('error', (error) => {
      reject(new Error(connectionErrorMessage(error, addresses), { cause: error }));
      socket.destroy();
    });
    tlsSocket.once('secureConnect', () => resolve(tlsSocket));
  });
}

function roundTripHTTP1(request: HTTPProbeRequest, socket: Socket, addresses: string): Promise<HTTPResponse> {
  const { path, host, port, headers } = request;
  const wireHeaders = [...headers].flatMap(([name, values]) => values.flatMap((value) => [name, encoded(name, value)]));
  if (!headers.has('Host')) wireHeaders.unshift('Host', joinHostPort(host, port));
  // Go asks the server to close the connection even if the pod's spec says otherwise.
  if (!headers.has('Upgrade') && !headers.get('Connection')?.includes('close')) wireHeaders.push('Connection', 'close');
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const describe = (error: Error): string =>
      'code' in error && String(error.code).startsWith('HPE_')
        ? malformedResponseMessage(head)
        : connectionErrorMessage(error, addresses);
    const client = sendRequest({ createConnection: () => socket, path, headers: wireHeaders, maxHeaderSize });
    client.once('socket', () =>
      socket.prependListener('data', (chunk: Buffer) => {
        if (head.length < maxHeadBytes) head = Buffer.concat([head, chunk]);
      }),
    );
    const onResponse = (response: IncomingMessage): void => {
      resolve({
        statusCode: response.statusCode ?? 0,
        location: response.headers.location,
        body: response,
        describe: (error) => describe(error).replace(/^EOF$/, 'unexpected EOF'),
        close: () => socket.destroy(),
      });
    };
    client.on('response', onResponse);
    client.on('upgrade', onResponse);
    client.on('error', (error) => {
      const isIncomplete = head.length > 0 && describe(error) === 'EOF';
      reject(new Error(isIncomplete ? malformedResponseMessage(head) : describe(error), { cause: error }));
    });
    client.end();
  });
}

function roundTripHTTP2(request: HTTPProbeRequest, socket: TLSSocket, addresses: string): Promise<HTTPResponse> {
  const { url, path, host, port, headers } = request;
  const upgrade = headers.get('Upgrade');
  if (upgrade?.[0]) throw new Error(`http2: invalid Upgrade request header: ${JSON.stringify(upgrade)}`);
  const wireHeaders: Record<string, string | string[]> = {};
  for (const [name, values] of headers)
    if (!connectionHeaders.includes(name))
      wireHeaders[name.toLowerCase()] = values.map((value) => encoded(name, value));
  return new Promise((resolve, reject) => {
    const describe = (error: Error): string => connectionErrorMessage(error, addresses);
    const fail = (error: Error): void => {
      reject(new Error(describe(error), { cause: error }));
      session.destroy();
    };
    const session = connectHTTP2(url, { createConnection: () => socket });
    session.on('error', fail);
    const stream = session.request({
      ...wireHeaders,
      ':path': path,
      ':authority': headers.get('Host')?.[0] ?? joinHostPort(host, port),
    });
    stream.on('error', fail);
    stream.once('close', () => fail(new Error('http2: server closed the stream without a response')));
    stream.once('response', ({ ':status': statusCode = 0, location }) => {
      resolve({ statusCode, location, body: stream, describe, close: () => session.destroy() });
    });
  });
}

/** Node.js writes a header as Latin-1; Go as UTF-8. */
function encoded(name: string, value: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x08\n-\x1f\x7f]/.test(value))
    throw new Error(`net/http: invalid header field value for ${JSON.stringify(name)}`);
  return Buffer.from(value).toString('latin1');
}
