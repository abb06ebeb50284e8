import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  bindMountOpenFile,
  hasMounts,
  isMountPoint,
  mountTmpfs,
  unmountAll,
} from '../../../src/node/host-paths/mounts.ts';
import { TestDirectories } from '../../support/directories.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

// Only root may mount.
describe.runIf(process.getuid?.() === 0 && process.platform === 'linux')('as root, mounts', () => {
  const directories = new TestDirectories();
  let folder: string;
  beforeEach(() => (folder = realpathSync(directories.create())));
  afterEach(async () => {
    await unmountAll(systemFiles, folder).finally(() => directories.removeAll());
  });
  function make(name: string): string {
    mkdirSync(join(folder, name), { recursive: true });
    return join(folder, name);
  }
  async function bind(from: string, to: string): Promise<void> {
    const handle = await open(from);
    await bindMountOpenFile(systemFiles, handle.fd, to);
    await handle.close();
  }

  it('a tmpfs of its size, which is not swapped where the kernel can do that', async () => {
    const path = make('memory');
    await mountTmpfs(systemFiles, path, 65_536n);
    const line = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((one) => one.includes(` ${path} `));
    expect(line).toMatch(/^tmpfs .* tmpfs .*size=64k/);
    // Linux 6.4 has it.
    const [major = 0, minor = 0] = release().split('.').map(Number);
    expect(line?.includes('noswap')).toBe(major > 6 || (major === 6 && minor >= 4));
    expect(() => writeFileSync(join(path, 'large'), Buffer.alloc(65_537))).toThrow('ENOSPC');
  });

  it('is a mount point: a tmpfs, a folder of the same disk, or a file, and nothing else', async () => {
    const [memory, source, target] = [make('memory'), make('source'), make('target')];
    writeFileSync(join(source, 'file'), '');
    writeFileSync(join(folder, 'file'), '');
    for (const path of [memory, target, join(folder, 'file'), join(folder, 'missing')])
      expect(await isMountPoint(systemFiles, path)).toBe(false);
    await mountTmpfs(systemFiles, memory, 4096n);
    await bind(source, target);
    await bind(join(source, 'file'), join(folder, 'file'));
    for (const path of [memory, target, join(folder, 'file')]) expect(await isMountPoint(systemFiles, path)).toBe(true);
    expect(await isMountPoint(systemFiles, join(target, 'file'))).toBe(false);
    expect(await isMountPoint(systemFiles, source)).toBe(false);
  });

  it.each(['a b', 'tab\tline\nback\\slash', 'ümlaut', 'a#b'])('are found below any name: %j', async (name) => {
    const path = make(`${name}/memory`);
    await mountTmpfs(systemFiles, path, 4096n);
    expect(await hasMounts(systemFiles, join(folder, name))).toBe(true);
    expect(await hasMounts(systemFiles, path)).toBe(true);
    await unmountAll(systemFiles, join(folder, name));
    expect(await hasMounts(systemFiles, join(folder, name))).toBe(false);
  });

  it('are unmounted at a path and below it, those inside others first, and not beside it', async () => {
    const [own, beside] = [make('own'), make('own-beside')];
    for (const path of [own, beside]) await mountTmpfs(systemFiles, path, 65_536n);
    await mountTmpfs(systemFiles, make('own/inner'), 4096n);
    await mountTmpfs(systemFiles, make('own/inner/deep'), 4096n);
    await unmountAll(systemFiles, own);
    expect(readdirSync(own)).toEqual([]);
    expect(await hasMounts(systemFiles, own)).toBe(false);
    expect(await hasMounts(systemFiles, beside)).toBe(true);
    await unmountAll(systemFiles, own);
  });

  it('are unmounted even while they are in use', async () => {
    const path = make('memory');
    await mountTmpfs(systemFiles, path, 4096n);
    const handle = await open(join(path, 'file'), 'w');
    await unmountAll(systemFiles, path);
    expect(await hasMounts(systemFiles, path)).toBe(false);
    await handle.close();
  });

  it('reject when the kernel refuses', async () => {
    await expect(mountTmpfs(systemFiles, join(folder, 'missing'), 4096n)).rejects.toThrow('missing');
  });
});
