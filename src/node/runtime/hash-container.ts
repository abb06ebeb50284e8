import type { Container } from '../../kube/objects/types.ts';

const fnvOffsetBasis = 0x811c9dc5;
const fnvPrime = 0x01000193;

/**
 * A hash that changes if a change of the spec requires a restart of the running container, that is, if
 * its name or image changes. A runtime stores it with each container that it creates.
 * Source: kubelet `HashContainer` (FNV-1a 32 in hexadecimal).
 */
export function hashContainer({ name, image = '' }: Pick<Container, 'name' | 'image'>): string {
  const encoder = new TextEncoder();
  // Go hashes the debug output of the JSON bytes.
  const debugText = `([]uint8)[${encoder.encode(JSON.stringify({ image, name })).join(' ')}]`;
  let hash = fnvOffsetBasis;
  for (const byte of encoder.encode(debugText)) hash = Math.imul(hash ^ byte, fnvPrime);
  return (hash >>> 0).toString(16);
}
