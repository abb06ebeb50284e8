import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProcessRuntime } from '../../../examples/node-agent/process-runtime.ts';
import { livingGroups } from './run-agent.ts';

const pod = { metadata: { namespace: 'default', name: 'web', uid: 'uid-1' } };

let directory: string;
let runtime: ProcessRuntime;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'process-runtime-'));
  runtime = new ProcessRuntime(directory);
});
afterEach(async () => {
  runtime.killAll();
  await rm(directory, { recursive: true, force: true, maxRetries: 3 });
});

function sh(script: string, more: object = {}) {
  return { name: 'c', command: ['sh', '-c', script], ...more };
}

const log = (restartCount: number): Promise<string> =>
  readFile(join(directory, 'default_web_uid-1', `c.${restartCount}.log`), 'utf8');

describe('ProcessRuntime', () => {
  it.each([
    ['exit 0', { exitCode: 0, reason: 'Completed' }],
    ['exit 7', { exitCode: 7, reason: 'Error' }],
    ['kill -TERM $$$$', { exitCode: 143, reason: 'Error' }],
  ])('reports how `%s` ended', async (script, exit) => {
    const { exited } = await runtime.start(pod, sh(script), 0);
    expect(await exited).toEqual(exit);
  });

  it('gives the process its own environment, and only PATH of the agent’s', async () => {
    process.env['AGENT_SECRET'] = 'hush';
    const container = sh('env', { env: [{ name: 'GREETING', value: 'hello' }] });
    await (
      await runtime.start(pod, container, 0)
    ).exited;
    delete process.env['AGENT_SECRET'];
    const names = (await log(0)).split('\n').map((line) => line.split('=')[0]);
    expect(names).toEqual(expect.arrayContaining(['GREETING', 'HOME', 'HOSTNAME', 'PATH']));
    expect(names).not.toContain('AGENT_SECRET');
  });

  it('writes the output of each run to a file that only the user can read', async () => {
    await (
      await runtime.start(pod, sh('echo out; echo err >&2'), 0)
    ).exited;
    await (
      await runtime.start(pod, sh('echo again'), 1)
    ).exited;
    expect(await log(0)).toBe('out\nerr\n');
    expect(await log(1)).toBe('again\n');
    const podDirectory = join(directory, (await readdir(directory))[0]!);
    expect((await stat(podDirectory)).mode & 0o777).toBe(0o700);
    expect((await stat(join(podDirectory, 'c.0.log'))).mode & 0o777).toBe(0o600);
  });

  it('sends signals to child processes too', async () => {
    const container = await runtime.start(pod, sh('sleep 3600 & sleep 3600'), 0);
    container.signal('SIGTERM');
    expect(await container.exited).toMatchObject({ exitCode: 143 });
    await expect.poll(() => livingGroups([pidOf(container.id)])).toEqual([]);
  });

  it('kills child processes that outlive their parent', async () => {
    const container = await runtime.start(pod, sh("trap '' TERM; sleep 3600 & exit 0"), 0);
    await container.exited;
    await expect.poll(() => livingGroups([pidOf(container.id)])).toEqual([]);
  });

  it('sends no signal to a process that has ended', async () => {
    const container = await runtime.start(pod, sh('exit 0'), 0);
    await container.exited;
    expect(() => container.signal('SIGKILL')).not.toThrow();
  });

  it.each([
    [{ name: 'c', command: ['/does/not/exist'] }, 'ENOENT'],
    [sh('exit 0', { workingDir: '/does/not/exist' }), 'ENOENT'],
    [{ name: 'c', command: ['/'] }, 'EACCES'],
  ])('rejects when it cannot start %j', async (container, message) => {
    await expect(runtime.start(pod, container, 0)).rejects.toThrow(message);
  });

  it('kills all processes immediately', async () => {
    const containers = await Promise.all([0, 1].map((run) => runtime.start(pod, sh("trap '' TERM; sleep 3600"), run)));
    runtime.killAll();
    for (const { exited } of containers) expect(await exited).toMatchObject({ exitCode: 137 });
  });
});

function pidOf(id: string): number {
  return Number(id.replace('process://', ''));
}
