import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { unmountAll } from '../../../src/node/host-paths/mounts.ts';
import { bindSubPath, makeSubPath } from '../../../src/agent/volumes/sub-path.ts';
import { TestDirectories } from '../../support/directories.ts';
import { openBelow } from '../../support/open-descriptors.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const { signal } = new AbortController();

const directories = new TestDirectories();
let folder: string;
let volume: string;
beforeEach(() => {
  folder = directories.create();
  volume = join(folder, 'volume');
  mkdirSync(join(volume, 'a'), { recursive: true });
  writeFileSync(join(volume, 'a', 'file'), 'inside');
  mkdirSync(join(folder, 'outside'));
  writeFileSync(join(folder, 'outside', 'file'), 'outside');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await (isRoot ? unmountAll(systemFiles, folder) : Promise.resolve()).finally(() => directories.removeAll());
});
const isRoot = process.getuid?.() === 0 && process.platform === 'linux';

describe('makeSubPath', () => {
  it.each(['a', 'a/file', '.', 'new', 'a/new/deep'])('is the path in the volume: %s', async (subPath) => {
    expect(await makeSubPath(systemFiles, volume, subPath)).toBe(join(volume, subPath));
    expect(existsSync(join(volume, subPath))).toBe(true);
  });

  it('new folders have the mode of the volume, whatever the umask', async () => {
    execFileSync('chmod', ['2773', volume]);
    await makeSubPath(systemFiles, volume, 'new/deep');
    for (const path of ['new', 'new/deep']) expect(statSync(join(volume, path)).mode & 0o777).toBe(0o773);
  });

  it('follows links inside the volume', async () => {
    symlinkSync('a', join(volume, 'link'));
    await makeSubPath(systemFiles, volume, 'link/new');
    expect(readdirSync(join(volume, 'a')).toSorted()).toEqual(['file', 'new']);
  });

  it.each([
    ['a link', 'link'],
    ['a folder behind a link', 'link/new'],
    ['..', '../outside/new'],
    ['a volume with the same beginning', '../volume2'],
  ])('never leads out of the volume: %s', async (_, subPath) => {
    symlinkSync('../outside', join(volume, 'link'));
    mkdirSync(join(folder, 'volume2'));
    await expect(makeSubPath(systemFiles, volume, subPath)).rejects.toThrow('the path is outside of the volume');
    expect(readdirSync(join(folder, 'outside'))).toEqual(['file']);
  });

  it('creates nothing through a folder that is replaced by a link after it was resolved', async () => {
    const { use } = HostDirectory;
    vi.spyOn(HostDirectory, 'use').mockImplementation(async (...parameters) => {
      renameSync(join(volume, 'a'), join(folder, 'moved'));
      symlinkSync(join(folder, 'outside'), join(volume, 'a'));
      return use.apply(HostDirectory, parameters);
    });
    await expect(makeSubPath(systemFiles, volume, 'a/new')).rejects.toThrow('ENOTDIR');
    expect(readdirSync(join(folder, 'outside'))).toEqual(['file']);
  });
});

it.runIf(process.platform === 'linux')(
  'bindSubPath leaves nothing open when the target cannot be created',
  async () => {
    const target = { rootDirectory: join(volume, 'a', 'file'), folder: ['pods'], name: '0', signal };
    await expect(bindSubPath(systemFiles, volume, 'a', target)).rejects.toThrow('EEXIST');
    expect(openBelow(volume)).toBe(0);
  },
);

describe.runIf(isRoot)('as root, bindSubPath', () => {
  const bind = (subPath: string): Promise<string> =>
    bindSubPath(systemFiles, volume, subPath, {
      ...{ rootDirectory: folder, folder: ['pods', 'u1', 'volume-subpaths'], name: '0', signal },
    });

  it('mounts a folder or a file of the volume, and what is missing as a folder', async () => {
    const target = await bind('a');
    expect(target).toBe(join(folder, 'pods/u1/volume-subpaths/0'));
    expect(readFileSync(join(target, 'file'), 'utf8')).toBe('inside');
    await unmountAll(systemFiles, target);
    await bind('new/deep');
    writeFileSync(join(target, 'written'), '');
    expect(readdirSync(join(volume, 'new', 'deep'))).toEqual(['written']);
  });

  it('mounts a file, and a FIFO without waiting for its writer', async () => {
    expect(readFileSync(await bind('a/file'), 'utf8')).toBe('inside');
    await unmountAll(systemFiles, join(folder, 'pods'));
    execFileSync('mkfifo', [join(volume, 'fifo')]);
    expect(statSync(await bind('fifo')).isFIFO()).toBe(true);
  });

  it('mounts once, and again when the volume has another folder of that name', async () => {
    const target = await bind('a');
    await bind('a');
    const mountsOf = (): number => readFileSync('/proc/self/mountinfo', 'utf8').split(` ${target} `).length - 1;
    expect(mountsOf()).toBe(1);
    renameSync(join(volume, 'a'), join(volume, 'old'));
    mkdirSync(join(volume, 'a'));
    await bind('a');
    expect(mountsOf()).toBe(1);
    expect(readdirSync(target)).toEqual([]);
  });

  it('never mounts what a link leads to that was put there after the path was resolved', async () => {
    const { use } = HostDirectory;
    vi.spyOn(HostDirectory, 'use').mockImplementation(async (...parameters) => {
      renameSync(join(volume, 'a'), join(folder, 'moved'));
      symlinkSync(join(folder, 'outside'), join(volume, 'a'));
      return use.apply(HostDirectory, parameters);
    });
    await expect(bind('a')).rejects.toThrow('the path is a link');
  });
});
