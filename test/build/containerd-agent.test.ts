import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const built = fileURLToPath(new URL('../../dist/containerd-agent', import.meta.url));
const pageFiles = fileURLToPath(new URL('../../src/observe/statusz/client', import.meta.url));

it('containerd-agent runs without the rest of the repository, and has the files of the status page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'containerd-agent-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(built, folder, { recursive: true });
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'main.mjs'), '--help'], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain('--container-runtime-endpoint');
  expect(readdirSync(join(folder, 'client'))).toEqual(
    readdirSync(pageFiles).filter((name) => name !== 'tsconfig.json'),
  );
});
