import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { TestDirectories } from '../directories.ts';
import { listProcesses } from './processes.ts';
import { runNodeScript } from './scripts.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

it('an aborted script ends, and so does what it has started in the background', async () => {
  const folder = directories.create();
  const script = join(folder, 'script');
  const pidFile = join(folder, 'pid');
  writeFileSync(script, `#!/bin/sh\nsleep 1000 >/dev/null 2>&1 &\necho $! >${pidFile}\nsleep 1000\n`, { mode: 0o755 });
  const controller = new AbortController();
  const run = runNodeScript([script], { signal: controller.signal });
  await expect.poll(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8')).toMatch(/^\d+\n$/);
  const pid = Number(readFileSync(pidFile, 'utf8'));
  controller.abort(new Error('interrupted'));
  await expect(run).rejects.toThrow('interrupted');
  // A process that nobody waits for has no command any more.
  const isRunning = () => listProcesses().some((each) => each.pid === pid && each.command !== '');
  await expect.poll(isRunning).toBe(false);
});
