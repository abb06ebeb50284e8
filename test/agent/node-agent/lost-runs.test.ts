/** A container that ended for good does not run again when the runtime has lost its record (kubernetes#124176, #76382). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from 'kubelet-status-manager';
import { TestCluster } from './test-cluster.ts';

const main: Container = { name: 'main', image: 'app:1' };
const job: Container = { name: 'job', image: 'job:1' };
const podOf = (spec: Partial<PodSpec>): Pod => ({ metadata: { name: 'web' }, spec: { containers: [main], ...spec } });

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start({ runtime: { sandboxes: true, images: true } });
  cluster.runtime.script('job', { exitAfterMs: 2000 });
});
afterEach(() => cluster[Symbol.asyncDispose]());

/** The runtime loses the record of a container; with `everything`, of the pod and its sandbox. */
function lose(podUID: string, container: string, everything = false): void {
  const pod = cluster.runtime.pod(podUID)!;
  const containers = everything ? [] : pod.containers.filter(({ name }) => name !== container);
  const sandboxes = everything ? [] : (pod.sandboxes ?? []);
  cluster.runtime.put({ ...pod, sandboxes, containers });
}

/** As `kubectl debug` does. */
async function patchEphemeralContainers(ephemeralContainers: readonly Container[]): Promise<void> {
  const client = cluster.server.client();
  await client.transport.request('PATCH', '/api/v1/namespaces/default/pods/web/ephemeralcontainers', {
    contentType: 'application/strategic-merge-patch+json',
    body: { spec: { ephemeralContainers } },
  });
  await client.close();
}

const stateOf = (container: string): object | undefined => {
  const {
    containerStatuses = [],
    initContainerStatuses = [],
    ephemeralContainerStatuses = [],
  } = cluster.status('web')!;
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    ({ name }) => name === container,
  )?.state;
};

describe.each([
  ['at once', async (): Promise<void> => {}],
  [
    'while the agent is away',
    async (): Promise<void> => {
      await cluster.stopAgent();
      await cluster.startAgent();
    },
  ],
])('a run that the runtime loses %s', (_, restart) => {
  it.each<[string, Partial<PodSpec>]>([
    ['a container of a pod that never restarts', { containers: [main, job], restartPolicy: 'Never' }],
    [
      'a completed container of a pod that restarts on failure',
      { containers: [main, job], restartPolicy: 'OnFailure' },
    ],
    ['a container with a restart policy of its own', { containers: [main, { ...job, restartPolicy: 'Never' }] }],
  ])('%s', async (_name, spec) => {
    await cluster.startAgent();
    const uid = await cluster.create(podOf(spec));
    await cluster.advance(5000);
    expect(stateOf('job')).toMatchObject({ terminated: { exitCode: 0 } });
    lose(uid, 'job');
    await restart();
    await cluster.advance(70_000);
    expect(cluster.starts(uid, 'job')).toBe(1);
    expect(stateOf('job')).toMatchObject({ terminated: { exitCode: 0 } });
    expect(stateOf('main')).toMatchObject({ running: {} });
    expect(cluster.status('web')?.phase).toBe('Running');
  });

  it('an init container before the regular ones are created', async () => {
    await cluster.startAgent();
    cluster.runtime.fail({ method: 'createContainer', container: 'main' }, 'no space left on device', 5);
    const uid = await cluster.create(podOf({ initContainers: [job] }));
    await cluster.advance(5000);
    lose(uid, 'job');
    await restart();
    await cluster.advance(200_000);
    expect(cluster.starts(uid, 'job')).toBe(1);
    expect(cluster.status('web')?.phase).toBe('Running');
  });

  it('an ephemeral container', async () => {
    await cluster.startAgent();
    const uid = await cluster.create(podOf({}));
    await cluster.advance(3000);
    await patchEphemeralContainers([job]);
    await cluster.advance(6000);
    expect(stateOf('job')).toMatchObject({ terminated: { exitCode: 0 } });
    lose(uid, 'job');
    await restart();
    await cluster.advance(70_000);
    expect(cluster.starts(uid, 'job')).toBe(1);
  });

  it.each(['Never', 'OnFailure'])(
    'together with its sandbox, in a pod with restart policy %s',
    async (restartPolicy) => {
      await cluster.startAgent();
      cluster.runtime.fail({ method: 'createContainer', container: 'main' }, 'no space left on device', 5);
      const uid = await cluster.create(podOf({ containers: [main, job], restartPolicy }));
      await cluster.advance(5000);
      expect(stateOf('job')).toMatchObject({ terminated: { exitCode: 0 } });
      lose(uid, 'job', true);
      await restart();
      await cluster.advance(200_000);
      expect([cluster.starts(uid, 'job'), cluster.starts(uid, 'main')]).toEqual([1, 1]);
      expect(stateOf('main')).toMatchObject({ running: {} });
    },
  );
});

it('a container that may restart runs again when the runtime has lost its record', async () => {
  await cluster.startAgent();
  cluster.runtime.script('job', { exitAfterMs: 2000, exitCode: 1 }, {});
  const uid = await cluster.create(podOf({ containers: [main, job], restartPolicy: 'OnFailure' }));
  await cluster.advance(2900);
  lose(uid, 'job');
  await cluster.advance(70_000);
  expect(cluster.starts(uid, 'job')).toBeGreaterThan(1);
  expect(stateOf('job')).toMatchObject({ running: {} });
});

it('the init containers run again in a new sandbox, although the runtime has lost their runs in the first one', async () => {
  await cluster.startAgent();
  const uid = await cluster.create(podOf({ initContainers: [job] }));
  await cluster.advance(5000);
  lose(uid, 'job', true);
  cluster.runtime.fail({ method: 'createContainer', container: 'job' }, 'no space left on device', 3);
  await cluster.advance(200_000);
  expect(cluster.starts(uid, 'job')).toBe(2);
  expect(cluster.starts(uid, 'main')).toBe(2);
  expect(cluster.status('web')?.phase).toBe('Running');
});
