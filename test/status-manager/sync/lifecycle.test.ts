import { describe, expect, it } from 'vitest';
import { StatusManager } from '../../../src/status-manager/status-manager.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';
import { namespace, podOf, SyncHarness, uidOf } from './sync-harness.ts';

describe('start', () => {
  it('immediately sends statuses set before it', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    h.set('a', '1');
    await h.settle();
    expect(h.count()).toBe(0);
    h.manager.start();
    h.set('b', '1');
    await h.settle();
    expect([h.written('a'), h.written('b')]).toEqual(['1', '1']);
    await h.manager.stop();
  });

  it('runs the first full batch one period later, not immediately', async () => {
    const h = new SyncHarness({ syncPeriodMs: 10_000 });
    h.addPods('a');
    h.set('a', '1');
    await h.manager.syncBatch(false);
    // What the pod manager shows differs, which only a full batch notices.
    h.takeRequests();
    h.manager.start();
    await h.clock.advanceAsync(9_999);
    expect(h.takeRequests()).toEqual([]);
    await h.clock.advanceAsync(1);
    expect(h.takeRequests()).toEqual(['get a']);
    await h.clock.advanceAsync(10_000);
    expect(h.takeRequests()).toEqual(['get a']);
    await h.manager.stop();
  });

  it('twice makes one loop', async () => {
    const h = new SyncHarness();
    h.manager.start();
    h.manager.start();
    expect(h.clock.pendingTimers).toBe(1);
    await h.manager.stop();
  });

  it('warns without a client, and the cache works', async () => {
    const logger = recordingLogger();
    const manager = new StatusManager({ podCouldHaveRunningContainers: () => false, logger });
    manager.start();
    expect(logger.warnings).toHaveLength(1);
    expect(manager.state).toBe('created');
    manager.setPodStatus(podOf('a'), { phase: 'Running' });
    expect(manager.getPodStatus(uidOf('a'))?.phase).toBe('Running');
    await manager.stop();
    expect(manager.state).toBe('stopped');
  });

  it('throws after stop()', async () => {
    const h = new SyncHarness();
    await h.manager.stop();
    expect(() => h.manager.start()).toThrow(expect.objectContaining({ code: 'INVALID_STATE' }));
    await expect(h.manager.syncBatch(true)).rejects.toThrow(expect.objectContaining({ code: 'INVALID_STATE' }));
    await expect(h.manager.flush(1)).rejects.toThrow(expect.objectContaining({ code: 'INVALID_STATE' }));
  });
});

describe('the wake-up', () => {
  it('has a capacity of one: statuses set one after the other make one batch', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    for (let i = 0; i < 5; i++) h.set('a', String(i));
    h.set('b', '0');
    expect(h.manager.inspect().isWakeUpWaiting).toBe(true);
    expect((await h.manager.syncBatch(false)).tried).toBe(2);
    expect(h.manager.inspect().isWakeUpWaiting).toBe(false);
    expect(h.takeRequests().sort()).toEqual(['get a', 'get b', 'patch a', 'patch b']);
  });

  it('is not consumed by a full batch of the loop', async () => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    h.addPods('a');
    h.manager.start();
    // At the very tick, before the wake-up is taken.
    h.clock.afterFunc(1_000, () => h.set('a', '1'));
    h.clock.advance(1_000);
    expect(h.manager.inspect().isWakeUpWaiting).toBe(true);
    await h.settle();
    expect(h.manager.inspect().isWakeUpWaiting).toBe(false);
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    await h.manager.stop();
  });
});

describe('a batch driven by hand', () => {
  it('compares with the pod manager only if it is a full one', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    await h.manager.syncBatch(false);
    h.takeRequests();
    expect((await h.manager.syncBatch(false)).tried).toBe(0);
    expect((await h.manager.syncBatch(true)).tried).toBe(1);
    expect(h.takeRequests()).toEqual(['get a']);
    await h.manager.stop();
  });
});

