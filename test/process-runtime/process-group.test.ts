import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { livingGroups } from '../examples/node-agent/run-agent.ts';
import { whyNoShim } from './test-runtime.ts';

/** Adds the process group of its argument while this process can open no further file, and says so. */
const script = `
  const { openSync, closeSync } = await import('node:fs');
  const { ProcessGroupGuard } = await import(process.argv[1]);
  const { systemClock } = await import(new URL('../shared/clock.js', process.argv[1]));
  const files = [];
  try {
    for (;;) files.push(openSync('/dev/null'));
  } catch {}
  const guard = new ProcessGroupGuard(systemClock);
  guard.add(Number(process.argv[2]));
  for (const file of files) closeSync(file);
  console.log('added');
  setInterval(() => {}, 1000);
`;
const compiled = new URL('../../dist/src/process-runtime/process-group.js', import.meta.url).href;
const children: ChildProcess[] = [];
afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));

describe.skipIf(whyNoShim !== '')(`ProcessGroupGuard${whyNoShim}`, () => {
  it('guards the groups of a process in which its shell could not be started at first', async () => {
    const group = spawn('sleep', ['3600'], { detached: true, stdio: 'ignore' });
    const shell = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1" "$2" "$3"'];
    const owner = spawn('/bin/sh', [...shell, process.execPath, script, compiled, String(group.pid)]);
    children.push(group, owner);
    await once(owner.stdout, 'data');
    const hasGuard = async (): Promise<boolean> => {
      const list = spawn('ps', ['-o', 'ppid=,args=', '-e']);
      const lines = (await list.stdout.setEncoding('utf8').toArray()).join('').split('\n');
      return lines.some((line) => line.trim().startsWith(`${owner.pid} /bin/sh`));
    };
    await expect.poll(hasGuard, { timeout: 10_000 }).toBe(true);
    expect(livingGroups([group.pid!])).toEqual([group.pid]);
    owner.kill('SIGKILL');
    await expect.poll(() => livingGroups([group.pid!])).toEqual([]);
  });
});
