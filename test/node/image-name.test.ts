import { describe, expect, it } from 'vitest';
import { parseImageName } from '../../src/node/runtime/image-name.ts';

const zeros = '0'.repeat(64);

describe('parseImageName', () => {
  it.each([
    ['busybox', 'docker.io/library/busybox'],
    ['busybox:1.37.0-2', 'docker.io/library/busybox'],
    ['library/busybox', 'docker.io/library/busybox'],
    ['docker.io/busybox:1', 'docker.io/library/busybox'],
    ['index.docker.io/user/app', 'docker.io/user/app'],
    ['localhost/a', 'localhost/a'],
    ['localhost:5000/a/b__c/d--e', 'localhost:5000/a/b__c/d--e'],
    ['LOCAL.example/a:Tag_1', 'LOCAL.example/a'],
    ['LOCAL/a', 'LOCAL/a'],
    ['[fd00::1]:5000/a', '[fd00::1]:5000/a'],
    ['foo_bar.x/y', 'foo_bar.x/y'],
    [`registry.example/a@sha256:${zeros}`, 'registry.example/a'],
    [`registry.example/a:1@sha256:${zeros}`, 'registry.example/a'],
    [`registry.example/${'a'.repeat(255)}`, `registry.example/${'a'.repeat(255)}`],
  ])('%s is of the repository %s', (image, repository) => {
    expect(parseImageName(image)).toBe(repository);
  });

  it.each([
    ['', 'invalid reference format'],
    [':::', 'invalid reference format'],
    ['busybox:', 'invalid reference format'],
    [`busybox:${'1'.repeat(129)}`, 'invalid reference format'],
    ['a//b', 'invalid reference format'],
    ['a/b:1/c', 'invalid reference format'],
    ['a.b:x/c', 'invalid reference format'],
    ['-.b/c', 'invalid reference format'],
    ['a.b:x80/c', 'invalid reference format'],
    ['a.b/c:1:80', 'invalid reference format'],
    ['-a', 'invalid reference format'],
    ['a___b', 'invalid reference format'],
    ['a@sha256:1', 'invalid reference format'],
    [`a@sha256:${zeros}@sha256:${zeros}`, 'invalid reference format'],
    [`a:1@b/c@sha256:${zeros}`, 'invalid reference format'],
    ['BusyBox:1', 'invalid reference format: repository name (library/BusyBox) must be lowercase'],
    ['example.com/A/b', 'invalid reference format: repository name (A/b) must be lowercase'],
    ['a'.repeat(64), `invalid repository name (${'a'.repeat(64)}), cannot specify 64-byte hexadecimal strings`],
    [`registry.example/${'a'.repeat(256)}`, 'repository name must not be more than 255 characters'],
  ])('refuses %s as Go does', (image, why) => {
    const message = `couldn't parse image name "${image}": ${why}`;
    expect(() => parseImageName(image)).toThrow(expect.objectContaining({ reason: 'InvalidImageName', message }));
  });

  it.each(['a'.repeat(1_000_000), `${'a.'.repeat(500_000)}_`, `a@${'b'.repeat(1_000_000)}`, '/'.repeat(1_000_000)])(
    'refuses a name of a megabyte in linear time: %.5s…',
    (image) => {
      expect(() => parseImageName(image)).toThrow("couldn't parse image name");
    },
  );
});