describe('the tick', () => {
  it('is dropped while the scan of the last one is at work', async () => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    let scans = 0;
    let endScan = (): void => {};
    const translations = h.podManager.getUIDTranslations();
    h.podManager.getUIDTranslations = () => {
      scans++;
      return translations;
    };
    const names = Array.from({ length: 100 }, (_, i) => `p${i}`);
    h.addPods(...names);
    for (const name of names) h.set(name, '1');
    await h.manager.syncBatch(false);
    // Each look at a pod takes so long that the scan has to let others run.
    const getPodByUID = h.podManager.getPodByUID.bind(h.podManager);
    h.podManager.getPodByUID = (uid) => {
      h.clock.advance(0.2);
      return getPodByUID(uid);
    };
    h.clock.yieldToEventLoop = () =>
      new Promise((resolve) => {
        endScan = resolve;
      });
    h.manager.start();
    h.manager.inspect();
    scans = 0;
    h.clock.advance(1_000);
    expect(scans).toBe(1);
    h.clock.advance(3_000);
    expect(scans).toBe(1);
    h.clock.yieldToEventLoop = () => new Promise((resolve) => void setImmediate(resolve));
    endScan();
    await h.settle();
    await h.clock.advanceAsync(1_000);
    expect(scans).toBeGreaterThan(1);
    await h.manager.stop();
  });

  it('yields to the event loop during a long scan, and skips pods that are removed in the meantime', async () => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    const names = Array.from({ length: 200 }, (_, i) => `p${i}`);
    h.addPods(...names);
    for (const name of names) h.set(name, '1');
    await h.manager.syncBatch(false);
    h.takeRequests();
    const getPodByUID = h.podManager.getPodByUID.bind(h.podManager);
    h.podManager.getPodByUID = (uid) => {
      h.clock.advance(0.2);
      return getPodByUID(uid);
    };
    let yields = 0;
    h.clock.yieldToEventLoop = async () => {
      // All but the first are removed while the scan waits.
      if (yields++ === 0) h.manager.removeOrphanedStatuses([uidOf('p0')]);
      await new Promise((resolve) => void setImmediate(resolve));
    };
    expect((await h.manager.syncBatch(true)).tried).toBeLessThan(200);
    expect(yields).toBeGreaterThan(0);
    expect(h.client.actionsOf({ verb: 'patch' })).toEqual([]);
    expect(h.manager.inspect().pods).toHaveLength(1);
  });
});

