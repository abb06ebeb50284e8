import chunk from 'lodash/chunk.js';
import type { AbortSignalLike } from '../../shared/abort.ts';
import { parseJSON } from '../../shared/json.ts';
import type { PatchType, RequestVerb } from './pod-client.ts';
import { redactEach, redactLikelySecrets } from './redact.ts';
import { boundRetryAfter, parseRetryAfter } from './retry-after.ts';

/** How a request failed. */
export type APIErrorKind =
  /** A response outside 2xx; `statusCode` says which. */
  | 'http'
  /** No response: refused, reset, TLS, name resolution. */
  | 'network'
  /** No response in time. */
  | 'timeout'
  /** Not sent: all connections were in use for as long as a request may wait for one. */
  | 'connection-wait'
  /** The caller's signal was aborted for another reason than its deadline. */
  | 'aborted'
  /** A response that cannot be used, for example a 200 with HTML instead of a pod. */
  | 'invalid-response'
  /** The client threw something that no HTTP client throws, for example a TypeError of a mock. */
  | 'unknown';

/** One entry of a Status' `details.causes`. */
export interface APIErrorCause {
  readonly reason?: string;
  /** Path of the field at fault, for example `metadata.uid`. */
  readonly field?: string;
  readonly message?: string;
}

/** Constructor options of `APIError`; documented there. */
export interface APIErrorOptions extends ErrorOptions {
  readonly kind: APIErrorKind;
  readonly statusCode?: number | undefined;
  readonly reason?: string | undefined;
  readonly causes?: readonly APIErrorCause[] | undefined;
  readonly retryAfterMs?: number | undefined;
}

/**
 * Why a request to the API server failed, in one shape for every client. The message is short and
 * safe to log: never headers, credentials, a request body or a complete response. `cause` is what the
 * client rejected with, and is not safe to log.
 *
 * @example
 * ```ts
 * import { APIError, checkAccess } from 'kubelet-status-manager';
 *
 * try {
 *   await checkAccess(client, { nodeName });
 * } catch (error) {
 *   if (!(error instanceof APIError)) throw error;
 *   console.error(error.kind, error.statusCode, error.message);
 * }
 * ```
 */
