import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkHostPathType } from '../../../src/node/host-paths/host-path-type.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'host-path-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'file'), 'text');
  return folder;
}

describe('checkHostPathType', () => {
  it('creates a missing path, and does not modify an existing one', async () => {
    const folder = newFolder();
    await checkHostPathType(systemFiles, join(folder, 'a/b'), 'DirectoryOrCreate');
    await checkHostPathType(systemFiles, join(folder, 'new'), 'FileOrCreate');
    await checkHostPathType(systemFiles, join(folder, 'file'), 'FileOrCreate');
    expect(statSync(join(folder, 'a/b')).isDirectory()).toBe(true);
    expect(statSync(join(folder, 'new')).size).toBe(0);
    expect(statSync(join(folder, 'file')).size).toBe(4);
  });

  it.skipIf(!existsSync('/proc/self'))(
    'rejects a path below /proc, whose creation would occupy a thread for ever',
    async () => {
      await expect(checkHostPathType(systemFiles, '/proc/nope/a', 'DirectoryOrCreate')).rejects.toThrow('ENOENT');
    },
  );

  it.each([
    ['Directory', 'file', "a directory, it's a File"],
    ['DirectoryOrCreate', 'file', "a directory, it's a File"],
    ['File', '.', "a file, it's a Directory"],
    ['Socket', 'file', "a socket file, it's a File"],
    ['CharDevice', 'file', "a character device, it's a File"],
    ['BlockDevice', 'file', "a block device, it's a File"],
  ])('refuses for %s what is something else: %s', async (type, name, what) => {
    const path = join(newFolder(), name);
    await expect(checkHostPathType(systemFiles, path, type)).rejects.toThrow(
      `hostPath type check failed: ${path} is not ${what}`,
    );
  });

  it('says that a path does not exist', async () => {
    const path = join(newFolder(), 'missing');
    await expect(checkHostPathType(systemFiles, path, 'File')).rejects.toThrow(
      `hostPath type check failed, ${path} is not a file, unable to determine its type: path "${path}" does not exist`,
    );
  });

  it('checks nothing without a type, and refuses an unknown one', async () => {
    await checkHostPathType(systemFiles, '/missing');
    await checkHostPathType(systemFiles, '/dev/null', 'CharDevice');
    await expect(checkHostPathType(systemFiles, '/', 'Folder')).rejects.toThrow('Folder is an invalid volume type');
  });
});
