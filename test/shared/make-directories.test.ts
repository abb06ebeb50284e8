import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { makeDirectories as makeDirectoriesOfExamples } from '../../examples/node-agent/make-directories.ts';
import { makeDirectories, makeDirectoriesSync } from '../../src/shared/make-directories.ts';

const folder = mkdtempSync(join(tmpdir(), 'make-directories-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('makeDirectories', () => {
  it('creates a directory and those above it, and says whether it is new', async () => {
    const path = join(folder, 'a/b/c');
    expect(await makeDirectories(path, 0o700)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(await makeDirectories(path)).toBe(false);
    expect(await makeDirectories(`${path}/`)).toBe(false);
  });

  it('may be called twice at the same time', async () => {
    const created = await Promise.all([1, 2, 3].map(() => makeDirectories(join(folder, 'x/y'))));
    expect(created.filter(Boolean)).toHaveLength(1);
  });

  it('rejects where a file is in the way', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(makeDirectories(file)).rejects.toThrow('EEXIST');
    await expect(makeDirectories(join(file, 'below'))).rejects.toThrow('ENOTDIR');
  });

  it.skipIf(!existsSync('/proc/self'))('rejects below /proc, where mkdir of Node.js never ends', async () => {
    await expect(makeDirectories('/proc/nope')).rejects.toThrow('ENOENT');
    await expect(makeDirectories('/proc/nope/below')).rejects.toThrow('ENOENT');
  });

  it('is used in place of a recursive mkdir, which no file has', () => {
    const recursive = ['src', 'examples'].flatMap((folder) => {
      const root = fileURLToPath(new URL(`../../${folder}`, import.meta.url));
      return readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.m?[jt]s$/.test(file))
        .filter((file) => /\bmkdir(Sync)?\([^;]*recursive: true/.test(readFileSync(join(root, file), 'utf8')))
        .map((file) => join(folder, file));
    });
    expect(recursive).toEqual([]);
  });
});

describe.each([
  ['makeDirectoriesSync', makeDirectoriesSync],
  ['makeDirectories of the examples', makeDirectoriesOfExamples],
])('%s', (name, make) => {
  it('creates a directory and those above it', () => {
    const path = join(folder, name, 'b/c');
    make(path, 0o700);
    make(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  it('throws where a file is in the way, and below /proc', () => {
    const file = join(folder, `${name} file`);
    writeFileSync(file, '');
    expect(() => make(join(file, 'below'))).toThrow('ENOTDIR');
    expect(() => make(file)).toThrow('EEXIST');
    if (existsSync('/proc/self')) expect(() => make('/proc/nope/below')).toThrow('ENOENT');
  });
});
