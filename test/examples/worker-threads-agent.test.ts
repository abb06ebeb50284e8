import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container, ContainerStatus, ValidPod, PodSpec, PodStatus } from 'kubelet-status-manager';
import { createNodeAgent, type NodeAgent } from 'kubelet-status-manager/agent';
import { APIServer, silentLogger } from 'kubelet-status-manager/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { WorkerThreadsRuntime } from '../../examples/worker-threads-agent/worker-threads-runtime.ts';

const modules = {
  'exit.mjs': 'process.exit(Number(process.argv[2]));',
  'throw.mjs': 'throw new Error("no luck");',
  'server.mjs': `
    import { parentPort } from 'node:worker_threads';
    parentPort.once('message', () => process.exit(Number(process.env.EXIT_CODE ?? 0)));`,
  'stubborn.mjs': 'setInterval(() => {}, 1000);',
  'check.mjs': 'console.log(process.env.NAME, process.argv[2]); process.exit(3);',
};

describe.concurrent('WorkerThreadsRuntime in a node agent', () => {
  let directory: string;
  let server: APIServer;
  let runtime: WorkerThreadsRuntime;
  let agent: NodeAgent;
  let created = 0;
  /** The last one that the API server showed of each pod, which may be gone. */
  const exitCodes = new Map<string, number>();
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'threads-'));
    for (const [name, text] of Object.entries(modules)) writeFileSync(join(directory, name), text);
    server = await APIServer.start({ nodeUsers: ['threads'] });
    server.pods.subscribe(({ pod }) => {
      const [container] = (pod.status as PodStatus | undefined)?.containerStatuses ?? [];
      const exitCode = container?.state.terminated?.exitCode;
      if (exitCode !== undefined) exitCodes.set(pod.metadata?.name ?? '', exitCode);
    });
    runtime = new WorkerThreadsRuntime(directory);
    agent = createNodeAgent({
      nodeName: 'threads',
      client: server.kubeconfig('threads'),
      runtime,
      node: { addresses: ['127.0.0.1'] },
      logger: silentLogger,
    });
    agent.start();
    await agent.whenReady();
  });
  afterAll(async () => {
    await agent.stop({ terminatePods: true, gracePeriodSeconds: 2, drain: true });
    await server.close();
    rmSync(directory, { recursive: true });
  });

  /** A pod with one container, as the API server and the runtime show it. */
  function create(command: readonly string[], spec: Partial<PodSpec> = {}, more: Partial<Container> = {}) {
    const containers = [{ name: 'c', image: 'module', command, ...more }];
    const name = `pod-${++created}`;
    server.pods.create({
      metadata: { name, namespace: 'default' },
      spec: { nodeName: 'threads', containers, ...spec },
    });
    const pod = (): ValidPod | undefined => server.pods.list().find((one) => one.metadata?.name === name);
    const status = (): PodStatus | undefined => pod()?.status as PodStatus | undefined;
    return {
      pod,
      exitCode: () => exitCodes.get(name),
      phase: () => status()?.phase,
      container: (): ContainerStatus | undefined => status()?.containerStatuses?.[0],
      delete: (options?: object) => server.pods.delete('default', name, options),
    };
  }

  it.for([
    [['exit.mjs', '0'], 'Succeeded', { exitCode: 0, reason: 'Completed' }],
    [['exit.mjs', '7'], 'Failed', { exitCode: 7, reason: 'Error' }],
    [['throw.mjs'], 'Failed', { exitCode: 1, reason: 'Error', message: 'no luck' }],
    [['missing.mjs'], 'Failed', { exitCode: 1, reason: 'Error' }],
  ] as const)('%j ends as %s', async ([command, phase, terminated], { expect }) => {
    const pod = create(command, { restartPolicy: 'Never' });
    await expect.poll(pod.phase, { timeout: 15_000 }).toBe(phase);
    expect(pod.container()?.state.terminated).toMatchObject(terminated);
  });

  it('a container that has ended is restarted, with a back-off from the second time on', async ({ expect }) => {
    const pod = create(['exit.mjs', '1']);
    // The failed container is shown until the sync after it, which comes 10 to 15 s later. As in the kubelet, a sync that
    // comes after the back-off of 10 s restarts the container; then the next back-off, of 20 s, is shown.
    await expect.poll(() => pod.container()?.state.waiting?.reason, { timeout: 60_000 }).toBe('CrashLoopBackOff');
    expect(pod.container()?.restartCount).toBeOneOf([1, 2]);
  });

  it('a container is asked to end when its pod is deleted', async ({ expect }) => {
    const pod = create(['server.mjs'], {}, { env: [{ name: 'EXIT_CODE', value: '5' }] });
    await expect.poll(() => pod.container()?.ready, { timeout: 15_000 }).toBe(true);
    pod.delete();
    await expect.poll(pod.pod, { timeout: 15_000 }).toBeUndefined();
    expect(pod.exitCode()).toBe(5);
  });

  it('a container is terminated after its grace period', async ({ expect }) => {
    const pod = create(['stubborn.mjs'], { terminationGracePeriodSeconds: 1 });
    await expect.poll(pod.phase, { timeout: 15_000 }).toBe('Running');
    pod.delete({ gracePeriodSeconds: 1 });
    await expect.poll(pod.pod, { timeout: 15_000 }).toBeUndefined();
    expect(pod.exitCode()).toBe(137);
  });

  it('the command of a probe is a module', async ({ expect }) => {
    const readinessProbe = { exec: { command: ['exit.mjs', '0'] }, periodSeconds: 1 };
    const pod = create(['server.mjs'], {}, { readinessProbe, env: [{ name: 'NAME', value: 'web' }] });
    await expect.poll(() => pod.container()?.ready, { timeout: 15_000 }).toBe(true);
    const { containerID = '' } = pod.container()!;
    const result = await runtime.execSync(containerID, ['check.mjs', 'x'], 10_000);
    expect(result).toEqual({ exitCode: 3, stdout: 'web x\n', stderr: '' });
    await expect(runtime.execSync(containerID, ['stubborn.mjs'], 100)).rejects.toThrow('was stopped');
  });

  it('a container without a command is a ContainerConfigError', async ({ expect }) => {
    const pod = { metadata: { uid: 'uid', name: 'web', namespace: 'default' } };
    const config = { pod, container: { name: 'c' }, attempt: 0, hash: '' };
    await expect(runtime.createContainer(config)).rejects.toMatchObject({ name: 'ContainerConfigError' });
  });
});
