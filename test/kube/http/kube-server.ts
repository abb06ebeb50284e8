import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHTTPServer } from 'node:http';
import { createSecureServer as createHTTP2Server, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';
import { createServer as createHTTPSServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

export interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Common name of the client's certificate, if it showed one. */
  readonly clientName: string | undefined;
  readonly body: string;
  /** Requests with the same number came over the same connection. */
  readonly connection: number;
}

export interface KubeServerOptions {
  readonly tls?: boolean;
  /** Speaks HTTP/2 to clients that choose it; with `tls`. */
  readonly http2?: { readonly maxConcurrentStreams?: number } | undefined;
  /** Which certificate of testdata/ to show; default `server`, for 127.0.0.1 and localhost. */
  readonly certificate?: 'server' | 'server-name';
}

export interface KubeServer extends AsyncDisposable {
  readonly url: string;
  readonly arrived: readonly Arrived[];
  readonly openSockets: () => number;
  /** Those of HTTP/2, in the order of their connections; ended ones, too. */
  readonly sessions: readonly ServerHttp2Session[];
  /** The open connections. */
  readonly sockets: () => readonly Socket[];
  /** How requests are handled from now on; at first, the response is a pod. */
  respond: (request: Arrived, response: ServerResponse) => void;
  /** Resolves when no connection is open, or no more than `count`; the server itself closes none. */
  quiet(count?: number): Promise<void>;
}

export function testPem(name: string): string {
  return readFileSync(new URL(`./testdata/test-only-${name}.pem`, import.meta.url), 'utf8');
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

export function pod(name: string, more: object = {}): object {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1' },
    ...more,
  };
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function status(
  response: ServerResponse,
  code: number,
  reason: string,
  headers: Record<string, string> = {},
): void {
  json(
    response,
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: `said ${reason}` },
    code,
    headers,
  );
}

/** A local API server by behaviour scripted as a function; asks for client certificates, and takes none as well. */
export async function startKubeServer({
  tls = false,
  http2,
  certificate = 'server',
}: KubeServerOptions = {}): Promise<KubeServer> {
  const arrived: Arrived[] = [];
  const sockets = new Map<Socket, number>();
  let connections = 0;
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  const sessions: ServerHttp2Session[] = [];
  const onRequest = (request: IncomingMessage | Http2ServerRequest, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const subject = tls ? (request.socket as TLSSocket).getPeerCertificate().subject : undefined;
      const entry: Arrived = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        clientName: subject === undefined ? undefined : String(subject.CN ?? '') || undefined,
        body: Buffer.concat(chunks).toString(),
        connection: connectionOf(request.socket.remotePort),
      };
      arrived.push(entry);
      server.respond(entry, response);
    });
  };
  const secure = {
    cert: testPem(certificate),
    key: testPem(`${certificate}.key`),
    ca: testPem('ca'),
    requestCert: true,
    rejectUnauthorized: false,
  };
  // The socket of an HTTP/2 request stands for the connection's.
  const connectionOf = (port: number | undefined): number =>
    [...sockets].find(([socket]) => socket.remotePort === port)?.[1] ?? 0;
  const listener = !tls
    ? createHTTPServer(onRequest)
    : http2 === undefined
      ? createHTTPSServer(secure, onRequest)
      : createHTTP2Server({ ...secure, allowHTTP1: true, settings: http2 }, (request, response) =>
          onRequest(request, response as unknown as ServerResponse),
        ).on('session', (session) => sessions.push(session));
  listener.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, ++connections);
    socket.on('close', () => {
      sockets.delete(socket);
      for (const waiter of waiting) if (sockets.size <= waiter.count) waiter.resolve();
    });
  });
  if ('keepAliveTimeout' in listener) listener.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));

  const server: KubeServer = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    arrived,
    openSockets: () => sockets.size,
    sockets: () => [...sockets.keys()],
    sessions,
    respond: (_request, response) => json(response, pod('web')),
    quiet: (count = 0) =>
      sockets.size <= count ? Promise.resolve() : new Promise((resolve) => waiting.push({ count, resolve })),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => listener.close(resolve));
      for (const socket of sockets.keys()) socket.destroy();
      await closed;
    },
  };
  return server;
}
