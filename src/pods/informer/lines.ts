import { ApiError } from '../../client/api-error.ts';

const NEWLINE = 10;

/**
 * The lines of a byte stream, decoded one at a time: a character that is split over two chunks
 * comes out whole. The rest behind the last newline comes last, if there is any. Throws an
 * `ApiError` `invalid-answer` for a line longer than `maxLineBytes`.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
): AsyncGenerator<string, void> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): void => {
    parts.push(part);
    length += part.length;
    if (length > maxLineBytes)
      throw new ApiError(`a watch event is longer than ${maxLineBytes} bytes`, { kind: 'invalid-answer' });
  };
  const take = (): string => {
    const line = Buffer.concat(parts, length).toString('utf8');
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      yield take();
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (length > 0) yield take();
}
