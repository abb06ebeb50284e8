import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { apiSource, type ContainerRuntime } from 'kubelet-status-manager/agent';
import { TestCluster } from './test-cluster.ts';
import { goodNews } from '../../support/log-lines.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const never = (): Promise<never> => new Promise(() => {});
const postStart = { exec: { command: ['x'] } };
const web: Pod = { metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app:1' }] } };
const webWithHook: Pod = {
  ...web,
  spec: { containers: [{ name: 'app', image: 'app:1', lifecycle: { postStart } }] },
};

/** Milliseconds that the stop took; fails when it takes longer than a minute. */
async function stop(): Promise<number> {
  const startedMs = cluster.clock.now();
  let isStopped = false;
  const stopping = cluster.agent.stop().finally(() => (isStopped = true));
  for (let i = 0; i < 20; i++) await cluster.clock.yieldToEventLoop();
  while (!isStopped && cluster.clock.now() - startedMs < 60_000)
    await cluster.clock.advanceAsync(1000, () => cluster.clock.yieldToEventLoop());
  expect(isStopped).toBe(true);
  await stopping;
  expect(cluster.clock.pendingTimers).toBe(0);
  return cluster.clock.now() - startedMs;
}

describe('a user callback never settles', () => {
  it('nodeStatus: the Node is registered without it, the log names the hook, and stop() ends', async () => {
    const agent = await cluster.startAgent({ node: { nodeStatus: never } });
    await cluster.advance(12_000);
    expect(agent.inspect().node).toMatchObject({ registered: true });
    expect(cluster.logger.warnings).toContainEqual(
      expect.objectContaining({
        message: 'Hook nodeStatus failed',
        fields: expect.objectContaining({ reason: 'nodeStatus took over 10000 ms' }) as object,
      }),
    );
    expect(await stop()).toBe(0);
  });

  it('waitForAttachAndMount: the log says so after 2m3s, without an event as in the kubelet, the pod can be deleted, and stop() ends', async () => {
    await cluster.startAgent({ volumeManager: { waitForAttachAndMount: never, waitForUnmount: async () => {} } });
    await cluster.create(web);
    const syncStartedAt = '2026-01-02T03:04:05Z';
    await cluster.advance(20_000);
    expect(cluster.agent.inspect().podWorkers).toMatchObject([{ isWorking: true, syncStartedAt }]);
    await cluster.advance(105_000);
    expect(cluster.podEvents()).toEqual([]);
    expect(cluster.logger.errors).toContainEqual(
      expect.objectContaining({
        fields: expect.objectContaining({
          reason: 'waitForAttachAndMount of the volume manager took over 123000 ms',
        }) as object,
      }),
    );
    await cluster.advance(20_000);
    cluster.server.pods.delete('default', 'web');
    // The end of the pod waits 10 s for a call that ignores its signal.
    await cluster.advance(15_000);
    expect(cluster.pod('web')).toBeUndefined();
    await cluster.create(web);
    await cluster.advance(1000);
    expect(await stop()).toBe(0);
  });

  it('waitForUnmount: stop() ends', async () => {
    await cluster.startAgent({ volumeManager: { waitForAttachAndMount: async () => {}, waitForUnmount: never } });
    cluster.runtime.script('app', { exitAfterMs: 1000 });
    await cluster.create({ ...web, spec: { ...web.spec!, restartPolicy: 'Never' } });
    await cluster.advance(5000);
    expect(await stop()).toBe(0);
  });

  it('a postStart hook: the pod can be deleted, and stop() ends', async () => {
    await cluster.startAgent({ handlerRunner: { run: never } });
    await cluster.create(webWithHook);
    await cluster.advance(3000);
    cluster.server.pods.delete('default', 'web');
    // The end of the pod waits 10 s for a call that ignores its signal.
    await cluster.advance(15_000);
    expect(cluster.pod('web')).toBeUndefined();
    await cluster.create(webWithHook);
    await cluster.advance(3000);
    expect(await stop()).toBe(0);
  });

  it.each(['createContainer', 'startContainer', 'runPodSandbox'] as const)(
    '%s: stop() waits for it for 10 s, not for the time-out of the runtime',
    async (method) => {
      const runtime = Object.assign(cluster.runtime, { [method]: never }) as ContainerRuntime;
      await cluster.startAgent({ runtime });
      await cluster.create(web);
      await cluster.advance(3000);
      const stoppedAfterMs = await stop();
      expect(stoppedAfterMs).toBeGreaterThanOrEqual(10_000);
      expect(stoppedAfterMs).toBeLessThan(20_000);
    },
  );
});

describe('a user callback throws', () => {
  it('waitForAttachAndMount: log and inspect() say why and since when, until it succeeds', async () => {
    let isBroken = true;
    const waitForAttachAndMount = async (): Promise<void> => {
      if (isBroken) throw new Error('no such disk');
    };
    const agent = await cluster.startAgent({
      volumeManager: { waitForAttachAndMount, waitForUnmount: async () => {} },
    });
    const failingSince = '2026-01-02T03:04:05Z';
    await cluster.create(web);
    await cluster.advance(30_000);
    expect(agent.inspect().podWorkers).toMatchObject([{ failingSince, failureReason: 'no such disk' }]);
    const line = { pod: 'default/web', reason: 'no such disk', failingSince };
    expect(cluster.logger.errors).toMatchObject([
      { message: 'Failed to sync pod; it will be retried', fields: { ...line, failures: 1 } },
    ]);
    isBroken = false;
    await cluster.advance(15_000);
    expect(goodNews(cluster.logger)).toMatchObject([
      { message: 'Starting node agent' },
      { message: 'The pod can be synced again', fields: { pod: 'default/web', failures: 3 } },
    ]);
    const [worker] = agent.inspect().podWorkers;
    expect(worker).toMatchObject({ failingSince: undefined, failureReason: undefined, syncStartedAt: undefined });
  });

  it('apiSource.filter: the log names it and the pod, and the other pods run', async () => {
    const filter = ({ metadata }: Pod): boolean => {
      if (metadata?.name === 'odd') throw new Error('oops');
      return true;
    };
    const agent = await cluster.startAgent({ sources: [apiSource({ filter })] });
    await cluster.create({ ...web, metadata: { name: 'odd' } });
    await cluster.create(web);
    await cluster.advance(3000);
    expect(agent.getPods().map(({ metadata }) => metadata?.name)).toEqual(['web']);
    expect(cluster.logger.errors).toMatchObject([
      { fields: { pod: 'default/odd', method: 'apiSource.filter', reason: 'oops' } },
    ]);
  });
});
