import { setImmediate as settled } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import type { RuntimePod } from 'kubelet-status-manager/agent';
import type { RuntimeContainerState, RuntimeSandboxStatus } from '../../../src/node/runtime/runtime-pod-status.ts';
import { RuntimePodCache } from '../../../src/agent/pleg/runtime-pod-cache.ts';

const pod: ValidPod = { metadata: { uid: '1234', name: 'p', namespace: 'n' } };
const runtimePod: RuntimePod = {
  uid: '1234',
  name: 'p',
  namespace: 'n',
  containers: [{ id: 'c1', name: 'app', state: 'running', createdAtMs: 0 }],
};

function newCache() {
  const cache = new RuntimePodCache({ runPodSandbox: async () => '' });
  const waitFor = (observation: number, signal?: AbortSignal) => {
    const result: { containers?: number; error?: unknown } = {};
    cache.getNewerThan(pod, observation, { signal }).then(
      ({ containers }) => (result.containers = containers.length),
      (error: unknown) => (result.error = error),
    );
    return result;
  };
  return { cache, waitFor };
}

it('TestCacheNotInitialized', async () => {
  const { cache, waitFor } = newCache();
  expect(cache.get('1234')).toBeUndefined();
  const waiting = waitFor(0);
  await settled();
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
  cache.delete('1234', cache.beginObservation());
  cache.updateTime(cache.beginObservation());
  expect(cache.get('1234')?.containers).toEqual([]);
});

describe.each([
  ['TestGetIfNewerThanWhenPodExists', [runtimePod]],
  ['TestGetPodNewerThanWhenPodDoesNotExist', []],
])('%s', (_, runtimePods) => {
  it('returns a status of a newer observation immediately, but not one of the same observation', async () => {
    const { cache, waitFor } = newCache();
    const before = cache.beginObservation();
    const observation = cache.beginObservation();
    for (const one of runtimePods) cache.set(one, observation);
    cache.updateTime(observation);
    const newer = waitFor(before);
    const same = waitFor(observation);
    await settled();
    expect([newer, same]).toEqual([{ containers: runtimePods.length }, {}]);
  });
});

it('says who waits, and whether at once, only if the status that it has is too old to be returned now', async () => {
  const waits: unknown[] = [];
  const cache = new RuntimePodCache({ runPodSandbox: async () => '' });
  cache.onWait((podUID, { observeNow }) => waits.push([podUID, observeNow]));
  const observation = cache.beginObservation();
  cache.set(runtimePod, observation);
  await cache.getNewerThan(pod, 0, { observeNow: true });
  expect(waits).toEqual([]);
  const { signal } = new AbortController();
  void cache.getNewerThan(pod, observation, { signal });
  expect(waits).toEqual([['1234', undefined]]);
  void cache.getNewerThan(pod, observation, { signal, observeNow: true });
  expect(waits).toEqual([
    ['1234', undefined],
    ['1234', true],
  ]);
});

describe('TestGetNewerThan', () => {
  it('UnblockBySet, Missing:UnblockBySet', async () => {
    const { cache, waitFor } = newCache();
    const waiting = waitFor(cache.lastObservation());
    cache.set(runtimePod, cache.beginObservation());
    await settled();
    expect(waiting).toEqual({ containers: 1 });
  });

  it('UnblockBySetObservedTime', async () => {
    const { cache, waitFor } = newCache();
    cache.set(runtimePod, cache.beginObservation());
    const waiting = waitFor(cache.lastObservation());
    cache.setObservedTime('another', cache.beginObservation());
    await settled();
    expect(waiting).toEqual({});
    cache.setObservedTime('1234', cache.beginObservation());
    await settled();
    expect(waiting).toEqual({ containers: 1 });
  });

  it('UnblockByUpdateTimeExists, Missing:UnblockByUpdateTime', async () => {
    const { cache, waitFor } = newCache();
    const waiting = waitFor(cache.lastObservation());
    cache.updateTime(cache.beginObservation());
    await settled();
    expect(waiting).toEqual({ containers: 0 });
  });

  it('an observation that had begun before does not count, even if it ends later', async () => {
    const { cache, waitFor } = newCache();
    const early = cache.beginObservation();
    const waiting = waitFor(cache.lastObservation());
    cache.updateTime(early);
    await settled();
    expect(waiting).toEqual({});
    cache.updateTime(cache.beginObservation());
    await settled();
    expect(waiting).toEqual({ containers: 0 });
  });

  it('an abort ends the wait', async () => {
    const { cache, waitFor } = newCache();
    const controller = new AbortController();
    const waiting = waitFor(cache.lastObservation(), controller.signal);
    controller.abort(new Error('superseded'));
    await settled();
    expect(waiting.error).toEqual(new Error('superseded'));
  });
});

