import { describe, expect, it } from 'vitest';
import { cleanPath, requireName, requirePathLength } from '../../../src/node/host-paths/names.ts';

describe('requireName', () => {
  it.each(['a', '...', '..a', '.hidden', 'a b', 'ü'])('accepts %j', (name) => {
    expect(requireName(name)).toBe(name);
  });

  it.each(['', '.', '..', '/', 'a/', '/a', 'a/../b', '\0', 'a\0'])('refuses %j', (name) => {
    expect(() => requireName(name)).toThrow(`${JSON.stringify(name)} is not the name of a file`);
  });
});

it('requirePathLength counts bytes', () => {
  for (const path of ['a'.repeat(4096), 'ü'.repeat(2048)]) expect(requirePathLength(path)).toBe(path);
  for (const path of ['a'.repeat(4097), `${'ü'.repeat(2048)}a`])
    expect(() => requirePathLength(path)).toThrow('invalid path: must be less than or equal to 4096 characters');
});

it.each([
  ['/', '/'],
  ['', '.'],
  ['/a/', '/a'],
  ['a/', 'a'],
  ['//a///b/./c/', '/a/b/c'],
  ['/a/../../b', '/b'],
  ['a/../..', '..'],
  ['../../a/', '../../a'],
])('cleanPath: %j is %j', (path, clean) => {
  expect(cleanPath(path)).toBe(clean);
});
