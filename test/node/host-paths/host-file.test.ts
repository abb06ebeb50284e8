import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { undefinedIfMissing } from '../../../src/node/host-paths/error-code.ts';
import { exists, openRegularFile, readAll, readEnd } from '../../../src/node/host-paths/host-file.ts';
import { TestDirectories } from '../../support/directories.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const isLinux = process.platform === 'linux';
const directories = new TestDirectories();
let folder: string;
let file: string;
beforeEach(() => {
  folder = directories.create();
  file = join(folder, 'file');
  writeFileSync(file, 'one two three');
});
afterEach(() => directories.removeAll());

const openDescriptors = (): number => (isLinux ? readdirSync('/proc/self/fd').length : 0);

describe('openRegularFile', () => {
  it('opens a file for reading only', async () => {
    const handle = await openRegularFile(systemFiles, file);
    expect(await handle.readFile('utf8')).toBe('one two three');
    await expect(handle.write('x')).rejects.toThrow('EBADF');
    await handle.close();
  });

  it.each(['link', 'folder', 'fifo'])('opens nothing else: %s', async (name) => {
    symlinkSync(file, join(folder, 'link'));
    mkdirSync(join(folder, 'folder'));
    execFileSync('mkfifo', [join(folder, 'fifo')]);
    const before = openDescriptors();
    await expect(openRegularFile(systemFiles, join(folder, name))).rejects.toThrow(
      isLinux || name !== 'link' ? 'not a regular file' : 'ELOOP',
    );
    expect(openDescriptors()).toBeLessThanOrEqual(before);
  });
});

describe('readEnd', () => {
  it.each([
    [5, 'three'],
    [13, 'one two three'],
    [100, 'one two three'],
    [0, ''],
  ])('has the last bytes of a file, at most %i', async (maxBytes, text) => {
    const before = openDescriptors();
    expect((await readEnd(systemFiles, file, maxBytes)).toString()).toBe(text);
    expect(openDescriptors()).toBeLessThanOrEqual(before);
  });

  it('is empty for an empty file', async () => {
    writeFileSync(file, '');
    expect(await readEnd(systemFiles, file, 10)).toHaveLength(0);
  });
});

describe('readAll', () => {
  it('has the whole file, and closes it', async () => {
    const handle = await open(file);
    expect((await readAll(handle, 13)).toString()).toBe('one two three');
    expect(handle.fd).toBe(-1);
  });

  it('refuses a longer file, and closes it', async () => {
    const handle = await open(file);
    await expect(readAll(handle, 12)).rejects.toThrow('the file is larger than 12 bytes');
    expect(handle.fd).toBe(-1);
  });

  it('refuses a file of any size without memory for it', async () => {
    truncateSync(file, 2 ** 42);
    await expect(readAll(await open(file), 12)).rejects.toThrow('the file is larger than 12 bytes');
    truncateSync(file, 0);
  });

  it('refuses a file that has grown while it was read', async () => {
    const handle = await open(file);
    const { stat } = handle;
    handle.stat = (async () => {
      const stats = await stat.call(handle);
      appendFileSync(file, '!');
      return stats;
    }) as typeof stat;
    await expect(readAll(handle, 13)).rejects.toThrow('the file is larger than 13 bytes');
  });
});

it('exists follows links', async () => {
  symlinkSync('file', join(folder, 'link'));
  symlinkSync('gone', join(folder, 'broken'));
  expect(
    await Promise.all(['file', 'link', 'broken', 'gone'].map((name) => exists(systemFiles, join(folder, name)))),
  ).toEqual([...[true, true, false, false]]);
});

it('undefinedIfMissing hides nothing but that something does not exist', () => {
  expect(undefinedIfMissing(Object.assign(new Error('x'), { code: 'ENOENT' }))).toBeUndefined();
  const denied = Object.assign(new Error('denied'), { code: 'EACCES' });
  expect(() => undefinedIfMissing(denied)).toThrow(denied);
  expect(() => undefinedIfMissing(new Error('other'))).toThrow('other');
});
