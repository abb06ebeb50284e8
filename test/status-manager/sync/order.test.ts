import { describe, expect, it } from 'vitest';
import { ConnectionQueue } from '../../../src/kube/http/connection-queue.ts';
import { sleep } from '../../../src/shared/clock.ts';
import { conditions, podOf, SyncHarness, uidOf } from './sync-harness.ts';

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `p${i}`);

describe('concurrency', () => {
  it.each([1, 3, 8])('has at most %i pods in flight, and uses all of them', async (concurrency) => {
    const h = new SyncHarness({ concurrency });
    const pods = names(20);
    h.addPods(...pods);
    let inFlight = 0;
    let most = 0;
    h.client.react(
      {},
      async () => {
        most = Math.max(most, ++inFlight);
        await h.clock.yieldToEventLoop();
        inFlight--;
      },
      Number.POSITIVE_INFINITY,
    );
    h.manager.start();
    for (const name of pods) h.set(name, '1');
    await h.manager.flush(60_000);
    expect(most).toBe(concurrency);
    expect(pods.map((name) => h.written(name))).toEqual(pods.map(() => '1'));
    await h.manager.stop();
  });

  it('prints no warning of too many listeners, however many requests are in flight', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    try {
      const h = new SyncHarness({ concurrency: 50 });
      h.addPods(...names(50));
      h.client.hold({ verb: 'get' });
      h.manager.start();
      for (const name of names(50)) h.set(name, '1');
      await h.settle();
      expect(h.count('get')).toBe(50);
      await h.manager.stop();
      // Node prints warnings a turn later.
      await h.clock.yieldToEventLoop();
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', onWarning);
    }
  });
});

describe('one pod', () => {
  it('never has two requests in flight, even when a full batch and a manual batch start in the meantime', async () => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    h.addPods('a');
    const inFlight = new Map<string, number>();
    h.client.react(
      {},
      async ({ name }) => {
        inFlight.set(name, (inFlight.get(name) ?? 0) + 1);
        expect(inFlight.get(name)).toBe(1);
        for (let turn = 0; turn < 3; turn++) await h.clock.yieldToEventLoop();
        inFlight.set(name, inFlight.get(name)! - 1);
      },
      Number.POSITIVE_INFINITY,
    );
    h.manager.start();
    for (let i = 0; i < 20; i++) {
      h.set('a', String(i));
      await h.clock.advanceAsync(500);
      await h.manager.syncBatch(i % 2 === 0);
    }
    await h.manager.flush(10_000);
    expect(h.written('a')).toBe('19');
    await h.manager.stop();
  });

  it('a status set during the GET replaces the older one and is sent once', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    const release = h.client.hold({ verb: 'get' }, 1);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    for (let i = 2; i <= 50; i++) h.set('a', String(i));
    release();
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    expect(h.written('a')).toBe('50');
    expect(h.inspect('a')).toMatchObject({ version: 50, sentVersion: 50, unsentSince: undefined });
    await h.manager.stop();
  });

  it('statuses set during the PATCH are coalesced, and the newest is sent next', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    const release = h.client.hold({ verb: 'patch' }, 1);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    for (let i = 2; i <= 50; i++) h.set('a', String(i));
    release();
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a', 'get a', 'patch a']);
    expect(h.written('a')).toBe('50');
    await h.manager.stop();
  });

  it('a version that is set while the request waits for its permit is sent instead of the older one', async () => {
    const h = new SyncHarness({ qps: 1, burst: 1 });
    h.addPods('a');
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a']);
    h.set('a', '2');
    await h.clock.advanceAsync(1_000);
    expect(h.takeRequests()).toEqual(['patch a']);
    expect(h.written('a')).toBe('2');
    await h.clock.advanceAsync(5_000);
    expect(h.takeRequests()).toEqual([]);
    await h.manager.stop();
  });

  it('a hung request delays only its own pod, and ends at requestTimeoutMs', async () => {
    const h = new SyncHarness({ concurrency: 2, requestTimeoutMs: 5_000 });
    h.addPods('a', 'b', 'c');
    h.client.hold({ verb: 'patch', name: 'a' }, 1);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.set('b', '1');
    h.set('c', '1');
    h.set('a', '2');
    await h.clock.advanceAsync(4_999);
    expect([h.written('b'), h.written('c')]).toEqual(['1', '1']);
    expect(h.inspect('a').isInFlight).toBe(true);
    await h.clock.advanceAsync(1);
    expect(h.inspect('a')).toMatchObject({
      isInFlight: false,
      nextTryAt: '2026-01-02T03:04:11Z',
      lastError: 'No response within 5000 ms',
    });
    await h.clock.advanceAsync(500);
    expect(h.written('a')).toBe('2');
    await h.manager.stop();
  });
});

