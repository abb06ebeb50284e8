import { mkdtempSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { writeAtomically } from '../../../src/agent/volumes/atomic-writer.ts';
import type { FileProjection } from '../../../src/node/volumes/volume-payload.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const file = (text: string, mode = 0o644) => ({ data: Buffer.from(text), mode });

function newVolume() {
  const folder = mkdtempSync(join(tmpdir(), 'volume-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = (
    files: Record<string, FileProjection>,
    setOwnership = async () => {},
    signal = new AbortController().signal,
  ) =>
    HostDirectory.use(systemFiles, folder, [], (volume) => {
      const nowMs = Date.UTC(2030, 0, 2, 3, 4, 5);
      return writeAtomically(volume, new Map(Object.entries(files)), { nowMs, setOwnership, signal });
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

  it('writes again what a container or somebody else has changed', async () => {
    const { folder, write } = newVolume();
    const files = { key: file('value'), 'a/b': file('1') };
    await write(files);
    const data = (path: string) => join(folder, '..data', path);
    for (const change of [
      () => writeFile(data('key'), 'VALUE'),
      () => rm(data('key')),
      () => rm(data('a'), { recursive: true }),
      () => writeFile(data('more'), ''),
      () => rm(join(folder, '..data')),
    ]) {
      await change();
      expect(await write(files)).toBe(true);
      expect(await readFile(join(folder, 'key'), 'utf8')).toBe('value');
      expect(await readFile(join(folder, 'a/b'), 'utf8')).toBe('1');
      expect(await readdir(join(folder, '..data'))).toHaveLength(2);
      expect(await write(files)).toBe(false);
    }
  });

  it('writes again when a file has another name', async () => {
    const { folder, write } = newVolume();
    await write({ a: file('1') });
    expect(await write({ b: file('1') })).toBe(true);
    expect((await readdir(folder)).filter((name) => !name.startsWith('..'))).toEqual(['b']);
  });

  it('makes a link again that is missing, and goes on after an attempt that was interrupted', async () => {
    const { folder, write } = newVolume();
    await write({ key: file('old') });
    await rm(join(folder, 'key'));
    expect(await write({ key: file('old') })).toBe(false);
    expect(await readFile(join(folder, 'key'), 'utf8')).toBe('old');
    await symlink('..gone', join(folder, '..data_tmp'));
    expect(await write({ key: file('new') })).toBe(true);
    expect(await readFile(join(folder, 'key'), 'utf8')).toBe('new');
    expect(await readdir(folder)).not.toContain('..data_tmp');
  });

  it('leaves alone what it has not made', async () => {
    const { folder, write } = newVolume();
    await mkdir(join(folder, 'nested'));
    await writeFile(join(folder, 'own'), '');
    await write({ key: file('1') });
    await write({ other: file('1') });
    expect((await readdir(folder)).filter((name) => !name.startsWith('..')).toSorted()).toEqual([
      ...['nested', 'other', 'own'],
    ]);
  });

  it('a volume may have no files', async () => {
    const { folder, write } = newVolume();
    expect(await write({})).toBe(true);
    expect(await readdir(join(folder, '..data'))).toEqual([]);
    expect(await write({})).toBe(false);
  });

  it('sets the group before the new files can be seen', async () => {
    const { folder, write } = newVolume();
    await write({ key: file('old') });
    const seen: string[] = [];
    await write({ key: file('new') }, async () => void seen.push(await readFile(join(folder, 'key'), 'utf8')));
    expect(seen).toEqual(['old']);
  });

  it('makes folders that every user of a container can open, whatever the umask', async () => {
    const { folder, write } = newVolume();
    const before = process.umask(0o077);
    onTestFinished(() => void process.umask(before));
    await write({ 'a/b': file('1', 0o444) });
    const modeOf = async (path: string) => (await stat(join(folder, '..data', path))).mode & 0o777;
    expect([await modeOf('.'), await modeOf('a'), await modeOf('a/b')]).toEqual([0o755, 0o755, 0o444]);
  });

  it.runIf(process.getuid?.() === 0)('as root, a file belongs to its user', async () => {
    const { folder, write } = newVolume();
    await write({ token: { ...file('secret', 0o600), uid: 1234 }, other: file('x') });
    const { uid, gid } = await stat(join(folder, 'token'));
    expect([uid, gid]).toEqual([1234, process.getgid!()]);
    expect((await stat(join(folder, 'other'))).uid).toBe(0);
  });
});
