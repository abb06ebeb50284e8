import { describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import type { RuntimePod } from 'kubelet-status-manager/agent';
import { RuntimePodCache } from '../../../src/agent/pleg/runtime-pod-cache.ts';
import { FakeClock } from 'kubelet-status-manager/testing';

const pod: Pod = { metadata: { uid: '1234', name: 'p', namespace: 'n' } };
const runtimePod: RuntimePod = {
  uid: '1234',
  name: 'p',
  namespace: 'n',
  containers: [{ id: 'c1', name: 'app', state: 'running', createdAtMs: 0 }],
};

function newCache() {
  const clock = new FakeClock();
  const cache = new RuntimePodCache({ runtime: { runPodSandbox: async () => '' }, clock });
  const waitFor = (minTimeMs: number, signal?: AbortSignal) => {
    const result: { containers?: number; error?: unknown } = {};
    cache.getNewerThan(pod, minTimeMs, { signal }).then(
      ({ containers }) => (result.containers = containers.length),
      (error: unknown) => (result.error = error),
    );
    return result;
  };
  return { clock, cache, waitFor };
}

it('TestCacheNotInitialized', async () => {
  const { clock, cache, waitFor } = newCache();
  expect(cache.get('1234')).toBeUndefined();
  const waiting = waitFor(0);
  await clock.advanceAsync(1000);
  expect(waiting).toEqual({});
});

it('TestCacheGetPodDoesNotExist', () => {
  const { cache } = newCache();
  cache.updateTime(cache.beginObservation());
  expect(cache.get('1234')).toEqual({ sandboxes: [], containers: [], ips: [] });
});

it('TestCacheSetAndGet', () => {
  const { cache } = newCache();
  cache.set(runtimePod, cache.beginObservation());
  cache.updateTime(cache.beginObservation());
  expect(cache.get('1234')?.containers).toEqual(runtimePod.containers);
});

it('TestDelete', () => {
  const { cache } = newCache();
  cache.set(runtimePod, cache.beginObservation());
  cache.delete('1234');
  cache.updateTime(cache.beginObservation());
  expect(cache.get('1234')?.containers).toEqual([]);
});

describe.each([
  ['TestGetIfNewerThanWhenPodExists', [runtimePod]],
  ['TestGetPodNewerThanWhenPodDoesNotExist', []],
])('%s', (_, runtimePods) => {
  it('a status that was observed after the time is given immediately, one of the same time is not', async () => {
    const { clock, cache, waitFor } = newCache();
    const minTimeMs = clock.now();
    clock.advance(1);
    for (const one of runtimePods) cache.set(one, cache.beginObservation());
    cache.updateTime(cache.beginObservation());
    clock.advance(1000);
    const newer = waitFor(minTimeMs);
    const same = waitFor(minTimeMs + 1);
    await clock.advanceAsync(0);
    expect([newer, same]).toEqual([{ containers: runtimePods.length }, {}]);
  });
});

describe('TestGetNewerThan', () => {
  it('UnblockBySet, Missing:UnblockBySet', async () => {
    const { clock, cache, waitFor } = newCache();
    const waiting = waitFor(clock.now());
    cache.set(runtimePod, cache.beginObservation());
    await clock.advanceAsync(0);
    expect(waiting).toEqual({ containers: 1 });
  });

  it('UnblockBySetObservedTime', async () => {
    const { clock, cache, waitFor } = newCache();
    cache.set(runtimePod, cache.beginObservation());
    const waiting = waitFor(clock.now());
    cache.setObservedTime('another', cache.beginObservation());
    await clock.advanceAsync(0);
    expect(waiting).toEqual({});
    cache.setObservedTime('1234', cache.beginObservation());
    await clock.advanceAsync(0);
    expect(waiting).toEqual({ containers: 1 });
  });

  it('UnblockByUpdateTimeExists, Missing:UnblockByUpdateTime', async () => {
    const { clock, cache, waitFor } = newCache();
    const waiting = waitFor(clock.now());
    cache.updateTime(cache.beginObservation());
    await clock.advanceAsync(0);
    expect(waiting).toEqual({ containers: 0 });
  });

  it('an observation that had begun before the time does not count, even if it ends later', async () => {
    const { clock, cache, waitFor } = newCache();
    const early = cache.beginObservation();
    clock.advance(10);
    const waiting = waitFor(clock.now());
    clock.advance(10);
    cache.updateTime(early);
    await clock.advanceAsync(0);
    expect(waiting).toEqual({});
    cache.updateTime(cache.beginObservation());
    await clock.advanceAsync(0);
    expect(waiting).toEqual({ containers: 0 });
  });

  it('an abort ends the wait', async () => {
    const { clock, waitFor } = newCache();
    const controller = new AbortController();
    const waiting = waitFor(clock.now(), controller.signal);
    controller.abort(new Error('superseded'));
    await clock.advanceAsync(0);
    expect(waiting.error).toEqual(new Error('superseded'));
  });
});

describe('the wall clock jumps', () => {
  it('back after the sync: a waiter does not wait until the old time is reached again', async () => {
    const { clock, cache, waitFor } = newCache();
    const minTimeMs = clock.now();
    clock.setWallTime(minTimeMs - 3_600_000);
    const waiting = waitFor(minTimeMs);
    clock.advance(1);
    cache.updateTime(cache.beginObservation());
    await clock.advanceAsync(0);
    expect(waiting).toEqual({ containers: 0 });
  });

  it('back before the sync: a status from before it does not count as newer', async () => {
    const { clock, cache, waitFor } = newCache();
    cache.updateTime(cache.beginObservation());
    clock.setWallTime(clock.now() - 50);
    clock.advance(10);
    const minTimeMs = clock.now();
    clock.advance(100);
    const waiting = waitFor(minTimeMs);
    await clock.advanceAsync(0);
    expect(waiting).toEqual({});
  });

  it('forward after the sync: the same', async () => {
    const { clock, cache, waitFor } = newCache();
    cache.updateTime(cache.beginObservation());
    clock.advance(10);
    const minTimeMs = clock.now();
    clock.setWallTime(clock.now() + 3_600_000);
    const waiting = waitFor(minTimeMs);
    await clock.advanceAsync(0);
    expect(waiting).toEqual({});
  });
});
