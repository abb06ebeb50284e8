import { isObject } from '../../shared/json.ts';
import { goString, goStruct } from './go-json.ts';

const fnvOffsetBasis = 0x811c9dc5;
const fnvPrime = 0x01000193;

/** FNV-1a 32 over what Go's `%#v` makes of the string: its type, then its bytes. */
export function checksumOf(data: string): number {
  let hash = fnvOffsetBasis;
  for (const byte of Buffer.from(`(string)${data}`)) hash = Math.imul(hash ^ byte, fnvPrime);
  return hash >>> 0;
}

/** The complete text of a checkpoint file. Source: kubelet `state.Checkpoint`. */
export function encodeEnvelope(data: string): string {
  return goStruct([
    ['data', goString(data)],
    ['checksum', String(checksumOf(data))],
  ]);
}

/** The data in a checkpoint file. Throws an Error that says what is wrong with the text. */
export function decodeEnvelope(text: string): string {
  const envelope: unknown = JSON.parse(text);
  if (!isObject(envelope) || !('data' in envelope) || !('checksum' in envelope)) {
    throw new TypeError('it is not an object with `data` and `checksum`');
  }
  const { data, checksum } = envelope;
  if (typeof data !== 'string') throw new TypeError('its `data` is not a string');
  if (checksum !== checksumOf(data)) throw new Error('its checksum does not match its data');
  return data;
}