describe('a status that is dropped while its sync is under way', () => {
  it('and set again, is not taken for sent because the old one had a higher version', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a'));
    h.manager.start();
    for (let i = 1; i <= 5; i++) h.set('a', String(i));
    const release = h.client.hold({ verb: 'patch' }, 1);
    await h.settle();
    h.manager.removeOrphanedStatuses([]);
    h.manager.setPodStatus(pod, { message: 'again' });
    release();
    await h.settle();
    expect(h.written('a')).toBe('again');
    expect(h.inspect('a')).toMatchObject({ version: 1, sentVersion: 1, unsentSince: undefined });
    await h.manager.stop();
  });

  it('and set again, does not wait for the back-off of the old one', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a'));
    h.manager.start();
    for (let i = 1; i <= 5; i++) h.set('a', String(i));
    const release = h.client.hold({ verb: 'patch' }, 1);
    h.client.fail({ verb: 'patch' }, 422);
    await h.settle();
    h.manager.removeOrphanedStatuses([]);
    h.manager.setPodStatus(pod, { message: 'again' });
    release();
    await h.settle();
    expect(h.written('a')).toBe('again');
    await h.manager.stop();
  });

  it('also when it had been sent long before: version 1 is below the one that was sent', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a'));
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.set('a', '2');
    await h.settle();
    h.manager.removeOrphanedStatuses([]);
    h.client.fail({ verb: 'get' }, 500);
    h.manager.setPodStatus(pod, { message: 'again' });
    await h.settle();
    expect(h.written('a')).toBe('2');
    // Its retry, too, comes without waiting for a full batch.
    await h.clock.advanceAsync(500);
    expect(h.written('a')).toBe('again');
    await h.manager.stop();
  });

  it.each(['failed', 'written'] as const)('leaves no state behind when it has %s', async (end) => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    const release = h.client.hold({ verb: 'patch' }, 1);
    if (end === 'failed') h.client.fail({ verb: 'patch' }, 500);
    h.set('a', '1');
    await h.settle();
    h.manager.removeOrphanedStatuses([]);
    release();
    await h.settle();
    expect(h.manager.inspect()).toMatchObject({ pods: [], apiStatusVersions: new Map() });
    // Only the tick is left: nobody waits for a back-off.
    expect(h.clock.pendingTimers).toBe(1);
    expect(h.takeOutcomes()).toEqual(['gone 1']);
    await h.manager.stop();
  });

  it('still deletes the API object of a pod that has come to its end', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.manager.start();
    const release = h.client.hold({ verb: 'patch' }, 1);
    h.manager.terminatePod(pod);
    await h.settle();
    h.manager.removeOrphanedStatuses([]);
    release();
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a', 'delete a']);
    await h.manager.stop();
  });
});

describe('which pod goes first', () => {
  /** Sets statuses while the only place is taken, and returns the order in which they are sent. */
  async function orderOf(h: SyncHarness, set: () => void | Promise<void>): Promise<string[]> {
    const release = h.client.hold({ verb: 'get', name: 'blocker' }, 1);
    h.addPods('blocker');
    h.manager.start();
    h.set('blocker', '1');
    await h.settle();
    await set();
    h.takeRequests();
    release();
    await h.settle();
    return h
      .takeRequests()
      .filter((request) => request.startsWith('get '))
      .map((request) => request.slice(4));
  }

  it.each<[string, (h: SyncHarness) => void]>([
    ['becomes Ready', (h) => h.set('urgent', '1', { conditions: conditions.ready })],
    ['reaches a terminal phase', (h) => h.set('urgent', '1', { phase: 'Succeeded' })],
    ['is deletable', (h) => void h.manager.terminatePod(podOf('urgent'))],
  ])('one that %s, before cosmetic updates that came earlier', async (_what, set) => {
    const h = new SyncHarness({ concurrency: 1 });
    h.addPods('a', 'b', 'urgent');
    const order = await orderOf(h, () => {
      h.set('a', '1');
      h.set('b', '1');
      set(h);
    });
    expect(order).toEqual(['urgent', 'a', 'b']);
    await h.manager.stop();
  });

  it('one that becomes unready', async () => {
    const h = new SyncHarness({ concurrency: 1 });
    h.addPods('a', 'urgent');
    h.set('urgent', '1', { conditions: conditions.ready });
    await h.manager.syncBatch(false);
    const order = await orderOf(h, () => {
      h.set('a', '1');
      h.set('urgent', '2', { conditions: conditions.unready });
    });
    expect(order).toEqual(['urgent', 'a']);
    await h.manager.stop();
  });

  it('a change that is urgent stays so under a cosmetic one on top', async () => {
    const h = new SyncHarness({ concurrency: 1 });
    h.addPods('a', 'urgent');
    const order = await orderOf(h, () => {
      h.set('a', '1');
      h.set('urgent', '1', { conditions: conditions.ready });
      h.set('urgent', '2', { conditions: conditions.ready });
    });
    expect(order).toEqual(['urgent', 'a']);
    await h.manager.stop();
  });

  it('one that a full batch finds deletable', async () => {
    const h = new SyncHarness({ concurrency: 1, syncPeriodMs: 1_000, requestTimeoutMs: 600_000 });
    h.addPods('a', 'urgent');
    h.manager.terminatePod(podOf('urgent'));
    await h.manager.syncBatch(false);
    const order = await orderOf(h, async () => {
      h.set('a', '1');
      // Somebody deletes it; that is nothing we have to write.
      const { metadata, ...pod } = h.client.pod('default', 'urgent')!;
      h.addPod({ ...pod, metadata: { ...metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } });
      await h.clock.advanceAsync(1_000);
    });
    expect(order.slice(0, 2)).toEqual(['urgent', 'a']);
    expect(h.client.pod('default', 'urgent')).toBeUndefined();
    await h.manager.stop();
  });

  it('a routine update that has waited long: an endless stream of urgent ones starves no pod', async () => {
    const h = new SyncHarness({ concurrency: 1 });
    h.addPods('cosmetic', 'u0', 'u1', 'u2');
    // Each sync takes a second, and there is always somebody urgent in line.
    h.client.react(
      { verb: 'get' },
      () => new Promise((resolve) => void h.clock.afterFunc(1_000, () => resolve())),
      Number.POSITIVE_INFINITY,
    );
    h.manager.start();
    h.set('u0', '0', { conditions: conditions.ready });
    h.set('cosmetic', '1');
    for (let second = 0; second < 60; second++) {
      for (const name of ['u0', 'u1', 'u2']) {
        h.set(name, String(second), { conditions: second % 2 === 0 ? conditions.unready : conditions.ready });
      }
      await h.clock.advanceAsync(1_000);
      if (h.written('cosmetic') !== undefined) break;
    }
    expect(h.written('cosmetic')).toBe('1');
    expect(h.clock.monotonicMs()).toBeLessThan(15_000);
    await h.manager.stop();
  });

  it('equals go first in, first out', async () => {
    const h = new SyncHarness({ concurrency: 1 });
    const pods = names(5);
    h.addPods(...pods);
    const order = await orderOf(h, () => {
      for (const name of pods) h.set(name, '1');
      // A second change does not send a pod to the end of the line.
      h.set(pods[0]!, '2');
    });
    expect(order).toEqual(pods);
    await h.manager.stop();
  });
});

