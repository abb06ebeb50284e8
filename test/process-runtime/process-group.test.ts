import { type ChildProcess, spawn } from 'node:child_process';
import { on } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { livingGroups } from '../examples/node-agent/run-agent.ts';
import { whyNoShim } from './test-runtime.ts';

/** Adds the process group of its argument while this process can open no further file. Prints what is logged. */
const script = `
  const { openSync, closeSync } = await import('node:fs');
  const { ProcessGroupGuard } = await import(process.argv[1]);
  const { systemClock } = await import(new URL('../shared/clock.js', process.argv[1]));
  const files = [];
  try {
    for (;;) files.push(openSync('/dev/null'));
  } catch {}
  const lines = [];
  const log = (level) => (fields, message) => {
    lines.push(JSON.stringify({ level, message, fields }));
    if (lines.length === 1) for (const file of files) closeSync(file); // from now on it can be started
    if (level === 'info') for (const line of lines) console.log(line);
  };
  const logger = { info: log('info'), warn: log('warn'), error: log('error') };
  new ProcessGroupGuard('commands', { clock: systemClock, logger }).add(Number(process.argv[2]));
  setInterval(() => {}, 1000);
`;
const compiled = new URL('../../dist/src/process-runtime/process-group.js', import.meta.url).href;
const children: ChildProcess[] = [];
afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));

describe.skipIf(whyNoShim !== '')(`ProcessGroupGuard${whyNoShim}`, () => {
  it('guards the groups of a process in which its shell could not be started at first, and logs both', async () => {
    const group = spawn('sleep', ['3600'], { detached: true, stdio: 'ignore' });
    const shell = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1" "$2" "$3"'];
    const owner = spawn('/bin/sh', [...shell, process.execPath, script, compiled, String(group.pid)]);
    children.push(group, owner);
    const lines = on(createInterface(owner.stdout), 'line');
    const nextLine = async (): Promise<unknown> => JSON.parse((await lines.next()).value[0]);
    expect(await nextLine()).toEqual({
      level: 'warn',
      message: 'The shell that kills commands when this process ends cannot be started',
      fields: { reason: 'spawn /bin/sh EMFILE', failingSince: expect.any(String), failures: 1 },
    });
    expect(await nextLine()).toMatchObject({
      level: 'info',
      message: 'The shell that kills commands when this process ends runs again',
    });
    expect(livingGroups([group.pid!])).toEqual([group.pid]);
    owner.kill('SIGKILL');
    await expect.poll(() => livingGroups([group.pid!])).toEqual([]);
  });
});
