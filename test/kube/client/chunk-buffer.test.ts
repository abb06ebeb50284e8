import { array, assert, property, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChunkBuffer } from '../../../src/kube/client/chunk-buffer.ts';

describe('ChunkBuffer', () => {
  it('returns the bytes of all chunks in order, and is empty afterwards', () => {
    const buffer = new ChunkBuffer();
    assert(
      property(array(uint8Array({ maxLength: 20_000 }), { maxLength: 8 }), (chunks) => {
        for (const chunk of chunks) buffer.add(chunk);
        const expected = Buffer.concat(chunks);
        expect(buffer.length).toBe(expected.length);
        expect(buffer.take().equals(expected)).toBe(true);
        expect(buffer.length).toBe(0);
        expect(buffer.take()).toHaveLength(0);
      }),
      { numRuns: 50 },
    );
  });

  it('copies chunks into one buffer, so a response of single bytes needs no multiple of its memory', () => {
    const socketRead = Buffer.alloc(64 * 1024, 'x');
    const buffer = new ChunkBuffer();
    for (let i = 0; i < 1_000_000; i++) buffer.add(socketRead.subarray(i % 1000, (i % 1000) + 1));
    const bytes = buffer.take();
    expect(bytes).toHaveLength(1_000_000);
    expect(bytes.buffer).not.toBe(socketRead.buffer);
    expect(bytes.buffer.byteLength).toBeLessThan(2 * 1_000_000);
  });

  it('uses a single chunk as it is, and never writes to it', () => {
    const chunk = Buffer.from('abc');
    const buffer = new ChunkBuffer();
    buffer.add(chunk);
    expect(buffer.take().buffer).toBe(chunk.buffer);
    buffer.add(chunk.subarray(0, 1));
    buffer.add(Buffer.from('ZZ'));
    expect(buffer.take().toString()).toBe('aZZ');
    expect(chunk.toString()).toBe('abc');
  });
});
