import { setMaxListeners } from 'node:events';
import { expect, it } from 'vitest';
import { FakeClock } from 'kubelet-status-manager/testing';
import { PodRelists } from '../../../src/agent/pleg/pod-relists.ts';

/** Relists of pods that take `tookMs`, and when each began. */
function newPodRelists(tookMs: (podUID: string) => number) {
  const clock = new FakeClock();
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const begun: (readonly [podUID: string, atMs: number])[] = [];
  const startMs = clock.monotonicMs();
  let parallel = 0;
  let most = 0;
  const relists = new PodRelists({
    clock,
    signal: stop.signal,
    relist: async (podUID) => {
      begun.push([podUID, clock.monotonicMs() - startMs]);
      most = Math.max(most, ++parallel);
      const ms = tookMs(podUID);
      if (ms > 0) await new Promise<void>((resolve) => void clock.afterFunc(ms, resolve));
      parallel--;
    },
  });
  return { relists, clock, stop, begun, mostAtOnce: () => most };
}

it('a pod with an event each moment and slow relists is inspected a quarter of the time, and after its last event', async () => {
  const { relists, clock, begun } = newPodRelists(() => 100);
  for (let ms = 0; ms < 1000; ms += 10) {
    relists.request('a');
    await clock.advanceAsync(10);
  }
  await clock.advanceAsync(10_000);
  expect(begun.map(([, atMs]) => atMs)).toEqual([0, 400, 800, 1200]);
  expect(clock.pendingTimers).toBe(0);
});

it('a pod that rests delays no other pod, and a pod does not rest after a relist without a duration', async () => {
  const { relists, clock, begun } = newPodRelists((podUID) => (podUID === 'slow' ? 1000 : 0));
  relists.request('slow');
  await clock.advanceAsync(1000);
  for (let i = 0; i < 2; i++) {
    for (const podUID of ['slow', 'a', 'b']) relists.request(podUID);
    await clock.advanceAsync(0);
  }
  expect(begun.slice(1)).toEqual([
    ['a', 1000],
    ['b', 1000],
    ['a', 1000],
    ['b', 1000],
  ]);
  await clock.advanceAsync(3000);
  expect(begun.at(-1)).toEqual(['slow', 4000]);
});

it('a pod rests for 10 s at most, however long its relist took', async () => {
  const { relists, clock, begun } = newPodRelists(() => 120_000);
  relists.request('a');
  await clock.advanceAsync(60_000);
  relists.request('a');
  await clock.advanceAsync(100_000);
  expect(begun).toEqual([
    ['a', 0],
    ['a', 130_000],
  ]);
});

it('64 pods are inspected at the same time, and each other one in its turn', async () => {
  const { relists, clock, begun, mostAtOnce } = newPodRelists(() => 100);
  for (let i = 0; i < 200; i++) relists.request(String(i));
  await clock.advanceAsync(1000);
  expect(mostAtOnce()).toBe(64);
  expect(new Set(begun.map(([podUID]) => podUID)).size).toBe(200);
});

it('after the signal no relist begins, whether its pod waits, rests or is requested then, and nothing is left', async () => {
  const { relists, clock, stop, begun } = newPodRelists((podUID) => (podUID === 'rests' ? 10 : 100));
  for (const podUID of ['rests', ...Array.from({ length: 100 }, (_, i) => String(i))]) relists.request(podUID);
  await clock.advanceAsync(10);
  relists.request('rests');
  const { length } = begun;
  stop.abort();
  relists.request('new');
  await clock.advanceAsync(100);
  await relists.whenIdle();
  expect(begun.slice(length).length + clock.pendingTimers).toBe(0);
});
