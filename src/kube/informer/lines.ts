import { APIError } from '../client/api-error.ts';
import { ChunkBuffer } from '../client/chunk-buffer.ts';

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
