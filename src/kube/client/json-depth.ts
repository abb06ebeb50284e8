import { APIError } from './api-error.ts';

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
