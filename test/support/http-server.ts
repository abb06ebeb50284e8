import { readFileSync } from 'node:fs';
import { createServer as createHTTPServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHTTPSServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export interface RecordedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Requests with the same number arrived on the same connection. */
  readonly connection: number;
}

export interface ScriptedResponse {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent unchanged, everything else as JSON. */
  readonly body?: unknown;
  /** The response waits for this promise. */
  readonly after?: Promise<void>;
  /** `hang`: no response. `reset`: the connection is cut. `cut-body`: cut after half of the body. */
  readonly fault?: 'hang' | 'reset' | 'cut-body';
}

export interface HTTPServer extends AsyncDisposable {
  readonly url: string;
  /** The certificate to trust, base64 of PEM as in a kubeconfig; empty without TLS. */
  readonly caData: string;
  readonly requests: readonly RecordedRequest[];
  /** The responses to the next requests, in order. Without one, a request gets 500. */
  respondWith(...responses: readonly ScriptedResponse[]): void;
  /** Resolves once `count` requests have arrived in total. */
  received(count: number): Promise<void>;
  /** Resolves once no connection is open. */
  disconnected(): Promise<void>;
}

const testdata = new URL('./testdata/', import.meta.url);

/** A local server that records requests and sends scripted responses. */
export async function startHTTPServer(options: { readonly tls?: boolean } = {}): Promise<HTTPServer> {
  const requests: RecordedRequest[] = [];
  const script: ScriptedResponse[] = [];
  const sockets = new Map<Socket, number>();
  const waitingForDisconnect: (() => void)[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  let connections = 0;

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        connection: sockets.get(request.socket) ?? 0,
      });
      for (const waiter of waiting) if (requests.length >= waiter.count) waiter.resolve();
      const scripted = script.shift() ?? { status: 500, body: 'no scripted response' };
      if (scripted.after === undefined) respond(response, scripted);
      else void scripted.after.then(() => respond(response, scripted));
    });
  };

  const certificate = readFileSync(new URL('test-only-tls-cert.pem', testdata));
  const server = options.tls
    ? createHTTPSServer({ cert: certificate, key: readFileSync(new URL('test-only-tls-key.pem', testdata)) }, onRequest)
    : createHTTPServer(onRequest);
  // The client must close idle connections.
  server.keepAliveTimeout = 0;
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, ++connections);
    socket.on('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) for (const resolve of waitingForDisconnect.splice(0)) resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caData: options.tls ? certificate.toString('base64') : '',
    requests,
    respondWith: (...responses) => void script.push(...responses),
    received: (count) =>
      requests.length >= count ? Promise.resolve() : new Promise((resolve) => waiting.push({ count, resolve })),
    disconnected: () =>
      sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => waitingForDisconnect.push(resolve)),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets.keys()) socket.destroy();
      await closed;
    },
  };
}

function respond(response: ServerResponse, { status = 200, headers, body, fault }: ScriptedResponse): void {
  if (fault === 'hang') return;
  if (fault === 'reset') {
    response.destroy();
    return;
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? {});
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  const payload = Buffer.from(text);
  // Chunked, like longer responses of the API server. client-node 1.4 only notices a truncation of these.
  response.writeHead(status, { 'content-type': type, 'transfer-encoding': 'chunked', ...headers });
  if (fault === 'cut-body') response.write(payload.subarray(0, payload.length >> 1), () => response.destroy());
  else response.end(payload);
}
