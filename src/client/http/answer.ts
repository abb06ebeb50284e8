import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ApiError } from '../api-error.ts';
import { MAX_RESPONSE_BYTES } from './dispatcher.ts';
import type { WholeAnswer } from './whole-answer.ts';

const unzip = promisify(gunzip);

/** The text of an answer, unzipped if need be; throws an `ApiError` `invalid-answer` for any other encoding. */
export async function textOf({ headers, body }: WholeAnswer): Promise<string> {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return body.toString();
  if (encoding !== 'gzip') return refuseEncoding();
  return (await unzip(body, { maxOutputLength: MAX_RESPONSE_BYTES }).catch(refuseEncoding)).toString();
}

/** Throws an `ApiError` `invalid-answer` for what is no JSON. */
export function parseJson(text: string, statusCode: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(`the answer (${statusCode}) is no JSON`, { kind: 'invalid-answer', statusCode });
  }
}

function refuseEncoding(): never {
  throw new ApiError('the answer is compressed in a way that cannot be read', { kind: 'invalid-answer' });
}
