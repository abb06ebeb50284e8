import { describe, expect, it } from 'vitest';
import type { PodConditionInput } from '../../../src/kube/objects/types.ts';
import { RequestLimiter } from '../../../src/status-manager/sync/request-limiter.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import type { FakeAction } from '../../../src/testing/fake-pod-client.ts';
import { SyncHarness, uidOf } from './sync-harness.ts';

describe('the transition time of a DisruptionTarget', () => {
  const transitionTimes = (conditions: readonly PodConditionInput[] | null | undefined) =>
    Object.fromEntries((conditions ?? []).map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));
  const evicted = {
    phase: 'Failed',
    conditions: [
      { type: 'Initialized', status: 'True' },
      { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' },
    ],
  };
  const expected = { Initialized: '2026-01-02T03:04:05Z', DisruptionTarget: '2026-01-02T03:09:05Z' };

  async function evictLate(): Promise<SyncHarness> {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', 'evicted', evicted);
    h.clock.advance(300_000);
    await h.manager.syncBatch(false);
    return h;
  }

  it('is that of the write, in the cached status too; those of other conditions stay', async () => {
    const h = await evictLate();
    expect(transitionTimes(h.client.pod('default', 'a')!.status!.conditions)).toEqual(expected);
    expect(transitionTimes(h.manager.getPodStatus(uidOf('a'))!.conditions)).toEqual(expected);
    expect(h.inspect('a')).toMatchObject({ version: 1, sentVersion: 1 });
  });

  it('stays the same in later writes', async () => {
    const h = await evictLate();
    h.clock.advance(300_000);
    h.set('a', 'later', evicted);
    await h.manager.syncBatch(false);
    expect(h.written('a')).toBe('later');
    expect(transitionTimes(h.client.pod('default', 'a')!.status!.conditions)).toEqual(expected);
    expect(transitionTimes(h.manager.getPodStatus(uidOf('a'))!.conditions)).toEqual(expected);
  });
});

it('a sync that stops while it waits for a limit leaves no log entry and no outcome', async () => {
  const clock = new FakeClock();
  const h = new SyncHarness({ clock, limiter: new RequestLimiter({ qps: 1, burst: 1, clock }) });
  h.addPods('a', 'b');
  h.manager.start();
  h.set('a', '1');
  h.set('b', '1');
  await clock.advanceAsync(0);
  // Its PATCH has to wait.
  expect(h.takeRequests()).toEqual(['get a']);
  const before = h.logger.lines.length;
  await h.manager.stop();
  expect(h.takeOutcomes()).toEqual([]);
  expect(h.takeRequests()).toEqual([]);
  expect(h.logger.lines.slice(before)).toEqual([]);
});

it('a sync that writes nothing takes one token of the limiter, for its GET', async () => {
  const clock = new FakeClock();
  const h = new SyncHarness({ clock, limiter: new RequestLimiter({ qps: 1, burst: 2, clock }) });
  h.addPods('a', 'b');
  const shown = h.client.pod('default', 'a')!;
  h.client.put({ ...shown, status: { phase: 'Running', message: '1' } });
  h.manager.start();
  h.set('a', '1');
  h.set('b', '1');
  await clock.advanceAsync(0);
  expect(h.takeRequests()).toEqual(['get a', 'get b']);
  await h.manager.stop();
});

describe('a PATCH that has waited for a limit', () => {
  async function changeWhileItWaits(readBeforePatch: 'always' | 'when-stale'): Promise<readonly FakeAction[]> {
    const clock = new FakeClock();
    const limiter = new RequestLimiter({ qps: 1, burst: 1, clock });
    const h = new SyncHarness({ clock, limiter, readBeforePatch }).informed();
    h.addPods('a');
    const change = (resourceVersion: string, status: string): void => {
      const { metadata, ...pod } = h.client.pod('default', 'a')!;
      const conditions = [...(pod.status?.conditions ?? []), { type: `example.com/${resourceVersion}`, status }];
      h.client.put({ ...pod, metadata: { ...metadata, resourceVersion }, status: { ...pod.status, conditions } });
      h.observe('a');
    };
    change('1', 'False');
    h.manager.start();
    h.set('a', '1');
    await clock.advanceAsync(0);
    if (readBeforePatch === 'when-stale') {
      await clock.advanceAsync(1_000);
      h.set('a', '2');
      await clock.advanceAsync(0);
    }
    change('2', 'True');
    await clock.advanceAsync(5_000);
    await h.manager.stop();
    return h.client.actions;
  }

  it('is based on the newest object that is known', async () => {
    const actions = await changeWhileItWaits('always');
    expect(actions).toMatchObject([{ verb: 'get' }, { verb: 'patch', patch: { resourceVersion: '2' } }]);
  });

  it('with when-stale, reads an object that has changed in the meantime', async () => {
    const actions = await changeWhileItWaits('when-stale');
    expect(actions.map(({ verb }) => verb)).toEqual(['get', 'patch', 'get', 'patch']);
  });
});
