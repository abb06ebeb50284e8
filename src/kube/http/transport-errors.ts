import { type Dispatcher, errors } from 'undici/index.js';
import { APIError, describeAPIError } from '../client/api-error.ts';
import type { BufferedResponse } from '../client/buffered-response.ts';
import { ChunkBuffer } from '../client/chunk-buffer.ts';
import { secretsOf } from '../client/redact.ts';
import { bodyText, maxErrorBytes } from '../client/response-body.ts';
import type { Credentials } from './credentials.ts';
import { X509Certificate } from 'node:crypto';
import { isObject, parseJSON } from '../../shared/json.ts';
import { timeFromEpochMs } from '../../shared/time.ts';

/** The error for a response outside 2xx to a request with these credentials. */
export async function errorOfResponse(
  { statusCode, headers, body }: BufferedResponse | Dispatcher.ResponseData,
  credentials: Credentials,
  nowMs: number,
): Promise<APIError> {
  // The status code is used even if a proxy has damaged the body.
  const buffered = Buffer.isBuffer(body) ? body : await beginningOf(body);
  const text = await bodyText(buffered, headers['content-encoding'], maxErrorBytes).catch(() => '');
  const { message, kind, reason, causes, retryAfterMs } = describeAPIError({ statusCode, headers, body: text }, nowMs, {
    // Some gateways quote the request in their response.
    secrets: secretsOf(credentials.headers['authorization']),
    whyAnonymous: credentials.missing ?? 'the credentials did not arrive: a proxy in between may end TLS',
  });
  const why = statusCode === 401 ? explainRefusal(credentials, nowMs, headers['date']) : '';
  // No `cause`: a complete response must not be logged.
  return new APIError(withReason(message, why), { kind, statusCode, reason, causes, retryAfterMs });
}

/**
 * The error for a request to `host` that ended without a complete response.
 * @param credentials undefined once the response has begun
 */
export function errorOfConnection(
  error: unknown,
  host: string,
  credentials: Credentials | undefined,
  nowMs: number,
): APIError {
  const { message, kind, statusCode } = describeAPIError(error, undefined, { host });
  // A server that refuses the certificate itself ends the handshake with an alert.
  const isRefused =
    credentials !== undefined && /^ERR_SSL_.*ALERT/.test(String((error as Partial<NodeJS.ErrnoException>).code));
  const why = isRefused ? certificateProblem(credentials, nowMs) : undefined;
  return new APIError(withReason(message, why), {
    // The request was not aborted: undici reports a refused tunnel in the same way.
    kind: kind === 'aborted' ? 'network' : kind,
    statusCode,
    // No `cause`: undici attaches the bytes that are not HTTP, which may quote the request.
    cause: error instanceof errors.HTTPParserError ? undefined : error,
  });
}

function withReason(message: string, why = ''): string {
  return why === '' ? message : `${message} (${why})`;
}

/** Reads the beginning of an error's body, which may never end. */
async function beginningOf(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const beginning = new ChunkBuffer();
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (beginning.length + chunk.length > maxErrorBytes) break;
      beginning.add(chunk);
    }
  } catch {
    // Uses the chunks that arrived before the failure.
  }
  return beginning.take();
}

/** Smaller differences are within rounding to seconds, response time and the server's leeway. */
const minClockSkewMs = 60_000;

/**
 * A reason for a 401 that the client can detect: no credentials, a certificate or token that has expired or is not
 * valid yet, or clocks that differ. `''` if none is found. Names files and times, never the content
 * of a credential.
 *
 * @param date The `Date` header of the response
 */
function explainRefusal(credentials: Credentials, nowMs: number, date?: unknown): string {
  if (credentials.missing !== undefined) return credentials.missing;
  return [certificateProblem(credentials, nowMs), tokenProblem(credentials, nowMs), clockProblem(date, nowMs)]
    .filter((problem) => problem !== undefined)
    .join('; ');
}

/** Also applies to a failed TLS handshake. */
function certificateProblem({ tls: { cert }, files }: Credentials, nowMs: number): string | undefined {
  if (cert === undefined) return undefined;
  const name = files.cert === undefined ? 'the client certificate' : `the client certificate ${files.cert}`;
  try {
    const { validFrom, validTo } = new X509Certificate(cert);
    return outsideOf(Date.parse(validFrom), Date.parse(validTo), nowMs, name);
  } catch {
    return `${name} cannot be read`;
  }
}

function tokenProblem({ headers: { authorization }, files }: Credentials, nowMs: number): string | undefined {
  const payload = typeof authorization === 'string' ? /^Bearer [^.]+\.([^.]+)\./.exec(authorization)?.[1] : undefined;
  if (payload === undefined) return undefined;
  // The claims of a service account token (a JWT). A token of another kind may also contain dots.
  const claims = parseJSON(Buffer.from(payload, 'base64url').toString());
  if (!isObject(claims)) return undefined;
  const { nbf, exp } = claims;
  const ms = (seconds: unknown): number => (typeof seconds === 'number' ? seconds * 1000 : Number.NaN);
  return outsideOf(ms(nbf), ms(exp), nowMs, files.token === undefined ? 'the token' : `the token in ${files.token}`);
}

/** An unknown bound is NaN, and comparisons with NaN are false. */
function outsideOf(fromMs: number, toMs: number, nowMs: number, name: string): string | undefined {
  if (toMs <= nowMs) return `${name} expired at ${timeFromEpochMs(toMs)}: renew it`;
  if (fromMs > nowMs) return `${name} is not valid before ${timeFromEpochMs(fromMs)}`;
  return undefined;
}

function clockProblem(date: unknown, nowMs: number): string | undefined {
  const skewMs = typeof date === 'string' ? nowMs - Date.parse(date) : Number.NaN;
  if (!(Math.abs(skewMs) > minClockSkewMs)) return undefined;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  return `the clock here is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the server's`;
}
