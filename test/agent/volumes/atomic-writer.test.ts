import { mkdtempSync } from 'node:fs';
import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HostDirectory } from '../../../src/agent/host-paths/host-directory.ts';
import { writeAtomically } from '../../../src/agent/volumes/atomic-writer.ts';

const file = (text: string, mode = 0o644) => ({ data: Buffer.from(text), mode });

function newVolume() {
  const folder = mkdtempSync(join(tmpdir(), 'volume-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = (files: Record<string, ReturnType<typeof file>>, setOwnership = async () => {}) =>
    HostDirectory.use(folder, [], (volume) => {
      const nowMs = Date.UTC(2030, 0, 2, 3, 4, 5);
      return writeAtomically(volume, new Map(Object.entries(files)), { nowMs, setOwnership });
    });
  return { folder, write };
}

describe('writeAtomically', () => {
  it("has the kubelet's layout: a folder with the time, ..data, and links to the files", async () => {
    const { folder, write } = newVolume();
    expect(await write({ key: file('value', 0o400), 'a/deep/one': file('1') })).toBe(true);
    expect(await readlink(join(folder, '..data'))).toMatch(/^\.\.2030_01_02_03_04_05\.\w+$/);
    expect(await readlink(join(folder, 'key'))).toBe('..data/key');
    expect(await readlink(join(folder, 'a'))).toBe('..data/a');
    expect(await readFile(join(folder, 'a/deep/one'), 'utf8')).toBe('1');
    expect((await stat(join(folder, 'key'))).mode & 0o777).toBe(0o400);
  });

  it('writes nothing when nothing has changed', async () => {
    const { folder, write } = newVolume();
    await write({ key: file('value') });
    const before = await readlink(join(folder, '..data'));
    expect(await write({ key: file('value') })).toBe(false);
    expect(await readlink(join(folder, '..data'))).toBe(before);
  });

  it('replaces all files with one rename, and removes obsolete files', async () => {
    const { folder, write } = newVolume();
    await write({ key: file('old'), gone: file('x') });
    const before = await readlink(join(folder, '..data'));
    expect(await write({ key: file('new'), added: file('y') })).toBe(true);
    const after = await readlink(join(folder, '..data'));
    expect(after).not.toBe(before);
    expect((await readdir(folder)).toSorted()).toEqual(['..data', after, 'added', 'key'].toSorted());
    expect(await readFile(join(folder, 'key'), 'utf8')).toBe('new');
  });

  it('keeps the old files when the new ones cannot be completed', async () => {
    const { folder, write } = newVolume();
    await write({ key: file('old') });
    await expect(write({ key: file('new') }, () => Promise.reject(new Error('no group')))).rejects.toThrow('no group');
    expect(await readFile(join(folder, 'key'), 'utf8')).toBe('old');
    expect(await readdir(folder)).toHaveLength(3);
  });
});
