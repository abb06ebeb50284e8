import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Container } from 'kubelet-status-manager';
import { checkContainerRuntime } from 'kubelet-status-manager/testing';
import { WorkerThreadsRuntime } from '../../examples/worker-threads-agent/worker-threads-runtime.ts';

const modules = {
  'server.mjs': `
    import { parentPort } from 'node:worker_threads';
    parentPort.once('message', () => process.exit(0));`,
  'stubborn.mjs': 'setInterval(() => {}, 1000);',
  'exit.mjs': 'process.exit(Number(process.argv[2]));',
  'throw.mjs': 'throw new Error("oops");',
  'check.mjs': 'console.log("out"); process.exit(3);',
};

function run(...command: string[]): Container {
  return { name: 'app', image: 'module', command };
}

it('the worker-threads runtime keeps every rule of the checklist', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'threads-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const [name, text] of Object.entries(modules)) await writeFile(join(directory, name), text);
  const results = await checkContainerRuntime(new WorkerThreadsRuntime(directory), {
    running: run('server.mjs'),
    completed: run('exit.mjs', '0'),
    failed: { container: run('throw.mjs'), exitCode: 1, message: 'oops' },
    stubborn: run('stubborn.mjs'),
    unstartable: run(),
    exec: {
      command: ['check.mjs'],
      result: { exitCode: 3, stdout: 'out\n', stderr: '' },
      endless: ['stubborn.mjs'],
    },
  });
  expect(results.filter(({ passed }) => !passed)).toEqual([]);
});
