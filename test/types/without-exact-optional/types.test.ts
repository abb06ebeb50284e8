import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('the types accept what client-node has, also without exactOptionalPropertyTypes', () => {
  const project = fileURLToPath(new URL('.', import.meta.url));
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const args = ['node_modules/typescript/bin/tsc', '-p', project];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect([stdout + stderr, status]).toEqual(['', 0]);
});
