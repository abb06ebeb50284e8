import { describe, expect, it } from 'vitest';
import { decodeUTF8 } from '../../../src/shared/decode-utf8.ts';
import { compareUTF8, cutTerminationMessage } from '../../../src/status-manager/status/utf8.ts';

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

describe('cutTerminationMessage', () => {
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
      expect(cutTerminationMessage(whole, maxBytes)).toBe(
        character === 'a' ? whole.slice(0, maxBytes) : character.repeat(kept) + rest,
      );
    }
  });
});

it('a byte that is not UTF-8 takes one byte of a termination message, not the three of its replacement', () => {
  const text = decodeUTF8(Buffer.alloc(10, 0xff));
  expect(text).toBe('\uFFFD'.repeat(10));
  expect(cutTerminationMessage(text, 4)).toBe('\uFFFD'.repeat(4));
});

describe('decodeUTF8', () => {
  it.each<[readonly number[], string]>([
    [[0x61, 0xff, 0x62], 'a\uFFFDb'],
    // Two bytes of a character that has three.
    [[0xe2, 0x82, 0x61], '\uFFFD\uFFFDa'],
    // An overlong form, half of a pair, and more than U+10FFFF.
    [[0xc0, 0x80], '\uFFFD\uFFFD'],
    [[0xed, 0xa0, 0x80], '\uFFFD\uFFFD\uFFFD'],
    [[0xf4, 0x90, 0x80, 0x80], '\uFFFD\uFFFD\uFFFD\uFFFD'],
  ])('replaces each byte that is not UTF-8, as Go does: %j', (bytes, text) => {
    expect(decodeUTF8(Buffer.from(bytes))).toBe(text);
  });

  it('keeps every character beside bytes that are not UTF-8', () => {
    const text = '\u0000\n\u007F\u0080\u07FF\u0800\uD7FF\uE000\uFFFF\u{10000}\u{10FFFF}';
    expect(decodeUTF8(Buffer.concat([Buffer.from(text), Buffer.of(0xff)]))).toBe(`${text}\uFFFD`);
  });
});
