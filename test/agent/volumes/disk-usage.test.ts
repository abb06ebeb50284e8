import { linkSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { diskUsage } from '../../../src/agent/volumes/disk-usage.ts';
import { TestDirectories } from '../../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

it('diskUsage counts blocks as du does, a file with two names once', async () => {
  const folder = directories.create();
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'sub', 'file'), Buffer.alloc(100_000, 1));
  linkSync(join(folder, 'sub', 'file'), join(folder, 'again'));
  const blocks = [folder, join(folder, 'sub'), join(folder, 'again')].map((path) => statSync(path).blocks);
  expect(await diskUsage(folder)).toBe(blocks.reduce((a, b) => a + b) * 512);
  expect(await diskUsage(join(folder, 'missing'))).toBe(0);
});