describe('stop', () => {
  it.each([
    ['at a tick', (h: SyncHarness) => h.clock.advance(1_000)],
    ['by syncBatch', (h: SyncHarness) => void h.manager.syncBatch(true)],
  ])('a full batch that it interrupts has no effect afterwards: %s', async (_, begin) => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    const names = Array.from({ length: 200 }, (_, i) => `p${i}`);
    h.addPods(...names);
    // Its object has finalizers, and is gone when the batch ends.
    h.addPod(podOf('kept', { finalizers: ['f'], deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.manager.terminatePod(h.podManager.getPodByUID(uidOf('kept'))!);
    for (const name of names) h.set(name, '1');
    await h.manager.syncBatch(false);
    h.manager.start();
    h.podManager.removePod(h.client.pod('default', 'kept')!);
    h.takeOutcomes();
    const getPodByUID = h.podManager.getPodByUID.bind(h.podManager);
    const { monotonicMs } = h.clock;
    let passedMs = 0;
    h.clock.monotonicMs = () => monotonicMs.call(h.clock) + passedMs;
    h.podManager.getPodByUID = (uid) => {
      passedMs += 0.2;
      return getPodByUID(uid);
    };
    let stopping: Promise<void> | undefined;
    h.clock.yieldToEventLoop = async () => {
      stopping ??= h.manager.stop();
      await new Promise((resolve) => void setImmediate(resolve));
    };
    begin(h);
    await stopping;
    expect(stopping).toBeDefined();
    await new Promise((resolve) => void setImmediate(resolve));
    expect(h.takeOutcomes()).toEqual([]);
  });

  it('aborts requests in flight, and leaves no timer and no pending promise', async () => {
    const h = new SyncHarness({ requestTimeoutMs: 30_000 });
    h.addPods('a', 'b');
    h.client.hold({ verb: 'get' });
    h.manager.start();
    h.set('a', '1');
    h.set('b', '1');
    await h.settle();
    expect(h.inspect('a').isInFlight).toBe(true);
    const written = h.manager.whenWritten(uidOf('a'));
    const stopping = h.manager.stop();
    expect(h.manager.state).toBe('stopping');
    await stopping;
    expect(h.manager.state).toBe('stopped');
    expect(h.clock.pendingTimers).toBe(0);
    expect(await written).toEqual({ written: false, reason: 'stopped' });
    expect(h.inspect('a').isInFlight).toBe(false);
    await h.clock.advanceAsync(60_000);
    expect(h.count('patch')).toBe(0);
  });

  it('waits at most 10 s each for a pod manager and a journal that do not close, and logs it', async () => {
    const never = (): Promise<never> => new Promise(() => {});
    const h = new SyncHarness();
    const manager = new StatusManager({
      client: h.client,
      podManager: Object.assign(h.podManager, { onMirrorPodAdded: () => never }),
      journal: { recovered: [], accepted: () => {}, settled: () => {}, close: never },
      ...{ clock: h.clock, logger: h.logger, podCouldHaveRunningContainers: () => false },
    });
    manager.start();
    const stopping = manager.stop();
    await h.clock.advanceAsync(20_000);
    await stopping;
    expect(h.logger.warnings.map(({ message, fields }) => [message, (fields as { reason?: string }).reason])).toEqual([
      ['Failed to clean up at stop', 'the end of onMirrorPodAdded took over 10000 ms'],
      ['Failed to clean up at stop', 'close of the journal took over 10000 ms'],
    ]);
    expect([manager.state, h.clock.pendingTimers]).toEqual(['stopped', 0]);
  });

  it('does not wait for a client that ignores its signal', async () => {
    const h = new SyncHarness({
      client: {
        getPod: () => new Promise(() => {}),
        patchPodStatus: () => new Promise(() => {}),
        deletePod: () => new Promise(() => {}),
      },
    });
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    await h.manager.stop();
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('arms no timer for a request that fails because of it', async () => {
    // At whatever step of the promise chain the response is when the manager is stopped.
    for (let turns = 0; turns < 40; turns++) {
      const h = new SyncHarness();
      h.addPods('a');
      const release = h.client.hold({ verb: 'get' }, 1);
      h.client.fail({ verb: 'get' }, 500);
      h.manager.start();
      h.set('a', '1');
      await h.settle();
      release();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      await h.manager.stop();
      expect(h.clock.pendingTimers).toBe(0);
    }
  });

  it('is idempotent: later calls wait for the first', async () => {
    const h = new SyncHarness();
    h.manager.start();
    const first = h.manager.stop();
    expect(h.manager.stop({ drain: true })).toBe(first);
    await first;
    await h.manager[Symbol.asyncDispose]();
    expect(h.manager.state).toBe('stopped');
  });

  it('ends a batch that is driven by hand before its next pod', async () => {
    const h = new SyncHarness({ concurrency: 1 });
    h.addPods('a', 'b', 'c');
    for (const name of ['a', 'b', 'c']) h.set(name, '1');
    h.client.hold({ verb: 'get', name: 'a' });
    const batch = h.manager.syncBatch(false);
    await h.settle();
    await h.manager.stop();
    await batch;
    expect(h.takeRequests()).toEqual(['get a']);
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('ends a scan that is between two slices', async () => {
    const h = new SyncHarness({ syncPeriodMs: 1_000 });
    const names = Array.from({ length: 100 }, (_, i) => `p${i}`);
    h.addPods(...names);
    for (const name of names) h.set(name, '1');
    await h.manager.syncBatch(false);
    const getPodByUID = h.podManager.getPodByUID.bind(h.podManager);
    let looks = 0;
    h.podManager.getPodByUID = (uid) => {
      looks++;
      h.clock.advance(0.2);
      return getPodByUID(uid);
    };
    h.manager.start();
    h.clock.advance(1_000);
    expect(looks).toBeGreaterThan(0);
    const looksBefore = looks;
    await h.manager.stop();
    expect(looks).toBe(looksBefore);
  });

  it('removes the manager from the gauges', async () => {
    const h = new SyncHarness();
    h.manager.setPodResizeInProgressCondition(uidOf('a'), '', '', 1);
    expect(h.metrics.statusGauges()).toBeDefined();
    await h.manager.stop();
    expect(h.metrics.statusGauges()).toBeUndefined();
    expect([h.metrics.pendingResizes, h.metrics.inProgressResizes]).toEqual([[], 0]);
  });

  it('ends with `await using`', async () => {
    const h = new SyncHarness();
    {
      await using manager = h.manager;
      manager.start();
    }
    expect(h.manager.state).toBe('stopped');
  });
});

describe('stop({ drain: true })', () => {
  it('sends unsent statuses first, ignoring back-off', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'get' }, 500);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(h.written('a')).toBeUndefined();
    await h.manager.stop({ drain: true });
    expect(h.written('a')).toBe('1');
  });

  it('does so even before start()', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    await h.manager.stop({ drain: true });
    expect(h.written('a')).toBe('1');
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('sends statuses set during the drain', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    h.manager.start();
    const release = h.client.hold({ verb: 'patch', name: 'a' }, 1);
    h.set('a', '1');
    const stopped = h.manager.stop({ drain: true });
    await h.settle();
    h.set('b', '1');
    await h.settle();
    release();
    await stopped;
    expect([h.written('a'), h.written('b')]).toEqual(['1', '1']);
  });

  it('stops waiting at its deadline', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.hold({ verb: 'patch' });
    h.manager.start();
    h.set('a', '1');
    const stopped = h.manager.stop({ drain: true, deadlineMs: 5_000 });
    let isStopped = false;
    void stopped.then(() => {
      isStopped = true;
    });
    await h.clock.advanceAsync(4_999);
    expect(isStopped).toBe(false);
    await h.clock.advanceAsync(1);
    await stopped;
    expect(h.clock.pendingTimers).toBe(0);
    expect(h.written('a')).toBeUndefined();
  });

  it('ends when the unsent statuses are removed', async () => {
    const h = new SyncHarness();
    h.client.fail({ verb: 'get' }, 500, Number.POSITIVE_INFINITY);
    h.manager.start();
    h.set('a', '1');
    const stopped = h.manager.stop({ drain: true, deadlineMs: 60_000 });
    await h.settle();
    h.manager.removeOrphanedStatuses([]);
    await stopped;
    expect(h.clock.monotonicMs()).toBe(0);
  });

  it('a pod manager that throws does not keep it from stopping', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    h.set('a', '1');
    h.podManager.getUIDTranslations = () => {
      throw new Error('out of order');
    };
    await h.manager.stop({ drain: true });
    expect(h.manager.state).toBe('stopped');
    expect(h.clock.pendingTimers).toBe(0);
  });
});

describe('flush', () => {
  it('resolves with 0 when all is sent, and with how many are not at the deadline', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    h.manager.start();
    h.client.hold({ verb: 'patch', name: 'b' });
    h.set('a', '1');
    h.set('b', '1');
    const flushed = h.manager.flush(1_000);
    await h.clock.advanceAsync(1_000);
    expect(await flushed).toBe(1);
    expect(h.manager.state).toBe('running');
    await h.manager.stop();
  });

  it('tries what fails again by its back-off until then', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'patch' }, 500, 2);
    h.set('a', '1');
    const flushed = h.manager.flush(10_000);
    await h.clock.advanceAsync(10_000);
    expect(await flushed).toBe(0);
    expect(h.written('a')).toBe('1');
    await h.manager.stop();
  });

  it('does not spin when a sync cannot even begin', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    h.podManager.translatePodUID = () => {
      throw new Error('out of order');
    };
    const flushed = h.manager.flush(1_000);
    await h.clock.advanceAsync(1_000);
    expect(await flushed).toBe(1);
    expect(h.count('get')).toBe(1);
    await h.manager.stop();
  });

  it('does not wait for a static pod without a mirror to write to', async () => {
    const h = new SyncHarness();
    h.podManager.addPod(podOf('static', { annotations: { 'kubernetes.io/config.source': 'file' } }));
    h.set('static', '1');
    expect(await h.manager.flush(60_000)).toBe(0);
    expect(h.count()).toBe(0);
    expect(h.client.pod(namespace, 'static')).toBeUndefined();
  });
});

