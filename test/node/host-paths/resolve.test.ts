import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRuntimeHelper } from 'kubelet-status-manager/agent';
import { silentLogger } from 'kubelet-status-manager/testing';
import { isMountPoint } from '../../../src/node/host-paths/mounts.ts';
import { resolveInside, withoutLinks } from '../../../src/node/host-paths/resolve.ts';
import { TestDirectories } from '../../support/directories.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
let folder: string;
beforeEach(() => {
  folder = realpathSync(directories.create());
  mkdirSync(join(folder, 'volume', 'a'), { recursive: true });
  symlinkSync('volume', join(folder, 'link'));
});
afterEach(() => directories.removeAll());

it.each([
  ['link', 'volume'],
  ['link/a', 'volume/a'],
  ['link/new/deep', 'volume/new/deep'],
  ['new', 'new'],
])('withoutLinks: %s', (path, expected) => {
  expect(withoutLinks(systemFiles, join(folder, path))).toBe(join(folder, expected));
});

it('withoutLinks refuses a link that leads to itself', () => {
  symlinkSync('loop', join(folder, 'loop'));
  expect(() => withoutLinks(systemFiles, join(folder, 'loop', 'a'))).toThrow('ELOOP');
  expect(withoutLinks(systemFiles, '/')).toBe('/');
});

describe('resolveInside', () => {
  it('rejects for a link that leads to itself', async () => {
    symlinkSync('loop', join(folder, 'volume', 'loop'));
    await expect(resolveInside(systemFiles, join(folder, 'volume'), 'loop/a')).rejects.toThrow('ELOOP');
  });

  it('resolves links in a path and keeps what does not exist', async () => {
    symlinkSync('a', join(folder, 'volume', 'inner'));
    const root = join(folder, 'volume');
    expect(await resolveInside(systemFiles, join(folder, 'link'), 'inner/new/deep')).toEqual({
      root,
      names: ['a', 'new', 'deep'],
    });
    expect(await resolveInside(systemFiles, root, '.')).toEqual({ root, names: [] });
  });

  it('rejects for a path that leads out', async () => {
    symlinkSync('/', join(folder, 'volume', 'out'));
    await expect(resolveInside(systemFiles, join(folder, 'volume'), 'out/etc')).rejects.toThrow(
      'the path is outside of the volume',
    );
  });

  it('rejects for a path that the kernel cannot open at once', async () => {
    const resolved = resolveInside(systemFiles, join(folder, 'volume'), 'a/'.repeat(300_000));
    await expect(resolved).rejects.toThrow('invalid path: must be less than or equal to 4096 characters');
  });
});

it.runIf(process.getuid?.() === 0 && process.platform === 'linux')(
  'a root directory may be a link: what is mounted below it is unmounted before it is removed',
  async () => {
    const { volumeManager, close } = createRuntimeHelper({ rootDirectory: join(folder, 'link'), logger: silentLogger });
    const pod = {
      metadata: { name: 'web', namespace: 'default', uid: 'u1' },
      spec: { containers: [], volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }] },
    };
    await volumeManager.waitForAttachAndMount(pod, {});
    const path = join(folder, 'volume', 'pods', 'u1', 'volumes', 'kubernetes.io~empty-dir', 'memory');
    expect(await isMountPoint(systemFiles, path)).toBe(true);
    writeFileSync(join(path, 'file'), '');
    await volumeManager.waitForUnmount(pod, {});
    expect(existsSync(path)).toBe(false);
    await close();
  },
);
