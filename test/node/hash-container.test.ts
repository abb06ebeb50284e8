import { describe, expect, it } from 'vitest';
import { hashContainer } from '../../src/node/runtime/hash-container.ts';

describe('hashContainer', () => {
  it('is the same as in the kubelet: FNV-1a over name and image', () => {
    const container = { name: 'test_container', image: 'foo/image:v1', args: ['/bin/sh', '-c', 'echo abc'] };
    expect(hashContainer(container)).toBe('8e45cbd0');
  });

  it('changes with the name and with the image', () => {
    const hashes = [
      hashContainer({ name: 'a', image: 'img' }),
      hashContainer({ name: 'b', image: 'img' }),
      hashContainer({ name: 'a', image: 'img:2' }),
      hashContainer({ name: 'a' }),
    ];
    expect(new Set(hashes).size).toBe(4);
  });
});
