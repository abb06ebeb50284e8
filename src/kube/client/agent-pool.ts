import type { AgentOptions } from 'node:https';
import mapValues from 'lodash/mapValues.js';
import pick from 'lodash/pick.js';
import pickBy from 'lodash/pickBy.js';
import type { AbortSignalLike } from '../../shared/abort.ts';
import type { Dispatcher } from 'undici/index.js';
import { requestBuffered } from './buffered-response.ts';
import { decodeBody, maxPodBytes } from './response-body.ts';

/** The name of node-fetch, which client-node 1.4 uses: the API server takes the part before the `/` as field manager. */
const userAgent = 'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)';
/** Below the 90 s after which an API server closes an idle connection. */
const keepAliveMs = 60_000;
const connectTimeoutMs = 30_000;

/** Options of an agent that say how to open a TLS connection. */
const tlsOptions = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'rejectUnauthorized', 'servername'] as const;
/** Options that Node sets itself, or that do not affect a connection. */
const neutralOptions = ['path', 'noDelay', 'keepAlive', 'scheduling', 'timeout', 'defaultPort', 'protocol'];
const poolableOptions: readonly string[] = [...tlsOptions, ...neutralOptions];

/** The subset of client-node's `RequestContext` that is used. */
export interface SendableRequest {
  getUrl(): string;
  getHttpMethod(): string;
  getHeaders(): Readonly<Record<string, string>>;
  getBody(): unknown;
}

/** The body of client-node's `ResponseContext`, for middleware of the caller. */
export interface ResponseBody {
  text(): Promise<string>;
  binary(): Promise<Buffer>;
  stream?(): unknown;
}

/** True if a pool of undici behaves like an agent with these options. */
export function canBePooled(options: AgentOptions): boolean {
  return Object.entries(options).every(([name, value]) => value == null || poolableOptions.includes(name));
}

/**
 * A pool of undici that replaces a Node agent and needs half the CPU of node-fetch. Undefined if
 * undici cannot be loaded, for example in some bundles.
 */
export async function createAgentPool(options: AgentOptions): Promise<Dispatcher | undefined> {
  const undici = await import('undici/index.js').catch(() => undefined);
  if (undici === undefined) return undefined;
  return new undici.Agent({
    keepAliveTimeout: keepAliveMs,
    // Each request has its own deadline.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs, ...pickBy(pick(options, tlsOptions), (value) => value != null) },
  });
}

/**
 * Resolves with a `ResponseContext` of client-node. Rejects with undici's error, the signal's reason,
 * or an `APIError` `invalid-response`.
 */
export async function sendThrough(
  pool: Dispatcher,
  request: SendableRequest,
  signal: AbortSignalLike,
): Promise<unknown> {
  const url = request.getUrl();
  const pathStart = url.indexOf('/', url.indexOf('//') + 2);
  const options: Dispatcher.DispatchOptions = {
    origin: url.slice(0, pathStart),
    path: url.slice(pathStart),
    method: request.getHttpMethod(),
    headers: withLowerCaseNames(request.getHeaders()),
    body: (request.getBody() as string | undefined) ?? null,
  };
  const { statusCode, headers, body } = await requestBuffered(pool, options, signal, maxPodBytes);
  const text = await decodeBody(body, headers['content-encoding'], maxPodBytes);
  return {
    httpStatusCode: statusCode,
    headers: mapValues(headers, String),
    body: bodyOf(text),
    getBodyAsAny: () => Promise.resolve(text),
  };
}

/** A body that can be read more than once. */
export function bodyOf(text: string): ResponseBody {
  return {
    text: () => Promise.resolve(text),
    binary: () => Promise.resolve(Buffer.from(text)),
    stream: () => new Blob([text]).stream(),
  };
}

function withLowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  const lowerCase: Record<string, string> = { 'user-agent': userAgent, 'accept-encoding': 'gzip' };
  for (const name of Object.keys(headers)) lowerCase[name.toLowerCase()] = headers[name]!;
  return lowerCase;
}
