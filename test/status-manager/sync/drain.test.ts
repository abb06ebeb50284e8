import { describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { StatusManager } from '../../../src/status-manager/status-manager.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../../src/testing/fake-pod-client.ts';
import { silentLogger } from '../../../src/testing/recording-logger.ts';
import { podOf, SyncHarness } from './sync-harness.ts';

describe('flush()', () => {
  it('on a manager that was not started sends nothing after its deadline, and leaves no timer', async () => {
    const pods = ['a', 'b', 'c'].map((name) => ({
      metadata: { namespace: 'default', name, uid: `uid-${name}` },
      spec: { containers: [] },
    }));
    const client = new FakePodClient(pods);
    client.fail({}, 500, 1);
    const clock = new FakeClock();
    const options = { client, podCouldHaveRunningContainers: () => false, clock, logger: silentLogger, concurrency: 1 };
    const manager = new StatusManager(options);
    for (const pod of pods) manager.setPodStatus(pod, { phase: 'Running' });
    const release = client.hold({ verb: 'get', name: 'b' }, 1);
    const flushed = manager.flush(1_000);
    await clock.advanceAsync(1_000);
    expect(await flushed).toBe(3);
    release();
    await clock.advanceAsync(60_000);
    expect(client.actions.map(({ name }) => name)).not.toContain('c');
    expect(clock.pendingTimers).toBe(0);
    await manager.stop();
  });
});

describe('stop({ drain: true })', () => {
  it('lets the DELETE of a terminated pod come to its end', async () => {
    const metadata = { namespace: 'default', name: 'web', uid: 'uid-1', deletionTimestamp: '2026-01-02T03:04:05Z' };
    const pod = { metadata, spec: { containers: [] } };
    const client = new FakePodClient([pod]);
    const clock = new FakeClock();
    const manager = new StatusManager({
      client,
      podCouldHaveRunningContainers: () => false,
      clock,
      logger: silentLogger,
    });
    manager.start();
    const release = client.hold({ verb: 'delete' }, 1);
    manager.terminatePod(pod);
    await clock.yieldToEventLoop();
    expect(client.actionsOf({ verb: 'delete' })).toHaveLength(1);

    const stopped = manager.stop({ drain: true });
    await clock.yieldToEventLoop();
    release();
    await stopped;

    expect(client.pod('default', 'web')).toBeUndefined();
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([404, 403])(
    'does not wait for a pod that the watch has shown gone, nor warn of it (%i)',
    async (statusCode) => {
      const h = new SyncHarness();
      h.addPods('gone', 'stays');
      h.manager.start();
      h.set('gone', '1');
      await h.settle();
      h.podManager.removePod(podOf('gone'));
      h.client.fail({ name: 'gone' }, statusCode, Number.POSITIVE_INFINITY);
      h.set('gone', '2');
      h.set('stays', '2');
      const stopped = h.manager.stop({ drain: true });
      await h.clock.advanceAsync(1);
      await stopped;
      expect(h.written('stays')).toBe('2');
      expect(h.logger.warnings).toEqual([]);
    },
  );

  it('waits for a pod that the API server does not show, but the pod manager does', async () => {
    const h = new SyncHarness();
    h.addPods('late');
    h.manager.start();
    h.client.fail({ name: 'late' }, 404, 2);
    h.set('late', '1');
    const stopped = h.manager.stop({ drain: true });
    await h.clock.advanceAsync(9_000);
    await stopped;
    expect(h.written('late')).toBe('1');
  });

  it('sends a version set while an older one of the same pod is in flight', async () => {
    const pod = { metadata: { namespace: 'default', name: 'web', uid: 'uid-1' }, spec: { containers: [] } };
    const client = new FakePodClient([pod]);
    const clock = new FakeClock();
    const manager = new StatusManager({
      client,
      podCouldHaveRunningContainers: () => false,
      clock,
      logger: silentLogger,
    });
    manager.start();
    const release = client.hold({ verb: 'patch' }, 1);
    manager.setPodStatus(pod, { phase: 'Pending' });
    await clock.yieldToEventLoop();
    manager.setPodStatus(pod, { phase: 'Running' });

    const stopped = manager.stop({ drain: true });
    release();
    await stopped;

    expect(client.pod('default', 'web')?.status?.phase).toBe('Running');
    expect(clock.pendingTimers).toBe(0);
  });
});

it('a drain ignored Retry-After: the pod was tried again immediately (chaos, seed 90412)', async () => {
  const pod = { metadata: { namespace: 'default', name: 'web', uid: 'uid-1' }, spec: { containers: [] } };
  const client = new FakePodClient([pod]);
  const clock = new FakeClock();
  const manager = new StatusManager({
    client,
    podCouldHaveRunningContainers: () => false,
    clock,
    logger: silentLogger,
  });
  manager.start();
  client.react({ verb: 'patch' }, () => {
    if (client.actionsOf({ verb: 'patch' }).length > 1) return undefined;
    throw new APIError('busy', { kind: 'http', statusCode: 503, retryAfterMs: 2_000 });
  });
  manager.setPodStatus(pod, { phase: 'Running' });
  await clock.advanceAsync(100);
  const stopped = manager.stop({ drain: true });
  await clock.advanceAsync(1_800);
  expect(client.actionsOf({ verb: 'get' })).toHaveLength(1);
  await clock.advanceAsync(200);
  await stopped;
  expect(client.pod('default', 'web')?.status?.phase).toBe('Running');
  expect(clock.pendingTimers).toBe(0);
});

it('a drain retries a status that another writer has undone when its rewrite fails', async () => {
  const h = new SyncHarness();
  const pod = h.addPod(podOf('a'));
  h.manager.start();
  h.set('a', '1');
  await h.settle();
  h.addPod(pod);
  h.client.fail({ verb: 'patch' }, 500, 2);
  await h.clock.advanceAsync(10_000);
  const stopped = h.manager.stop({ drain: true });
  await h.clock.advanceAsync(2_000);
  expect(h.written('a')).toBe('1');
  await stopped;
});
