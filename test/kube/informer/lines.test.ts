import { array, assert, asyncProperty, nat, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLines } from '../../../src/kube/informer/watch-events.ts';

async function lines(chunks: readonly Uint8Array[], maxLineBytes = 1000): Promise<string[]> {
  const read: string[] = [];
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  for await (const line of readLines(source(), maxLineBytes)) read.push(line);
  return read;
}

/** Cuts bytes at the given places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const edges = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
}

describe('readLines', () => {
  it('returns the same lines wherever the stream is split, even within a character', async () => {
    const text = array(
      string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', ' ')),
      { maxLength: 8 },
    );
    await assert(
      asyncProperty(text, array(nat(200)), async (expected, places) => {
        const bytes = Buffer.from(expected.map((line) => `${line}\n`).join(''));
        expect(await lines(cut(bytes, places))).toEqual(expected);
      }),
    );
  });

  it('gives the text after the last newline', async () => {
    expect(await lines([Buffer.from('a\nb'), Buffer.from('c')])).toEqual(['a', 'bc']);
    expect(await lines([])).toEqual([]);
  });

  it('refuses a line that is too long, in one chunk and in many', async () => {
    const refusal = { kind: 'invalid-response' };
    await expect(lines([Buffer.from('12345\n')], 4)).rejects.toMatchObject(refusal);
    await expect(lines([Buffer.from('123'), Buffer.from('45')], 4)).rejects.toMatchObject(refusal);
    expect(await lines([Buffer.from('1234\n1234\n')], 4)).toEqual(['1234', '1234']);
  });

  it('a line that arrives one byte at a time does not keep an object per byte: chunks are copied into one buffer', async () => {
    const bytes = Buffer.from(`${'x'.repeat(50_000)}\n`);
    const chunks = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
    expect(await lines(chunks, 50_000)).toEqual(['x'.repeat(50_000)]);
  });
});
