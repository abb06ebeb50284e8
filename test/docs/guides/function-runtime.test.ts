import { expect, it } from 'vitest';
import { createNodeAgent } from 'kubelet-status-manager/agent';
import { APIServer, checkContainerRuntime, silentLogger } from 'kubelet-status-manager/testing';
import { FunctionRuntime } from '../../../examples/function-runtime/function-runtime.ts';

it('the runtime of the guide runs a pod to its end, and stops one that is deleted', async () => {
  const server = await APIServer.start();
  const runtime = new FunctionRuntime(async ({ container }, signal) => {
    if (container.name === 'server') await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  const agent = createNodeAgent({
    nodeName: 'node-a',
    client: server.kubeconfig(),
    runtime,
    logger: silentLogger,
  });
  agent.start();
  await agent.whenReady();
  const create = (name: string): void => {
    const spec = { nodeName: 'node-a', restartPolicy: 'Never', containers: [{ name, image: 'app:1' }] };
    server.pods.create({ metadata: { name }, spec });
  };
  create('job');
  create('server');
  const phaseOf = (name: string): string | null | undefined =>
    server.pods.list().find(({ metadata }) => metadata?.name === name)?.status?.phase;
  await expect.poll(() => phaseOf('job'), { timeout: 10_000 }).toBe('Succeeded');
  await expect.poll(() => phaseOf('server'), { timeout: 10_000 }).toBe('Running');
  server.pods.delete('default', 'server');
  await expect.poll(() => phaseOf('server'), { timeout: 10_000 }).toBe(undefined);
  await agent.stop({ drain: true });
  await server.close();
});

it('the runtime of the guide keeps every rule of the checklist', async () => {
  const runtime = new FunctionRuntime(async ({ container }, signal) => {
    if (container.name === 'server') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    if (container.name === 'failed') throw new RangeError('oops');
  });
  const results = await checkContainerRuntime(runtime, {
    running: { name: 'server', image: 'app:1' },
    completed: { name: 'job', image: 'app:1' },
    failed: { container: { name: 'failed', image: 'app:1' }, exitCode: 1, message: 'RangeError: oops' },
  });
  expect(results.filter(({ passed }) => !passed)).toEqual([]);
});