export class APIError extends Error {
  override readonly name = 'APIError';
  readonly kind: APIErrorKind;
  /** Absent when there was no response. */
  readonly statusCode: number | undefined;
  /** The `Status.reason` of the response, for example `NotFound`. */
  readonly reason: string | undefined;
  /** The `Status.details.causes` of the response; empty when there are none. */
  readonly causes: readonly APIErrorCause[];
  /** The server's `Retry-After`, between 0 and 300,000 ms. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: APIErrorOptions) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.kind = options.kind;
    this.statusCode = options.statusCode;
    this.reason = options.reason;
    this.causes = options.causes ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Every `FailureClass`. */
export const failureClasses = [
  'NotFound',
  'Forbidden',
  'Invalid',
  'Conflict',
  'TooManyRequests',
  'ServiceUnavailable',
  'Unreachable',
  'aborted',
] as const;

/**
 * How the sync loop handles a failed request:
 * - `NotFound`: the pod is gone or not visible yet; retried rarely.
 * - `Forbidden`: the user may not do this (yet); retried within half a minute or a minute.
 * - `Invalid`: the server rejects this update; logged, retried slowly, and immediately with a new version.
 * - `Conflict`: the patch was based on an outdated object; the next sync reads first, the first three
 *   times without back-off.
 * - `TooManyRequests`: the server asked for a pause, `retryAfterMs` may say how long.
 * - `ServiceUnavailable`: the server failed, or its response is invalid; retried with back-off.
 * - `Unreachable`: there was no response; retried with back-off.
 * - `aborted`: the manager cancelled the request; says nothing about the server.
 */
export type FailureClass = (typeof failureClasses)[number];

/** Classifies a failed request; `patchType` is that of the PATCH, strategic merge when absent. */
export function classifyAPIError(error: APIError, verb: RequestVerb, patchType?: PatchType): FailureClass {
  if (error.kind === 'aborted') return 'aborted';
  const { statusCode } = error;
  if (error.kind === 'network' || error.kind === 'timeout' || error.kind === 'connection-wait') return 'Unreachable';
  if (error.kind !== 'http' || statusCode === undefined) return 'ServiceUnavailable';
  switch (statusCode) {
    case 404:
      return 'NotFound';
    case 403:
      // RBAC and the node authorizer's graph may lag; a node's user also gets 403 for a deleted pod.
      return verb === 'delete' ? 'Invalid' : 'Forbidden';
    case 409:
      return 'Conflict';
    case 422:
      return isStaleUnprocessable(error, patchType) ? 'Conflict' : 'Invalid';
    case 429:
    case 503:
      return 'TooManyRequests';
    case 401: // credentials may be renewed
    case 408:
      return 'ServiceUnavailable';
    default:
      return statusCode >= 400 && statusCode < 500 ? 'Invalid' : 'ServiceUnavailable';
  }
}

function isStaleUnprocessable(error: APIError, patchType: PatchType | undefined): boolean {
  if (error.causes.some((cause) => cause.field === 'metadata.uid')) return true;
  // A failed JSON-patch `test` looks like this: it has no cause.
  return patchType === 'application/json-patch+json' && error.reason === 'Invalid' && error.causes.length === 0;
}

/** Details of a request for the description of its failure. */
export interface RequestFacts {
  /** Host and port of the server, for messages. */
  readonly host?: string | undefined;
  /** Secrets to remove from the server's text, in any encoding. */
  readonly secrets?: readonly string[] | undefined;
  /** Why the server may not know the user; default: for a client that does not say. */
  readonly whyAnonymous?: string | undefined;
}

/** The API server's user for a request without credentials. */
const anonymous = 'User "system:anonymous"';
const defaultWhyAnonymous = 'no credentials were sent, or they did not arrive';

/**
 * Normalises any value that a client rejects with: `ApiException` (client-node 1 and 2), its older
 * `HttpError`, a plain `{ statusCode }`, `{ code }` or `{ status }`, a `Status` object, errors of
 * fetch, undici and node-fetch, strings, null. An `APIError` comes back unchanged. Decides by
 * fields, never by the text of a message. `now` (ms since the epoch) is needed only for a
 * `Retry-After` that is a date. `request` has facts about the request.
 */
export function describeAPIError(error: unknown, now?: number, request: RequestFacts = {}): APIError {
  if (error instanceof APIError) return error;
  const response = fieldOf(error, 'response');
  const status = findStatus(error, response);
  const statusCode = [
    ...['statusCode', 'code', 'status'].map((field) => fieldOf(error, field)),
    ...['statusCode', 'status'].map((field) => fieldOf(response, field)),
    fieldOf(status, 'code'),
  ].find(isHTTPStatusCode);
  if (statusCode === undefined) return describeWithoutResponse(error, request);

  const headers = fieldOf(error, 'headers') ?? fieldOf(response, 'headers');
  const { reason, message, causes } = readTexts(status, request.secrets ?? []);
  const { whyAnonymous = defaultWhyAnonymous } = request;
  const why = statusCode === 403 && message?.includes(anonymous) === true ? ` (${whyAnonymous})` : '';
  const says = message === undefined ? '' : `: ${message}${why}`;
  return new APIError(`${statusCode} ${reason ?? 'without a reason'}${says}`, {
    // Below 400 the server reports no failure, so the response is unexpected.
    kind: statusCode >= 400 ? 'http' : 'invalid-response',
    statusCode,
    reason,
    causes,
    retryAfterMs: readRetryAfter(headers, status, now),
    cause: error,
  });
}

/** Why a request with this aborted signal failed: its reason if that is an `APIError`, `timeout` for a `TimeoutError`, else `aborted`. */
export function describeAbort(signal: Pick<AbortSignalLike, 'reason'>): APIError {
  if (signal.reason instanceof APIError) return signal.reason;
  const error = describeAPIError(signal.reason);
  if (error.kind === 'timeout' || error.kind === 'aborted') return error;
  return new APIError('request aborted', { kind: 'aborted', cause: signal.reason });
}

/** Error names and codes by kind; the first kind that contains one of an error's names or codes applies. */
const kindsByNameOrCode: readonly (readonly [APIErrorKind, readonly string[]])[] = [
  [
    'timeout',
    [
      'TimeoutError',
      'ETIMEDOUT',
      'ESOCKETTIMEDOUT',
      'UND_ERR_CONNECT_TIMEOUT',
      'UND_ERR_HEADERS_TIMEOUT',
      'UND_ERR_BODY_TIMEOUT',
      'request-timeout',
      'body-timeout',
    ],
  ],
  ['aborted', ['AbortError', 'UND_ERR_ABORTED', 'ABORT_ERR']],
  ['invalid-response', ['SyntaxError', 'invalid-json']],
];

function describeWithoutResponse(error: unknown, { host, secrets = [] }: RequestFacts): APIError {
  const { names, codes, address } = readNamesAndCodes(error);
  const namesAndCodes = [...new Set([...names, ...codes])];
  const [kind] = kindsByNameOrCode.find(([, known]) => namesAndCodes.some((one) => known.includes(one))) ?? [
    codes.length > 0 ? 'network' : 'unknown',
  ];
  const server = host ?? address;
  const what = server === undefined ? 'request failed' : `request to ${server} failed`;
  const detail = kind === 'unknown' ? describeUnknown(error, secrets) : namesAndCodes.join(', ');
  const problem = kind === 'network' ? tlsProblemOf(codes) : undefined;
  const why = problem === undefined ? '' : ` (${problem})`;
  return new APIError(detail === '' ? what : `${what}: ${detail}${why}`, { kind, cause: error });
}

/** HTTP clients quote headers in such messages, including the token. */
const quotesHeader = /header|authorization|bearer|basic/i;

/** Name and message of an error that no HTTP client throws. */
function describeUnknown(error: unknown, secrets: readonly string[]): string {
  if (!(error instanceof Error)) return typeof error === 'object' ? '' : `threw ${typeof error}`;
  const message = quotesHeader.test(error.message) ? '' : redactLikelySecrets(error.message, secrets);
  return message === '' ? error.name : `${error.name}: ${message.slice(0, MAX_TEXT_LENGTH)}`;
}

interface ErrorMarks {
  /** Without 'Error', which is not informative. */
  readonly names: readonly string[];
  readonly codes: readonly string[];
  /** The server's address as the system error reports it: `127.0.0.1:6443`, or the host name that was not found. */
  readonly address: string | undefined;
}

/**
 * Names, codes and the address of an error and its causes. Omits their messages: some HTTP clients
 * quote a header in them, including the token.
 */
function readNamesAndCodes(error: unknown): ErrorMarks {
  const names: string[] = [];
  const codes: string[] = [];
  let address: string | undefined;
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 5; depth++) {
    const [name, code, type] = ['name', 'code', 'type'].map((field) => mark(fieldOf(at, field)));
    if (name !== undefined && name !== 'Error') names.push(name);
    if (code !== undefined) codes.push(code);
    // node-fetch reports `system` for every error that has a code.
    if (type !== undefined && type !== 'system') codes.push(type);
    address ??= addressOf(at);
    // Node tries several addresses of a host and lists the error of each.
    at = fieldOf(at, 'cause') ?? (fieldOf(at, 'errors') as readonly unknown[] | undefined)?.[0];
  }
  return { names, codes, address };
}

