import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { linkMounts } from '../../src/process-runtime/volume-mounts.ts';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

it('a mount inside of another one is refused, and nothing is made in the volume, in whatever order the mounts are', () => {
  const folder = directories.create();
  const volume = join(folder, 'volume');
  mkdirSync(volume);
  const mounts = ['/data', '/data/z', '/data/b', '/data-2'].map((containerPath) => ({
    containerPath,
    hostPath: volume,
  }));
  expect(() => linkMounts(join(folder, 'root'), mounts)).toThrow('mountPath /data/z: volumes of processes cannot');
  expect(readdirSync(volume)).toEqual([]);
});