describe('the retry timer', () => {
  it('fires for each pod when its own back-off ends', async () => {
    const h = new SyncHarness({ syncPeriodMs: 3_600_000 });
    h.addPods('slow', 'quick', 'middle');
    h.client.fail({ verb: 'get', name: 'slow' }, 400);
    h.client.fail({ verb: 'get', name: 'quick' }, 500);
    h.client.fail({ verb: 'get', name: 'middle' }, 403);
    h.manager.start();
    for (const name of ['slow', 'quick', 'middle']) h.set(name, '1');
    await h.settle();
    h.times.length = 0;
    await h.clock.advanceAsync(10_000);
    const gets = h.times.filter(({ action }) => action.verb === 'get');
    expect(gets.map(({ action, ms }) => `${action.name} ${ms}`)).toEqual(['quick 500', 'middle 1000', 'slow 5000']);
    expect(h.clock.pendingTimers).toBe(1);
    await h.manager.stop();
  });

  it('does not fire again for a pod whose status was removed', async () => {
    const h = new SyncHarness({ syncPeriodMs: 3_600_000 });
    h.addPods('a', 'b');
    h.client.fail({ verb: 'get' }, 500, Number.POSITIVE_INFINITY);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.manager.removeOrphanedStatuses([]);
    h.takeRequests();
    await h.clock.advanceAsync(60_000);
    expect(h.takeRequests()).toEqual([]);
    expect(h.logger.errors).toEqual([]);
    await h.manager.stop();
  });
});

