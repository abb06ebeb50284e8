import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { isClientNode2Installed } from '../support/client-node.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

it.skipIf(!isClientNode2Installed)(
  `the types accept what client-node 2 has${isClientNode2Installed ? '' : ' (skipped: npm installs it from Node.js 22.19 on)'}`,
  () => {
    const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'test/client-node-2'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(tsc.stdout + tsc.stderr).toBe('');
    expect(tsc.status).toBe(0);
  },
);
