import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { watchFile } from '../../../src/node/host-paths/watch-file.ts';
import { TestDirectories } from '../../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

function watched() {
  const folder = directories.create();
  const path = join(folder, 'file');
  writeFileSync(path, '');
  let changes = 0;
  const stop = watchFile(path, () => (changes += 1));
  onTestFinished(stop);
  return { folder, path, stop, changes: () => changes };
}

it('watchFile reports when the file changes, and when another one takes its name', async () => {
  const { folder, path, changes } = watched();
  writeFileSync(path, 'changed');
  await expect.poll(changes).toBeGreaterThan(0);
  writeFileSync(join(folder, 'other'), '');
  const before = changes();
  renameSync(join(folder, 'other'), path);
  await expect.poll(changes).toBeGreaterThan(before);
});

it('watchFile of a folder that does not exist reports nothing, and can be ended', () => {
  const stop = watchFile(join(directories.create(), 'missing', 'file'), () => {});
  expect(stop).not.toThrow();
});

it('watchFile reports no change of another file, and none after it has ended', async () => {
  const { folder, path, stop, changes } = watched();
  let others = 0;
  onTestFinished(watchFile(join(folder, 'other'), () => (others += 1)));
  writeFileSync(join(folder, 'other'), 'x');
  await expect.poll(() => others).toBeGreaterThan(0);
  const before = changes();
  const change = async (): Promise<void> => {
    const seen = others;
    writeFileSync(join(folder, 'other'), String(seen));
    await expect.poll(() => others).toBeGreaterThan(seen);
  };
  await change();
  stop();
  writeFileSync(path, 'changed');
  await change();
  expect(changes()).toBe(before);
});
