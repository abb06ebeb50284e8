import { APIError, describeAPIError } from '../client/api-error.ts';
import { isNestedTooDeeply } from '../client/response-body.ts';
import { isObject, parseJSON, type Raw } from '../../shared/json.ts';
import { ChunkBuffer } from '../client/chunk-buffer.ts';

/** One event of a watch; `object` of a bookmark has a resourceVersion and nothing else. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: Raw;
}

/** etcd refuses objects above 1.5 MiB; as JSON they can be longer. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const TYPES: readonly string[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'] satisfies WatchEvent['type'][];

/**
 * The events in the body of a watch. Throws an `APIError`: the server's own for an ERROR event
 * (status code 410 when the resourceVersion is too old), `invalid-response` for anything that is
 * not a complete event.
 */
export async function* readWatchEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent, void> {
  for await (const line of readLines(chunks, MAX_EVENT_BYTES)) {
    if (line.trim() !== '') yield readEvent(line);
  }
}

function readEvent(line: string): WatchEvent {
  const event = isNestedTooDeeply(line) ? undefined : parseJSON(line);
  if (isObject(event) && isObject(event['object'])) {
    if (event['type'] === 'ERROR') throw describeStatus(event['object']);
    if (typeof event['type'] === 'string' && TYPES.includes(event['type'])) return event as unknown as WatchEvent;
  }
  throw new APIError('the watch sent something other than an event', { kind: 'invalid-response' });
}

function describeStatus(status: Record<string, unknown>): APIError {
  const { message, kind, statusCode, reason, causes, retryAfterMs } = describeAPIError(status);
  return new APIError(message, { kind, statusCode, reason, causes, retryAfterMs });
}

const newline = 10;

/**
 * The lines of a byte stream. Each is decoded on its own, so a character that is split over two
 * chunks is decoded correctly. The text after the last newline comes last, if there is any. Throws
 * an `APIError` `invalid-response` for a line longer than `maxLineBytes`.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
): AsyncGenerator<string, void> {
  const line = new ChunkBuffer();
  const add = (part: Uint8Array): void => {
    if (line.length + part.length > maxLineBytes)
      throw new APIError(`a watch event is longer than ${maxLineBytes} bytes`, { kind: 'invalid-response' });
    line.add(part);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      yield line.take().toString('utf8');
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (line.length > 0) yield line.take().toString('utf8');
}
