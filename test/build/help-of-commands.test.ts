import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));
const isBuilt = existsSync(dist);

describe.skipIf(!isBuilt)(`--help${isBuilt ? '' : ' (skipped: run `npm run build` first)'}`, () => {
  it.each([
    'examples/node-agent',
    'src/api-server/command',
    'test/chaos',
    'test/conformance',
    'test/generated',
    'test/kubernetes',
    'test/machine',
    'test/mutation',
    'test/side-by-side',
    'test/stranger',
    'test/virtual-kubelet',
  ])('of %s ends without an error when nobody reads its output', async (command) => {
    const child = spawn(process.execPath, [join(dist, command, 'main.js'), '--help']);
    child.stdout.destroy();
    let errors = '';
    child.stderr.on('data', (text) => (errors += String(text)));
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(errors).toBe('');
  });
});
