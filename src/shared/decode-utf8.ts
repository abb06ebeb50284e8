import { isUtf8 } from 'node:buffer';

/** Matches a UTF-8 character, or else any one byte, in a text with one character for each byte. */
const characters =
  /[\x20-\x7f]+|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|[^]/g;

/** Decodes UTF-8. Replaces each invalid byte with U+FFFD, as Go's JSON does; `toString` replaces several bytes with one. */
export function decodeUTF8(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  return bytes.toString('latin1').replace(characters, (character) => {
    const isReplaced = character.length === 1 && character >= '\x80';
    return isReplaced ? '\uFFFD' : Buffer.from(character, 'latin1').toString();
  });
}