function mark(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value) ? value : undefined;
}

function addressOf(error: unknown): string | undefined {
  const host = fieldOf(error, 'address') ?? fieldOf(error, 'hostname');
  const port = fieldOf(error, 'port');
  if (typeof host !== 'string' || !/^[\w.:-]{1,253}$/.test(host)) return undefined;
  if (typeof port !== 'number') return host;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Maximum length of text parsed as a Status. Parsing a gateway's large error page could take seconds. */
const maxStatusLength = 64 * 1024;

/** A Status of a real failure has a few. */
const maxCauses = 1000;

/** The `Status` in an error, or the error itself if it is one. The only place where text is parsed. */
function findStatus(error: unknown, response: unknown): unknown {
  if (fieldOf(error, 'kind') === 'Status') return error;
  const body = fieldOf(error, 'body') ?? fieldOf(response, 'body');
  if (body instanceof Uint8Array)
    return body.length > maxStatusLength ? undefined : parseJSON(new TextDecoder().decode(body));
  if (typeof body === 'string') return body.length > maxStatusLength ? undefined : parseJSON(body);
  return body;
}

interface StatusTexts {
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly causes: readonly APIErrorCause[];
}

/** The texts of a Status without secrets, each of at most 500 characters; of those after the first 64 KiB, nothing is left. */
function readTexts(status: unknown, secrets: readonly string[]): StatusTexts {
  const causes = fieldOf(fieldOf(status, 'details'), 'causes');
  const list = Array.isArray(causes) ? (causes.slice(0, maxCauses) as readonly unknown[]) : [];
  let lengthLeft = maxStatusLength;
  const texts = [status, ...list].flatMap((from) =>
    ['reason', 'field', 'message'].map((field) => {
      const value = fieldOf(from, field);
      const text = typeof value === 'string' ? value.slice(0, lengthLeft) : '';
      lengthLeft -= text.length;
      return text;
    }),
  );
  const [{ reason, message } = {}, ...read] = chunk(redactEach(texts, secrets).map(shortened), 3).map(causeOf);
  return { reason, message, causes: read };
}

function causeOf([reason = '', field = '', message = '']: readonly string[]): APIErrorCause {
  return { ...(reason !== '' && { reason }), ...(field !== '' && { field }), ...(message !== '' && { message }) };
}

function readRetryAfter(headers: unknown, status: unknown, now: number | undefined): number | undefined {
  const header = findHeader(headers, 'retry-after');
  const byHeader = header === undefined ? undefined : parseRetryAfter(header, now);
  if (byHeader !== undefined) return byHeader;
  const seconds = fieldOf(fieldOf(status, 'details'), 'retryAfterSeconds');
  return typeof seconds === 'number' && seconds > 0 ? boundRetryAfter(seconds * 1000) : undefined;
}

/** Reads a header from a `Headers` object (of any fetch) or from a plain object with keys in any case. */
function findHeader(headers: unknown, name: string): string | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined;
  if ('get' in headers && typeof headers.get === 'function') {
    const value: unknown = headers.get(name);
    return typeof value === 'string' ? value : undefined;
  }
  for (const [key, value] of Object.entries(headers) as [string, unknown][]) {
    if (key.toLowerCase() !== name) continue;
    const first: unknown = Array.isArray(value) ? value[0] : value;
    return typeof first === 'string' || typeof first === 'number' ? String(first) : undefined;
  }
  return undefined;
}

/** Accepts 300 and above: no client rejects with a lower status; lower numbers are exit codes or `DOMException` codes. */
function isHTTPStatusCode(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 300 && (value as number) < 600;
}

const MAX_TEXT_LENGTH = 500;

function shortened(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined;
}

const untrusted =
  "the server's certificate is not signed by an authority that the kubeconfig trusts: set `certificate-authority` to the cluster's CA";

/** Codes of Node.js and OpenSSL for a TLS connection that failed, in plain words, with what to do. */
const problems: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  CERT_UNTRUSTED: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_HAS_EXPIRED: "the server's certificate, or its authority's, has expired: renew it, or correct the clock here",
  CERT_NOT_YET_VALID: "the server's certificate, or its authority's, is not valid yet: correct the clock here",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the server's certificate does not have this name: use one that it has as `server` in the kubeconfig, or as `tls-server-name`",
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS: correct the scheme or the port of `server`',
};

/** Undefined if none of the codes has an explanation. */
function tlsProblemOf(codes: readonly string[]): string | undefined {
  return codes.map((code) => problems[code]).find((problem) => problem !== undefined);
}
