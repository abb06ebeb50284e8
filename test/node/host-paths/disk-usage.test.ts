import { execFileSync } from 'node:child_process';
import { linkSync, lstatSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { diskUsage } from '../../../src/node/host-paths/disk-usage.ts';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { removeAll } from '../../../src/node/host-paths/remove-all.ts';
import { TestDirectories } from '../../support/directories.ts';
import { nestDirectories } from '../../support/nested-directories.ts';
import { openBelow } from '../../support/open-descriptors.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const isLinux = process.platform === 'linux';
const directories = new TestDirectories();
let folder: string;
let volume: string;
beforeEach(() => {
  folder = directories.create();
  volume = join(folder, 'volume');
  mkdirSync(volume);
});
afterEach(async () => {
  vi.restoreAllMocks();
  // Unlike rmSync, at any depth.
  await HostDirectory.use(systemFiles, folder, [], (directory) => removeAll(directory, 'volume'));
  directories.removeAll();
});

const measure = (name = 'volume'): ReturnType<typeof diskUsage> =>
  HostDirectory.use(systemFiles, folder, [], (directory) => diskUsage(directory, name));

/** The sum of these paths. */
const sumOf = (...paths: readonly string[]): object => ({
  bytes: paths.reduce((sum, path) => sum + lstatSync(join(folder, path)).blocks * 512, 0),
  inodes: paths.length,
  isComplete: true,
});

describe('diskUsage counts', () => {
  it('the blocks of folders and files, a file with two names once', async () => {
    mkdirSync(join(volume, 'sub'));
    writeFileSync(join(volume, 'sub', 'file'), Buffer.alloc(100_000, 1));
    linkSync(join(volume, 'sub', 'file'), join(volume, 'again'));
    writeFileSync(join(volume, 'other'), 'x');
    expect(await measure()).toEqual(sumOf('volume', 'volume/sub', 'volume/again', 'volume/other'));
  });

  it('nothing for what is missing, and a file for itself', async () => {
    expect(await measure('missing')).toEqual(sumOf());
    writeFileSync(join(folder, 'file'), 'x');
    expect(await measure('file')).toEqual(sumOf('file'));
  });

  it('links and FIFOs, not what links lead to', async () => {
    writeFileSync(join(folder, 'large'), Buffer.alloc(100_000, 1));
    symlinkSync(folder, join(volume, 'link'));
    symlinkSync(join(folder, 'large'), join(volume, 'file-link'));
    execFileSync('mkfifo', [join(volume, 'fifo')]);
    symlinkSync(folder, join(folder, 'volume-link'));
    expect(await measure()).toEqual(sumOf('volume', 'volume/link', 'volume/file-link', 'volume/fifo'));
    expect(await measure('volume-link')).toEqual(sumOf('volume-link'));
  });

  it.runIf(isLinux)('files below the longest path, with few open descriptors', async () => {
    const name = 'n'.repeat(200);
    nestDirectories(volume, name, 100);
    const before = process.cwd();
    process.chdir(volume);
    for (let i = 0; i < 100; i += 1) process.chdir(name);
    writeFileSync('deep', Buffer.alloc(1_000_000, 1));
    process.chdir(before);
    // Beside the way down, so that the walk has to come back.
    for (const sibling of ['a', 'z']) writeFileSync(join(volume, name, sibling), '');
    let most = 0;
    const { entries } = HostDirectory.prototype;
    vi.spyOn(HostDirectory.prototype, 'entries').mockImplementation(function (this: HostDirectory) {
      most = Math.max(most, openBelow(volume));
      return entries.call(this);
    });
    const { bytes, inodes } = await measure();
    expect(bytes).toBeGreaterThanOrEqual(1_000_000);
    expect(inodes).toBe(1 + 100 + 3);
    expect(most).toBeLessThan(40);
    expect(openBelow(volume)).toBe(0);
  });

  it('every folder of a tree that is deep and wide', async () => {
    // Three folders at each of 60 levels, of which the walk goes on in one at first.
    let [path, count] = [volume, 1];
    for (let level = 0; level < 60; level += 1) {
      for (const name of ['a', 'b', 'c']) mkdirSync(join(path, name, 'x'), { recursive: true });
      count += 6;
      path = join(path, 'b');
    }
    expect((await measure()).inodes).toBe(count);
  });
});

describe('diskUsage never reaches what is outside', () => {
  it('when a folder is replaced by a link between being listed and being opened', async () => {
    mkdirSync(join(volume, 'sub'));
    mkdirSync(join(folder, 'outside'));
    writeFileSync(join(folder, 'outside', 'large'), Buffer.alloc(1_000_000, 1));
    const { child } = HostDirectory.prototype;
    vi.spyOn(HostDirectory.prototype, 'child').mockImplementation(async function (this: HostDirectory, name) {
      if (String(name) === 'sub') {
        renameSync(join(volume, 'sub'), join(folder, 'moved'));
        symlinkSync(join(folder, 'outside'), join(volume, 'sub'));
      }
      return child.call(this, name);
    });
    const usage = await measure();
    expect(usage.inodes).toBe(2);
    expect(usage.bytes).toBeLessThan(100_000);
  });

  it.runIf(isLinux)('when the folders that it came through are moved away, and goes on above them', async () => {
    nestDirectories(volume, 'd', 60);
    // Walked after the deep ones or before them: both orders must count it.
    mkdirSync(join(volume, 'other', 'sub'), { recursive: true });
    mkdirSync(join(folder, 'outside', 'large'), { recursive: true });
    const { parent } = HostDirectory.prototype;
    let isMoved = false;
    vi.spyOn(HostDirectory.prototype, 'parent').mockImplementation(async function (this: HostDirectory) {
      if (!isMoved) {
        isMoved = true;
        const deepest = join(volume, ...Array.from({ length: 60 }, () => 'd'));
        renameSync(deepest, join(folder, 'outside', 'deepest'));
      }
      return parent.call(this);
    });
    expect((await measure()).inodes).toBe(1 + 60 + 2);
    expect(isMoved).toBe(true);
    expect(openBelow(folder)).toBe(0);
  });
});
