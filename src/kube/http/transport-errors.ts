import { type Dispatcher, errors } from 'undici/index.js';
import { APIError, describeAPIError } from '../client/api-error.ts';
import type { BufferedResponse } from '../client/buffered-response.ts';
import { ChunkBuffer } from '../client/chunk-buffer.ts';
import { secretsOf } from '../client/redact.ts';
import { decodeBody, maxErrorBytes } from '../client/response-body.ts';
import type { Credentials } from './credentials.ts';
import { certificateProblem, explainRefusal } from './unauthorized.ts';

/** The error for a response outside 2xx to a request with these credentials. */
export async function errorOfResponse(
  { statusCode, headers, body }: BufferedResponse | Dispatcher.ResponseData,
  credentials: Credentials,
  nowMs: number,
): Promise<APIError> {
  // The status code is used even if a proxy has damaged the body.
  const buffered = Buffer.isBuffer(body) ? body : await beginningOf(body);
  const text = await decodeBody(buffered, headers['content-encoding'], maxErrorBytes).catch(() => '');
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
