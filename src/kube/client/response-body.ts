import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { APIError } from './api-error.ts';

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
export async function bodyText(
  body: Buffer,
  encoding: string | string[] | undefined,
  maxBytes: number,
): Promise<string> {
  if (encoding === undefined || encoding === 'identity') return body.toString();
  if (encoding !== 'gzip') throw unreadableEncoding();
  try {
    return (await unzip(body, { maxOutputLength: maxBytes })).toString();
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? responseTooLong(maxBytes)
      : unreadableEncoding();
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

export function responseTooLong(maxBytes: number): APIError {
  return new APIError(`the response is longer than ${maxBytes} bytes`, { kind: 'invalid-response' });
}

function unreadableEncoding(): APIError {
  return new APIError('the response is compressed with an encoding that is not supported', {
    kind: 'invalid-response',
  });
}

/** No Kubernetes object is nested this deeply. A deeper one is expensive to parse and to compare. */
const maxJSONDepth = 1_000;

/** Shorter texts are parsed in milliseconds, however deep they are nested. */
const minCheckedLength = 64 * 1024;

const quote = 0x22;
const backslash = 0x5c;

/**
 * True for a long text with lists and objects nested deeper than `maxJSONDepth`. Call it before
 * `JSON.parse`, which takes seconds for some megabytes of `[`. The result for text that is not JSON is
 * unspecified.
 */
export function isNestedTooDeeply(text: string): boolean {
  if (text.length < minCheckedLength) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case quote:
        i = endOfString(text, i);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > maxJSONDepth) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
    }
  }
  return false;
}

/** Throws an `APIError` `invalid-response` for a body that `isNestedTooDeeply`. */
export function refuseDeepJSON(text: string, statusCode: number): void {
  if (!isNestedTooDeeply(text)) return;
  throw new APIError(`the response (${statusCode}) is nested deeper than ${maxJSONDepth} levels`, {
    kind: 'invalid-response',
    statusCode,
  });
}

/** The index of the closing quote; that of the last character when there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let beforeBackslashes = end - 1;
    while (text.charCodeAt(beforeBackslashes) === backslash) beforeBackslashes--;
    const isEscaped = (end - beforeBackslashes) % 2 === 0;
    if (!isEscaped) return end;
  }
  return text.length;
}