describe('counts', () => {
  const podWith = (uid: string, states: readonly RuntimeContainerState[], ready?: readonly boolean[]): RuntimePod => ({
    ...{ uid, name: uid, namespace: 'n' },
    containers: states.map((state, i) => ({ id: `${uid}-${i}`, name: `c${i}`, state, createdAtMs: 0 })),
    sandboxes: ready?.map((isReady, i) => ({ id: `${uid}-s${i}`, ready: isReady })),
  });

  it('are of the containers in each state, of all pods', () => {
    const { cache } = newCache();
    expect(cache.counts()).toEqual({ runningPods: 0, containers: {} });
    cache.set(podWith('a', ['running', 'exited']), cache.beginObservation());
    cache.set(podWith('b', ['running']), cache.beginObservation());
    expect(cache.counts().containers).toEqual({ running: 2, exited: 1 });
    cache.delete('b', cache.beginObservation());
    expect(cache.counts().containers).toEqual({ running: 1, exited: 1 });
  });

  it.each<[string, RuntimePod, number]>([
    ['a ready sandbox, whatever its containers', podWith('a', ['exited'], [true]), 1],
    ['one ready sandbox of two', podWith('a', [], [false, true]), 1],
    ['no ready sandbox', podWith('a', ['running'], [false]), 0],
    ['no sandbox any more', podWith('a', ['running'], []), 0],
    ['a running container in a runtime without sandboxes', podWith('a', ['exited', 'running']), 1],
    ['no running container there', podWith('a', ['exited', 'created']), 0],
  ])('a pod with %s', (_, listed, runningPods) => {
    const { cache } = newCache();
    cache.set(listed, cache.beginObservation());
    expect(cache.counts().runningPods).toBe(runningPods);
  });
});

describe('the IP addresses of a pod', () => {
  const withIP = (sandboxes: readonly RuntimeSandboxStatus[] | undefined): RuntimePod => ({ ...runtimePod, sandboxes });
  const ready = { id: 's2', ready: true, network: { ip: '10.0.0.2' } };
  const stopped = { id: 's1', ready: false };

  it('are replaced by new ones, and stay when it has ended', () => {
    const { cache } = newCache();
    const ipsAfter = (sandboxes: readonly RuntimeSandboxStatus[] | undefined) => {
      cache.set(withIP(sandboxes), cache.beginObservation());
      return cache.get('1234')?.ips;
    };
    expect(ipsAfter([stopped])).toEqual([]);
    expect(ipsAfter([{ ...ready, network: { ip: '10.0.0.1' } }])).toEqual(['10.0.0.1']);
    expect(ipsAfter([ready, stopped])).toEqual(['10.0.0.2']);
    expect(ipsAfter([stopped])).toEqual(['10.0.0.2']);
    // A new sandbox that has none yet, beside the old one.
    expect(ipsAfter([{ id: 's3', ready: true }, stopped])).toEqual([]);
  });
});

it('one of two waiters for a pod can leave', async () => {
  const { cache, waitFor } = newCache();
  const controller = new AbortController();
  const leaving = waitFor(cache.lastObservation(), controller.signal);
  const staying = waitFor(cache.lastObservation());
  expect(cache.isAwaited).toBe(true);
  controller.abort(new Error('superseded'));
  await settled();
  expect([leaving.error, cache.isAwaited]).toEqual([new Error('superseded'), true]);
  cache.updateTime(cache.beginObservation());
  await settled();
  expect([staying, cache.isAwaited]).toEqual([{ containers: 0 }, false]);
});

it('a wait that was aborted before it began rejects', async () => {
  const { cache, waitFor } = newCache();
  const waiting = waitFor(0, AbortSignal.abort(new Error('superseded')));
  await settled();
  expect([waiting.error, cache.isAwaited]).toEqual([new Error('superseded'), false]);
});

it('an observation that began earlier than the last one of a pod replaces nothing', () => {
  const { cache } = newCache();
  const early = cache.beginObservation();
  cache.set(runtimePod, cache.beginObservation());
  cache.set({ ...runtimePod, containers: [] }, early);
  cache.delete('1234', early);
  expect(cache.get('1234')?.containers).toEqual(runtimePod.containers);
});
