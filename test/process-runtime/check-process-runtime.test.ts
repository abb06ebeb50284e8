import { expect, it } from 'vitest';
import type { Container } from 'kubelet-status-manager';
import { checkContainerRuntime } from 'kubelet-status-manager/testing';
import { TestRuntime, whyNoShim } from './test-runtime.ts';

function sh(script: string): Container {
  return { name: 'app', image: 'machine:1', command: ['sh', '-c', script] };
}

it.skipIf(whyNoShim !== '')(`the process runtime keeps every rule of the checklist${whyNoShim}`, async () => {
  await using test = await TestRuntime.start();
  const results = await checkContainerRuntime(test.runtime, {
    running: sh('trap "exit 0" TERM; while true; do sleep 0.1; done'),
    completed: sh('echo done'),
    failed: {
      container: { ...sh('printf oops >dev/termination-log; exit 3') },
      exitCode: 3,
      message: 'oops',
    },
    stubborn: sh('trap "" TERM; while true; do sleep 1; done'),
    unstartable: { name: 'app', image: 'machine:1', command: ['no-such-command'] },
    exec: {
      command: ['sh', '-c', 'echo out; echo err >&2; exit 3'],
      result: { exitCode: 3, stdout: 'out\n', stderr: 'err\n' },
      endless: ['sleep', '1000'],
    },
    podLogsDirectory: test.directory.logs,
    restart: async () => {
      await test.restart();
      return test.runtime;
    },
  });
  expect(results.filter(({ passed }) => !passed)).toEqual([]);
});
