import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { calcRestartCountByLogDir } from '../../src/cri/container-logs.ts';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

it.each([
  ['no folder', undefined, 0],
  ['no logs', [], 0],
  ['one log', ['0.log'], 1],
  ['several, and a rotated one of a later run', ['9.log', '10.log', '11.log.20260102-030405.gz'], 12],
  ['other files', ['2.log', 'app.log', '7', 'x7.log'], 3],
])('calcRestartCountByLogDir: %s', async (_name, files, expected) => {
  const folder = join(directories.create(), 'app');
  if (files !== undefined) mkdirSync(folder);
  for (const name of files ?? []) writeFileSync(join(folder, name), '');
  expect(await calcRestartCountByLogDir(folder)).toBe(expected);
});