describe('inspect', () => {
  it('shows pods in flight, unsent and sent versions', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    h.client.hold({ verb: 'patch', name: 'a' }, 1);
    h.manager.start();
    h.set('a', '1');
    h.set('b', '1');
    await h.clock.advanceAsync(1_500);
    expect(h.inspect('a')).toEqual({
      podUID: uidOf('a'),
      podNamespace: 'default',
      podName: 'a',
      version: 1,
      sentVersion: undefined,
      podIsFinished: false,
      unsentSince: '2026-01-02T03:04:05Z',
      isInFlight: true,
      waitingFor: { kind: 'response', verb: 'patch', since: '2026-01-02T03:04:05Z' },
      nextTryAt: undefined,
      lastError: undefined,
    });
    expect(h.inspect('b')).toMatchObject({
      sentVersion: 1,
      unsentSince: undefined,
      isInFlight: false,
      sentAs: 'written',
      sentAt: '2026-01-02T03:04:05Z',
    });
    expect(h.metrics.statusGauges()).toMatchObject({
      cachedStatuses: 2,
      unsentStatuses: 1,
      oldestUnsentAgeSeconds: 1.5,
      waitingPods: [{ reason: 'response', count: 1 }],
    });
    await h.manager.stop();
  });
});

it('a pod that has become Ready once is not urgent for ever', async () => {
  const h = new SyncHarness({ concurrency: 1 });
  h.addPods('busy', 'routine', 'ready');
  h.manager.start();
  h.set('ready', '1', { conditions: conditions.ready });
  await h.settle();
  const release = h.client.hold({ name: 'busy', verb: 'get' }, 1);
  h.set('busy', '1');
  await h.settle();
  h.takeRequests();
  h.set('routine', '1');
  h.set('ready', '2', { conditions: conditions.ready });
  release();
  await h.settle();
  expect(h.takeRequests()).toEqual(['patch busy', 'get routine', 'patch routine', 'get ready', 'patch ready']);
  await h.manager.stop();
});

it('while a request waits for a connection, no other pod is started: the most urgent one goes next', async () => {
  const h = new SyncHarness();
  const { client, clock, logger } = h;
  const queue = new ConnectionQueue({ connections: 1, waitTimeoutMs: 60_000, clock, logger });
  const asked: string[] = [];
  const getPod = client.getPod.bind(client);
  client.getPod = async (pod, options) => {
    asked.push(pod.name);
    await queue.enter(options);
    await sleep(clock, 1_000, options.signal);
    queue.leave();
    return getPod(pod, options);
  };
  h.addPods('a', 'b', 'c', 'urgent');
  h.manager.start();
  for (const name of ['a', 'b', 'c']) h.set(name, '1');
  await h.settle();
  expect(asked).toEqual(['a', 'b']);
  h.set('urgent', '1', { conditions: conditions.ready });
  await clock.advanceAsync(1_000);
  expect(asked).toEqual(['a', 'b', 'urgent']);
  const { waitingFor } = h.manager.inspect().pods.find(({ podUID }) => podUID === uidOf('c'))!;
  expect(waitingFor).toMatchObject({ kind: 'connection', verb: 'get' });
  await clock.advanceAsync(3_000);
  expect(asked).toEqual(['a', 'b', 'urgent', 'c']);
  await h.manager.stop();
});
