import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { APIError } from './api-error.ts';
import { refuseDeepJSON } from './json-depth.ts';

/** The default limit of a response. A list of ten thousand large pods has some 200 MB. */
export const defaultMaxResponseBytes = 256 * 1024 * 1024;
/** Maximum length of a response outside 2xx that is read; a Status is shorter. */
export const maxErrorBytes = 64 * 1024;

/** The limit of one pod. etcd refuses objects above 1.5 MiB; as JSON they can be longer. */
export const maxPodBytes = 16 * 1024 * 1024;

const unzip = promisify(gunzip);

/**
 * The text of a response body, unzipped if needed. Throws an `APIError` `invalid-response` for any
 * other encoding, and for a text longer than `maxBytes`.
 */
export async function decodeBody(
  body: Buffer,
  encoding: string | string[] | undefined,
  maxBytes: number,
): Promise<string> {
  if (encoding === undefined || encoding === 'identity') return body.toString();
  if (encoding !== 'gzip') throw unreadableEncoding();
  try {
    return (await unzip(body, { maxOutputLength: maxBytes })).toString();
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLong(maxBytes) : unreadableEncoding();
  }
}

export function isSuccess(statusCode: number): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** Throws an `APIError` `invalid-response` for text that is not JSON or is nested too deeply. */
export function parseJSONBody(text: string, statusCode: number): unknown {
  refuseDeepJSON(text, statusCode);
  try {
    return JSON.parse(text);
  } catch {
    throw new APIError(`the response (${statusCode}) is not JSON`, { kind: 'invalid-response', statusCode });
  }
}

export function tooLong(maxBytes: number): APIError {
  return new APIError(`the response is longer than ${maxBytes} bytes`, { kind: 'invalid-response' });
}

function unreadableEncoding(): APIError {
  return new APIError('the response is compressed with an encoding that is not supported', {
    kind: 'invalid-response',
  });
}
