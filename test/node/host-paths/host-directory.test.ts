import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { TestDirectories } from '../../support/directories.ts';
import { type HostFiles, systemFiles } from '../../../src/node/host-paths/host-files.ts';

const isLinux = process.platform === 'linux';
const directories = new TestDirectories();
let folder: string;
let umask: number;
beforeEach(() => {
  folder = directories.create();
  umask = process.umask();
});
afterEach(() => {
  process.umask(umask);
  directories.removeAll();
});

const modeOf = (...names: readonly string[]): number => statSync(join(folder, ...names)).mode & 0o7777;
const openDescriptors = (): number => (isLinux ? readdirSync('/proc/self/fd').length : 0);

describe('HostDirectory creates', () => {
  it('directories that are missing, with a mode whatever the umask; existing ones keep theirs', async () => {
    mkdirSync(join(folder, 'a'), { mode: 0o700 });
    process.umask(0o077);
    const before = openDescriptors();
    const made = await HostDirectory.make(systemFiles, folder, ['a', 'b', 'c'], 0o775);
    await made.close();
    expect([modeOf('a'), modeOf('a', 'b'), modeOf('a', 'b', 'c')]).toEqual([0o700, 0o775, 0o775]);
    expect(openDescriptors()).toBeLessThanOrEqual(before);
  });

  it('nothing that stays open when the mode of a new directory cannot be set', async () => {
    const open: number[] = [];
    const files: HostFiles = {
      ...systemFiles,
      open: async (...args) => {
        const file = await systemFiles.open(...args);
        open.push(file.fd);
        const close = (): Promise<void> => {
          open.splice(open.indexOf(file.fd), 1);
          return file.close();
        };
        return new Proxy(file, { get: (_, name) => (name === 'close' ? close : Reflect.get(file, name, file)) });
      },
      chmod: () => Promise.reject(new Error('input/output error')),
    };
    await expect(HostDirectory.make(files, folder, ['a', 'b'], 0o750)).rejects.toThrow('input/output error');
    expect(open).toEqual([]);
  });

  it('the folder of the agent itself', async () => {
    await (await HostDirectory.make(systemFiles, join(folder, 'root', 'deep'), ['a'], 0o750)).close();
    expect([modeOf('root'), modeOf('root', 'deep'), modeOf('root', 'deep', 'a')]).toEqual([0o750, 0o750, 0o750]);
  });

  it('files with a mode whatever the umask, and replaces their content', async () => {
    process.umask(0o077);
    const before = openDescriptors();
    await HostDirectory.use(systemFiles, folder, [], async (directory) => {
      await directory.writeFile('file', 'a long text', 0o664);
      await directory.writeFile('file', 'short', 0o644);
    });
    expect(openDescriptors()).toBeLessThanOrEqual(before);
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('short');
    expect(modeOf('file')).toBe(0o644);
  });

  it('a file only if there is none', async () => {
    await HostDirectory.use(systemFiles, folder, [], async (directory) => {
      await (await directory.createFile('file', 0o600)).close();
      await expect(directory.createFile('file', 0o600)).rejects.toThrow('EEXIST');
    });
    expect(modeOf('file')).toBe(0o600);
  });

  it('and reads, moves and removes what is in it', async () => {
    await HostDirectory.use(systemFiles, folder, [], async (directory) => {
      await directory.mkdir('a', 0o700);
      expect(modeOf('a')).toBe(0o700);
      await directory.symlink('target', 'link');
      expect(await directory.readlink('link')).toBe('target');
      expect((await directory.stats('link')).isSymbolicLink()).toBe(true);
      expect((await directory.ownStats()).ino).toBe(BigInt(statSync(folder).ino));
      await directory.within(['a'], (a) => directory.rename('link', a, 'moved'));
      expect(readlinkSync(join(folder, 'a', 'moved'))).toBe('target');
      await directory.within(['a'], (a) => a.unlink('moved'));
      await directory.rmdir('a');
    });
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('HostDirectory never follows a link that a pod has made', () => {
  let outside: string;
  beforeEach(() => {
    outside = directories.create();
    writeFileSync(join(outside, 'file'), 'precious', { mode: 0o644 });
    symlinkSync(outside, join(folder, 'link'));
    symlinkSync(join(outside, 'file'), join(folder, 'file-link'));
  });
  const contentOutside = (): unknown[] => [
    ...readdirSync(outside),
    readFileSync(join(outside, 'file'), 'utf8'),
    statSync(join(outside, 'file')).mode & 0o777,
  ];
  const use = <Result>(work: (directory: HostDirectory) => Promise<Result>): Promise<Result> =>
    HostDirectory.use(systemFiles, folder, [], work);

  it.each<[string, (directory: HostDirectory) => Promise<unknown>, string]>([
    ['to open a directory', (directory) => directory.child('link'), 'ENOTDIR'],
    ['to make one', (directory) => directory.makeChild('link', 0o755), 'ENOTDIR'],
    ['on the way', (directory) => directory.within(['link', 'new'], async () => {}, 0o755), 'ENOTDIR'],
    ['to read a file', (directory) => directory.openFile('file-link'), 'not a regular file'],
    ['to write a file', (directory) => directory.writeFile('file-link', 'x', 0o600), 'ELOOP'],
    ['to create a file', (directory) => directory.createFile('file-link', 0o600), 'EEXIST'],
  ])('%s', async (_name, work, message) => {
    const before = openDescriptors();
    await expect(use(work)).rejects.toThrow(message);
    expect(contentOutside()).toEqual(['file', 'precious', 0o644]);
    expect(openDescriptors()).toBeLessThanOrEqual(before);
  });

  it('but the folder of the agent may have links in its path', async () => {
    expect(
      await HostDirectory.use(
        systemFiles,
        join(folder, 'link'),
        [],
        async (directory) => (await directory.ownStats()).ino,
      ),
    ).toBe(BigInt(statSync(outside).ino));
  });

  it.runIf(isLinux)('to change the mode or the owner of a file', async () => {
    const { gid } = lstatSync(join(folder, 'file-link'));
    await use((directory) => directory.chown('file-link', -1, gid));
    await use((directory) => directory.chmod('file-link', 0o777)).catch(() => {});
    expect(contentOutside()).toEqual(['file', 'precious', 0o644]);
  });
});

it.each(['', '.', '..', 'a/b', '/etc', 'a\0b'])('HostDirectory refuses %j, which is not one name', async (name) => {
  await HostDirectory.use(systemFiles, folder, [], async (directory) => {
    const message = `${JSON.stringify(name)} is not the name of a file`;
    for (const work of [
      () => directory.child(name),
      () => directory.makeChild(name, 0o755),
      () => directory.stats(name),
      () => directory.openFile(name),
      () => directory.openReference(name),
      () => directory.writeFile(name, '', 0o600),
      () => directory.unlink(name),
      () => directory.rename('a', directory, name),
    ])
      await expect(work()).rejects.toThrow(message);
  });
});

it.runIf(isLinux)('a HostDirectory stays the same one when its path is replaced', async () => {
  mkdirSync(join(folder, 'a', 'b'), { recursive: true });
  await HostDirectory.use(systemFiles, folder, ['a', 'b'], async (directory) => {
    renameSync(join(folder, 'a'), join(folder, 'moved'));
    mkdirSync(join(folder, 'a', 'b'), { recursive: true });
    await directory.writeFile('file', '', 0o600);
    const parent = await directory.parent();
    await parent.closedAfter(() => parent.writeFile('beside', '', 0o600));
  });
  expect(readdirSync(join(folder, 'moved')).toSorted()).toEqual(['b', 'beside']);
  expect(readdirSync(join(folder, 'moved', 'b'))).toEqual(['file']);
  expect(readdirSync(join(folder, 'a', 'b'))).toEqual([]);
});

describe('a HostDirectory is closed', () => {
  it.runIf(isLinux)('when the work in it fails, or a directory in it cannot be opened', async () => {
    mkdirSync(join(folder, 'a'));
    const before = openDescriptors();
    const failing = HostDirectory.use(systemFiles, folder, ['a'], () => Promise.reject(new Error('failed')));
    await expect(failing).rejects.toThrow('failed');
    await expect(HostDirectory.open(systemFiles, folder, 'a', 'missing', 'b')).rejects.toThrow('ENOENT');
    await HostDirectory.use(systemFiles, folder, [], async (directory) => {
      await expect(directory.within(['a', 'missing'], async () => {})).rejects.toThrow('ENOENT');
      await expect(directory.within(['a'], () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
      expect(await directory.within([], async (same) => same)).toBe(directory);
      await directory.stats('a');
    });
    expect(openDescriptors()).toBeLessThanOrEqual(before);
  });
});

describe('what is in a HostDirectory', () => {
  it.runIf(isLinux)('may have a name that is not UTF-8', async () => {
    const name = Buffer.from([0x66, 0xff]);
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), name]), 'x');
    await HostDirectory.use(systemFiles, folder, [], async (directory) => {
      const names: Buffer[] = [];
      for await (const entry of directory.entries()) names.push(entry.name);
      expect(names).toEqual([name]);
      expect((await directory.stats(name)).size).toBe(1n);
      await directory.unlink(name);
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is read without waiting for the writer of a FIFO', async () => {
    execFileSync('mkfifo', [join(folder, 'fifo')]);
    await HostDirectory.use(systemFiles, folder, [], async (directory) => {
      await expect(directory.openFile('fifo')).rejects.toThrow('not a regular file');
      const reference = await directory.openReference('fifo');
      expect((await reference.stat()).isFIFO()).toBe(true);
      await reference.close();
    });
  });

  it('gets another mode', async () => {
    mkdirSync(join(folder, 'a'));
    writeFileSync(join(folder, 'file'), '');
    const before = openDescriptors();
    await HostDirectory.use(systemFiles, folder, [], async (directory) => {
      await directory.chmod('a', 0o2711);
      await directory.chmod('file', 0o604);
    });
    expect([modeOf('a'), modeOf('file')]).toEqual([0o2711, 0o604]);
    expect(openDescriptors()).toBeLessThanOrEqual(before);
  });
});
