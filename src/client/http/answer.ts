import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ApiError } from '../api-error.ts';
import type { WholeAnswer } from './whole-answer.ts';

/** A list of ten thousand big pods is some 200 MB; more is not an answer any more. */
export const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** As much as is looked at of an answer that is not 2xx: a Status is shorter. */
export const MAX_ERROR_BYTES = 64 * 1024;

const unzip = promisify(gunzip);

/**
 * The text of an answer, unzipped if need be; throws an `ApiError` `invalid-answer` for any other
 * encoding, and for one that is longer than `maxBytes`.
 */
export async function textOf({ headers, body }: WholeAnswer, maxBytes: number): Promise<string> {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return body.toString();
  if (encoding !== 'gzip') return refuseEncoding();
  const text = await unzip(body, { maxOutputLength: maxBytes }).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ERR_BUFFER_TOO_LARGE' ? refuseLength(maxBytes) : refuseEncoding(),
  );
  return text.toString();
}

export function isSuccess(statusCode: number): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** Throws an `ApiError` `invalid-answer` for what is no JSON. */
export function parseJson(text: string, statusCode: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(`the answer (${statusCode}) is no JSON`, { kind: 'invalid-answer', statusCode });
  }
}

export function tooLong(maxBytes: number): ApiError {
  return new ApiError(`the answer is longer than ${maxBytes} bytes`, { kind: 'invalid-answer' });
}

function refuseLength(maxBytes: number): never {
  throw tooLong(maxBytes);
}

function refuseEncoding(): never {
  throw new ApiError('the answer is compressed in a way that cannot be read', { kind: 'invalid-answer' });
}
