import { request as httpRequest } from 'node:http';
import { afterEach } from 'vitest';
import { APIServer, type APIServerOptions } from '../../src/api-server/index.ts';
import { KubeHTTP } from '../support/kube-http.ts';

export const PODS = '/api/v1/namespaces/default/pods';

/** Plain HTTP, so that a test can write headers as it likes; closed after the test. */
export interface Harness {
  readonly server: APIServer;
  readonly http: KubeHTTP;
}

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

export async function startServer(options: APIServerOptions = {}): Promise<Harness> {
  const server = await APIServer.start({ tls: false, ...options });
  const caData = Buffer.from(server.certificateAuthority).toString('base64');
  const http = new KubeHTTP({ url: server.url, token: server.token, ...(caData === '' ? {} : { caData }) });
  cleanups.push(
    () => server.close(),
    () => http.close(),
  );
  return { server, http };
}

export interface RawResponse {
  readonly status: number;
  readonly body: string;
}

/** A request whose every header is the test's, Host and Origin too. */
export function rawRequest(
  server: APIServer,
  options: { readonly method?: string; readonly path?: string; readonly headers?: Readonly<Record<string, string>> },
  body?: string,
): Promise<RawResponse> {
  const { method = 'GET', path = '/api', headers = {} } = options;
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

export function podOf(name: string, spec: object = {}, metadata: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { nodeName: 'node-a', containers: [{ name: 'c', image: 'busybox' }], ...spec },
  };
}
