import { describe, expect, it } from 'vitest';
import { compareUTF8, cutUTF8 } from '../../../src/status-manager/status/utf8.ts';

describe('compareUTF8', () => {
  it('orders as the UTF-8 bytes do', () => {
    const texts = ['', 'a', 'a\u0080', 'ab', 'b', '\u0080', '\u07FF', '\u0800', '\uD7FF', '\uE000', '\uFFFF'];
    const ordered = [...texts, '\u{10000}', '\u{10001}', '\u{103FF}', '\u{10FFFF}'].toSorted((a, b) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)),
    );
    const signs = ordered.flatMap((a, i) =>
      ordered.map((b, j) => [a, b, Math.sign(compareUTF8(a, b)), i - j] as const),
    );
    expect(signs.filter(([, , sign, distance]) => sign !== Math.sign(distance))).toEqual([]);
  });
});

describe('cutUTF8', () => {
  it.each([
    ['a', 1],
    ['\u007F', 1],
    ['\u0080', 2],
    ['\u07FF', 2],
    ['\u0800', 3],
    ['\uFFFF', 3],
    ['\u{10000}', 4],
    ['\u{10FFFF}', 4],
  ])('%j takes %i bytes, and is never cut in two', (character, bytes) => {
    expect(Buffer.byteLength(character)).toBe(bytes);
    for (let maxBytes = 0; maxBytes <= 2 * bytes + 2; maxBytes++) {
      const whole = `${character}${character}ab`;
      const kept = Math.min(2, Math.floor(maxBytes / bytes));
      const rest = 'ab'.slice(0, Math.max(0, maxBytes - 2 * bytes));
      expect(cutUTF8(whole, maxBytes)).toBe(
        character === 'a' ? whole.slice(0, maxBytes) : character.repeat(kept) + rest,
      );
    }
  });
});
