import { isUtf8 } from 'node:buffer';

/** A character in UTF-8, in which each character of the text stands for a byte; or else any one byte. */
const characters =
  /[\x20-\x7f]+|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|[^]/g;

/** The text of `bytes`, in which each byte that is not UTF-8 is U+FFFD, as in JSON of Go. Others replace several bytes by one. */
export function decodeUTF8(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  return bytes.toString('latin1').replace(characters, (character) => {
    const isReplaced = character.length === 1 && character >= '\x80';
    return isReplaced ? '\uFFFD' : Buffer.from(character, 'latin1').toString();
  });
}
