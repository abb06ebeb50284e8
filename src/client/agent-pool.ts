import type { AgentOptions } from 'node:https';
import type { Dispatcher, Pool } from 'undici/index.js';
import { requestBuffered } from './buffered-response.ts';
import { decodeBody, maxPodBytes } from './response-body.ts';

/** What a node-fetch of client-node 1.4 calls itself: the API server takes what is before the `/` as field manager. */
const userAgent = 'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)';
/** Below the 90 s after which an API server closes an idle connection. */
const keepAliveMs = 60_000;
const connectTimeoutMs = 30_000;

/** Options of an agent that say how to open a TLS connection. */
const tlsOptions = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'rejectUnauthorized', 'servername'] as const;
/** Options that Node sets itself, or that say nothing of a connection. */
const neutralOptions: readonly string[] = [
  'path',
  'noDelay',
  'keepAlive',
  'scheduling',
  'timeout',
  'defaultPort',
  'protocol',
];

/** What is used of client-node's `RequestContext`. */
export interface SendableRequest {
  getUrl(): string;
  getHttpMethod(): string;
  getHeaders(): Readonly<Record<string, string>>;
  getBody(): unknown;
}

/** As client-node's `ResponseContext`, for middleware of the caller. */
export interface ReceivedResponse {
  readonly httpStatusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  body: { text(): Promise<string>; binary(): Promise<Buffer>; stream(): unknown };
  getBodyAsAny(): Promise<unknown>;
}

/** Connections of undici in place of those of an agent of Node: half the CPU of node-fetch. */
export class AgentPool {
  readonly #options: AgentOptions;
  readonly #undici: typeof import('undici/index.js');
  readonly #pools = new Map<string, Pool>();

  constructor(undici: typeof import('undici/index.js'), options: AgentOptions) {
    this.#undici = undici;
    this.#options = options;
  }

  /** Rejects with undici's error, the signal's reason, or an `ApiError` `invalid-response`. */
  async send(request: SendableRequest, signal: AbortSignal): Promise<ReceivedResponse> {
    const { origin, pathname, search } = new URL(request.getUrl());
    const body = request.getBody();
    const options: Dispatcher.DispatchOptions = {
      origin,
      path: `${pathname}${search}`,
      method: request.getHttpMethod(),
      headers: { 'user-agent': userAgent, 'accept-encoding': 'gzip', ...lowerCased(request.getHeaders()) },
      body: body === undefined ? null : (body as string),
    };
    const response = await requestBuffered(this.#poolOf(origin), options, signal, maxPodBytes);
    const text = await decodeBody(response.body, response.headers['content-encoding'], maxPodBytes);
    const textBody = () => Promise.resolve(text);
    return {
      httpStatusCode: response.statusCode,
      headers: flattened(response.headers),
      body: {
        text: textBody,
        binary: () => Promise.resolve(Buffer.from(text)),
        stream: () => new Blob([text]).stream(),
      },
      getBodyAsAny: textBody,
    };
  }

  /** Resolves when the requests in flight have ended. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.close()));
  }

  #poolOf(origin: string): Pool {
    let pool = this.#pools.get(origin);
    if (pool === undefined) {
      pool = createPool(this.#undici, origin, this.#options);
      this.#pools.set(origin, pool);
    }
    return pool;
  }
}

/** True when an agent with these options does nothing that a pool would not do. */
export function canBePooled(options: AgentOptions): boolean {
  return Object.entries(options).every(
    ([name, value]) =>
      value === undefined ||
      value === null ||
      neutralOptions.includes(name) ||
      (tlsOptions as readonly string[]).includes(name),
  );
}

function createPool({ Pool }: typeof import('undici/index.js'), origin: string, options: AgentOptions): Pool {
  const tls = Object.fromEntries(
    tlsOptions.filter((name) => options[name] != null).map((name) => [name, options[name]]),
  );
  return new Pool(origin, {
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    // Requests have a deadline of their own.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs, ...tls },
  });
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function flattened(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
}
