import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { removeAll } from '../../../src/node/host-paths/remove-all.ts';
import { TestDirectories } from '../../support/directories.ts';
import { nestDirectories } from '../../support/nested-directories.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const isLinux = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;
const directories = new TestDirectories();
let folder: string;
let precious: string;
beforeEach(() => {
  folder = directories.create();
  precious = directories.create();
  writeFileSync(join(precious, 'file'), '');
  mkdirSync(join(folder, 'volume', 'a', 'b'), { recursive: true });
  writeFileSync(join(folder, 'volume', 'a', 'b', 'file'), '');
});
afterEach(() => {
  vi.restoreAllMocks();
  directories.removeAll();
});

const remove = (name: string | Buffer, signal?: AbortSignal): Promise<void> =>
  HostDirectory.use(systemFiles, folder, [], (directory) => removeAll(directory, name, signal));

describe('removeAll removes', () => {
  it('a folder with everything in it, a file, a link, and what does not exist', async () => {
    writeFileSync(join(folder, 'file'), '');
    symlinkSync(precious, join(folder, 'link'));
    for (const name of ['volume', 'file', 'link', 'missing']) await remove(name);
    expect(readdirSync(folder)).toEqual([]);
    expect(readdirSync(precious)).toEqual(['file']);
  });

  it.each(['child', 'entries'] as const)('what another process removes in the meantime: before %s', async (method) => {
    const original = HostDirectory.prototype[method] as (...args: unknown[]) => never;
    vi.spyOn(HostDirectory.prototype, method).mockImplementation(function (this: HostDirectory, ...args: unknown[]) {
      rmSync(join(folder, 'volume'), { recursive: true, force: true });
      return original.apply(this, args);
    } as never);
    await remove('volume');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('links, FIFOs, sockets and hard links in a folder, not what they lead to', async () => {
    symlinkSync(precious, join(folder, 'volume', 'a', 'link'));
    symlinkSync(join(precious, 'file'), join(folder, 'volume', 'a', 'b', 'link'));
    linkSync(join(precious, 'file'), join(folder, 'volume', 'hard'));
    execFileSync('mkfifo', [join(folder, 'volume', 'a', 'fifo')]);
    await remove('volume');
    expect(readdirSync(folder)).toEqual([]);
    expect(readdirSync(precious)).toEqual(['file']);
  });

  it.runIf(isLinux)('files whose names are not UTF-8', async () => {
    const name = Buffer.from([0xff, 0x0a]);
    mkdirSync(Buffer.concat([Buffer.from(`${folder}/volume/`), name]));
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/volume/`), name, Buffer.from('/file')]), '');
    await remove('volume');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('folders nested deeper than the longest path, with few open descriptors', async () => {
    nestDirectories(join(folder, 'volume'), 'n'.repeat(200), 100);
    nestDirectories(join(folder, 'volume', 'a'), 'd', 300);
    let mostDescriptors = 0;
    const before = isLinux ? readdirSync('/proc/self/fd').length : 0;
    const { entries } = HostDirectory.prototype;
    vi.spyOn(HostDirectory.prototype, 'entries').mockImplementation(async function* (this: HostDirectory) {
      for await (const entry of entries.call(this)) {
        if (isLinux) mostDescriptors = Math.max(mostDescriptors, readdirSync('/proc/self/fd').length - before);
        yield entry;
      }
    });
    await remove('volume');
    expect(readdirSync(folder)).toEqual([]);
    // The folder, the volume, and one in it, of which two are listed.
    expect(mostDescriptors).toBeLessThanOrEqual(6);
  });

  it('folders with more entries than the kernel lists at once', async () => {
    for (let i = 0; i < 200; i += 1) mkdirSync(join(folder, 'volume', `${i}`, 'a', 'b'), { recursive: true });
    await remove('volume');
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('removeAll never reaches what is outside', () => {
  it('when a folder is replaced by a link before it is opened', async () => {
    await HostDirectory.use(systemFiles, folder, [], async (directory) => {
      const child = directory.child.bind(directory);
      directory.child = async (name) => {
        renameSync(join(folder, 'volume'), join(folder, 'moved'));
        symlinkSync(precious, join(folder, 'volume'));
        return child(name);
      };
      await expect(removeAll(directory, 'volume')).rejects.toThrow('ENOTDIR');
    });
    expect(readdirSync(precious)).toEqual(['file']);
    // The next attempt removes the link.
    await remove('volume');
    expect(readdirSync(folder)).toEqual(['moved']);
  });

  it('when a folder in it is replaced by a link between being listed and being opened', async () => {
    const { child } = HostDirectory.prototype;
    let isReplaced = false;
    vi.spyOn(HostDirectory.prototype, 'child').mockImplementation(async function (this: HostDirectory, name) {
      if (name !== 'volume' && !isReplaced) {
        isReplaced = true;
        renameSync(join(folder, 'volume', String(name)), join(folder, 'moved'));
        symlinkSync(precious, join(folder, 'volume', String(name)));
      }
      return child.call(this, name);
    });
    await expect(remove('volume')).rejects.toThrow('ENOTDIR');
    expect(isReplaced).toBe(true);
    expect(readdirSync(precious)).toEqual(['file']);
    // The next attempt removes the link.
    await remove('volume');
    expect(readdirSync(folder)).toEqual(['moved']);
    expect(readdirSync(precious)).toEqual(['file']);
  });

  it.runIf(isLinux)('when the folder itself is moved away and replaced while it is emptied', async () => {
    const { rename } = HostDirectory.prototype;
    let isReplaced = false;
    vi.spyOn(HostDirectory.prototype, 'rename').mockImplementation(async function (this: HostDirectory, ...names) {
      if (!isReplaced) {
        isReplaced = true;
        renameSync(join(folder, 'volume'), join(folder, 'moved'));
        symlinkSync(precious, join(folder, 'volume'));
      }
      return rename.apply(this, names);
    });
    await expect(remove('volume')).rejects.toThrow('ENOTDIR');
    expect(readdirSync(precious)).toEqual(['file']);
    expect(readdirSync(join(folder, 'moved'))).toEqual([]);
  });

  it('by a name that is a path', async () => {
    // From the inside, so that a failure of this test would remove nothing but its own folder.
    await HostDirectory.use(systemFiles, folder, ['volume'], async (volume) => {
      await expect(removeAll(volume, '..')).rejects.toThrow('".." is not the name of a file');
    });
    await expect(remove('volume/a')).rejects.toThrow('"volume/a" is not the name of a file');
    expect(existsSync(join(folder, 'volume', 'a'))).toBe(true);
  });

  it.runIf(isRoot && isLinux)('through a mount: it rejects, and removes everything else', async () => {
    const mounted = [join(folder, 'volume', 'a', 'b'), join(folder, 'volume', 'c')];
    mkdirSync(mounted[1]!);
    writeFileSync(join(folder, 'volume', 'a', 'file'), '');
    const targets = mounted.map((path) => ({ path, options: ['--bind', precious] }));
    for (const { path, options } of targets) execFileSync('mount', [...options, path]);
    try {
      await expect(remove('volume')).rejects.toThrow('EBUSY');
      expect(readdirSync(precious)).toEqual(['file']);
      expect(readdirSync(join(folder, 'volume'), { recursive: true })).not.toContain(join('a', 'file'));
    } finally {
      for (const path of readdirSync(join(folder, 'volume'), { recursive: true }) as string[])
        if (['b', 'c'].includes(basename(path))) execFileSync('umount', [join(folder, 'volume', path)]);
    }
    await remove('volume');
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('removeAll', () => {
  const errorOf = (code: string): Error => Object.assign(new Error(code), { code });

  it('goes on when another process removes what it has just listed', async () => {
    for (const name of ['c', 'd']) mkdirSync(join(folder, 'volume', name, 'inside'), { recursive: true });
    const { rename } = HostDirectory.prototype;
    let isRemoved = false;
    vi.spyOn(HostDirectory.prototype, 'rename').mockImplementation(async function (this: HostDirectory, ...names) {
      if (!isRemoved) rmSync(join(folder, 'volume', String(names[0])), { recursive: true });
      isRemoved = true;
      return rename.apply(this, names);
    });
    await remove('volume');
    expect(isRemoved).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('removes folders of a system that refuses to unlink them with EPERM, as macOS does', async () => {
    const { unlink } = HostDirectory.prototype;
    vi.spyOn(HostDirectory.prototype, 'unlink').mockImplementation(async function (this: HostDirectory, name) {
      if ((await this.stats(name)).isDirectory()) throw errorOf('EPERM');
      return unlink.call(this, name);
    });
    await remove('volume');
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each(['unlink', 'rmdir'] as const)('rejects with the reason of the system: %s', async (method) => {
    vi.spyOn(HostDirectory.prototype, method).mockRejectedValue(errorOf('EIO'));
    await expect(remove('volume')).rejects.toThrow('EIO');
    expect(existsSync(join(folder, 'volume', 'a', 'b', 'file'))).toBe(true);
  });

  it.skipIf(isRoot)('rejects for what it may not remove, after it has removed the rest', async () => {
    execFileSync('chmod', ['500', join(folder, 'volume', 'a', 'b')]);
    writeFileSync(join(folder, 'volume', 'other'), '');
    await expect(remove('volume')).rejects.toThrow('EACCES');
    expect(readdirSync(join(folder, 'volume'))).toHaveLength(1);
    execFileSync('chmod', ['-R', '700', join(folder, 'volume')]);
    await remove('volume');
  });

  it('stops when its signal is aborted', async () => {
    await expect(remove('volume', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    expect(existsSync(join(folder, 'volume'))).toBe(true);
  });
});
