import { beforeEach, describe, expect, it } from 'vitest';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import { PodStatusCache } from '../../../src/status-manager/cache/pod-status-cache.ts';
import { APIOutage } from '../../../src/status-manager/sync/api-outage.ts';
import { nextBackOff } from '../../../src/status-manager/sync/back-off.ts';
import { PodRecords } from '../../../src/status-manager/sync/pod-records.ts';
import type { PodSync } from '../../../src/status-manager/sync/pod-sync.ts';
import { RequestLimiter } from '../../../src/status-manager/sync/request-limiter.ts';
import { SyncQueue } from '../../../src/status-manager/sync/sync-queue.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

function setUp() {
  const clock = new FakeClock();
  const records = new PodRecords();
  const cache = new PodStatusCache(new BasicPodManager());
  const controller = new AbortController();
  const calls: string[] = [];
  const queue = new SyncQueue({
    cache,
    clock,
    records,
    concurrency: 2,
    limiter: new RequestLimiter({ clock }).forClient({}),
    signal: controller.signal,
    apiOutage: new APIOutage({ clock, logger: recordingLogger(), countUnsent: () => 0 }),
    onReady: () => void calls.push('ready'),
    onRetry: () => void calls.push(`retry at ${clock.monotonicMs()}`),
  });
  /** Caches a new status of each pod and adds the pod. */
  const add = (uids: string, { urgent = false, mustRetry = false } = {}): void => {
    for (const uid of uids) {
      const pod = { podName: uid, podNamespace: 'default', podIsFinished: false, adopted: undefined };
      cache.set(uid, { ...pod, status: { phase: 'Running' }, urgent }, clock.monotonicMs());
      queue.add(uid, mustRetry);
    }
  };
  /** The pod's sync has failed. */
  const fail = (sync: PodSync, atLeastMs?: number): void => {
    const { version } = cache.get(sync.uid)!;
    const cause = { reason: 'Unreachable', version, message: 'no', isShown: true, atLeastMs } as const;
    const record = records.of(sync.uid);
    record.backOff = nextBackOff(record.backOff, cause, clock.monotonicMs(), () => 0);
    queue.done(sync);
  };
  return { add, cache, calls, clock, controller, fail, queue, records };
}

describe('SyncQueue', () => {
  let t: ReturnType<typeof setUp>;
  beforeEach(() => void (t = setUp()));

  /** The next sync, which waits for the response to its request. */
  const get = (): PodSync | undefined => {
    const sync = t.queue.get();
    sync?.enter({ kind: 'response', verb: 'get' });
    return sync;
  };

  it('add makes a pod ready once, and get returns the most urgent one', () => {
    t.add('aab');
    t.add('u', { urgent: true });
    expect([get()?.uid, get()?.uid]).toEqual(['u', 'a']);
  });

  it('get returns at most `concurrency` pods, and none while one waits for a limit or a connection', () => {
    t.add('abc');
    const a = t.queue.get()!;
    expect(t.queue.get()).toBeUndefined();
    a.enter({ kind: 'connection', verb: 'get' });
    expect(t.queue.get()).toBeUndefined();
    expect(t.calls).toEqual([]);
    a.enter({ kind: 'response', verb: 'get' });
    expect(t.calls).toEqual(['ready']);
    expect(get()?.uid).toBe('b');
    expect(get()).toBeUndefined();
    t.queue.done(a);
    expect(get()?.uid).toBe('c');
  });

  it('a pod in flight is not ready, and is added again after done', () => {
    t.add('a');
    const a = get()!;
    t.add('a');
    expect(get()).toBeUndefined();
    t.queue.done(a);
    expect(get()).toBeUndefined();
    t.add('a');
    expect(get()?.uid).toBe('a');
  });

  it('a failed pod is delayed by its back-off, whose end is announced', () => {
    t.add('a');
    t.fail(get()!);
    t.queue.add('a', false);
    expect(get()).toBeUndefined();
    t.clock.advance(499);
    expect(t.calls).toEqual(['ready']);
    t.clock.advance(1);
    expect(t.calls).toEqual(['ready', 'retry at 500']);
    t.queue.add('a', false);
    expect(get()?.uid).toBe('a');
  });

  it('retries are at least 100 ms apart', () => {
    t.add('a');
    t.fail(get()!);
    t.clock.advance(1);
    t.add('b');
    t.fail(get()!);
    for (const uid of 'ab') t.queue.add(uid, false);
    t.clock.advance(499);
    t.queue.add('b', false);
    t.clock.advance(1_000);
    expect(t.calls.filter((call) => call !== 'ready')).toEqual(['retry at 500', 'retry at 600']);
  });

  it('a status that was sent and undone is retried by the timer only if it must', () => {
    t.add('a');
    const a = get()!;
    t.cache.markSent('a', 'a', t.cache.get('a')!, { readAtMs: 0, atMs: 0, as: 'written' });
    t.fail(a);
    t.queue.add('a', false);
    expect(t.clock.pendingTimers).toBe(0);
    t.queue.add('a', true);
    expect(t.clock.pendingTimers).toBe(1);
  });

  it('forget ends the back-off, except for Retry-After', () => {
    t.add('ab');
    t.fail(get()!);
    t.fail(get()!, 5_000);
    for (const uid of 'ab') {
      t.queue.forget(uid);
      t.queue.add(uid, false);
    }
    expect(get()?.uid).toBe('a');
    expect(get()).toBeUndefined();
    expect(t.records.get('b')?.backOff?.dueMs).toBe(5_000);
  });

  it('getNow ignores order, delay and limits', () => {
    t.add('abc');
    t.fail(get()!);
    get();
    get();
    expect(t.queue.getNow('a').isLimited).toBe(false);
    expect(t.queue.inFlight).toBe(3);
  });

  it('clear leaves no ready pod, no record of it and no timer', () => {
    t.add('a');
    t.fail(get()!);
    t.add('b');
    t.queue.add('a', false);
    t.queue.clear();
    expect([get(), t.clock.pendingTimers, t.records.get('b')]).toEqual([undefined, 0, undefined]);
  });

  it('get starts nothing after the abort, and no pod whose status was dropped', () => {
    t.add('ab');
    t.records.drop('a');
    expect(get()?.uid).toBe('b');
    t.add('c');
    t.controller.abort();
    expect(get()).toBeUndefined();
  });
});
