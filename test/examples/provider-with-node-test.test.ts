import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('examples/testing: node:test has a test for each rule of a provider, and passes them', () => {
  const path = new URL('../../dist/examples/testing/provider-with-node-test.js', import.meta.url);
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const options = { encoding: 'utf8', env, timeout: 120_000 } as const;
  const run = spawnSync(process.execPath, ['--test', fileURLToPath(path)], options);
  expect(run.stdout).toMatch(/^# pass 2\d$/m);
  expect(run.status).toBe(0);
});
