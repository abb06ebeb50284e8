/** Order of two strings by their UTF-8 bytes, as Go compares strings. */
export function compareUTF8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // UTF-16 sorts surrogates before U+E000…U+FFFF; UTF-8 sorts the characters they encode after them.
    return Number(isSurrogate(x)) - Number(isSurrogate(y)) || x - y;
  }
  return a.length - b.length;
}

function isSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff;
}

/**
 * The longest prefix of a termination message that ends between code points and has at most `maxBytes` bytes as the
 * container wrote it. U+FFFD counts as one byte, because it stands for a byte that is not UTF-8 (`decodeUTF8`).
 */
export function cutTerminationMessage(text: string, maxBytes: number): string {
  // No UTF-16 code unit takes more than three bytes.
  if (text.length * 3 <= maxBytes) return text;
  let bytes = 0;
  for (let i = 0; i < text.length;) {
    const codePoint = text.codePointAt(i)!;
    bytes += codePoint < 0x80 || codePoint === 0xfffd ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x1_0000 ? 3 : 4;
    if (bytes > maxBytes) return text.slice(0, i);
    i += codePoint < 0x1_0000 ? 1 : 2;
  }
  return text;
}