describe('a full batch', () => {
  it('sends what was set again below the version that was sent, of a pod that the pod manager does not know', async () => {
    const h = new SyncHarness();
    h.client.put(podOf('a'));
    h.set('a', '1');
    h.set('a', '2');
    await h.manager.syncBatch(false);
    h.manager.removeOrphanedStatuses([]);
    h.set('a', '3');
    // Takes the wake-up, and as the kubelet's finds nothing to do.
    expect((await h.manager.syncBatch(false)).tried).toBe(0);
    h.manager.start();
    await h.clock.advanceAsync(10_000);
    expect(h.written('a')).toBe('3');
    await h.manager.stop();
  });

  it('takes the error of a needless sync off a pod with nothing to send', async () => {
    const h = new SyncHarness().informed();
    h.addPods('a');
    h.manager.start();
    const release = h.client.hold({ verb: 'patch' }, 1);
    h.set('a', '1');
    await h.settle();
    const batch = h.manager.syncBatch(false);
    h.client.fail({ verb: 'get' }, 500);
    release();
    await batch;
    expect(h.inspect('a').lastError).toBe('scripted 500');
    await h.clock.advanceAsync(10_000);
    expect(h.inspect('a')).toMatchObject({ nextTryAt: undefined, lastError: undefined });
    await h.manager.stop();
  });
});
