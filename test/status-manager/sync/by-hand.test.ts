import { expect, it } from 'vitest';
import { conditions, SyncHarness } from './sync-harness.ts';

/** Requests for one pod that were under way at the same time, at most. */
function mostAtOnce(h: SyncHarness, name: string): () => number {
  let now = 0;
  let most = 0;
  h.client.react(
    { name },
    async () => {
      most = Math.max(most, ++now);
      await h.clock.yieldToEventLoop();
      now--;
    },
    Number.POSITIVE_INFINITY,
  );
  return () => most;
}

it('concurrent manual batches never have two requests for one pod in flight', async () => {
  const h = new SyncHarness();
  h.addPods('a');
  const most = mostAtOnce(h, 'a');
  h.set('a', '1');
  const tried = await Promise.all([h.manager.syncBatch(false), h.manager.syncBatch(false), h.manager.syncBatch(false)]);
  expect(tried.map((result) => result.tried)).toEqual([1, 1, 1]);
  expect(most()).toBe(1);
});

it('the loop skips a pod that a manual batch is syncing', async () => {
  const h = new SyncHarness({ concurrency: 2 });
  h.addPods('a', 'urgent-1', 'urgent-2');
  const most = mostAtOnce(h, 'a');
  const releaseA = h.client.hold({ name: 'a', verb: 'get' }, 1);
  const releaseUrgent = ['urgent-1', 'urgent-2'].map((name) => h.client.hold({ name, verb: 'get' }, 1));
  h.manager.start();
  h.set('a', '1');
  for (const name of ['urgent-1', 'urgent-2']) h.set(name, '1', { conditions: conditions.ready });
  await h.settle();
  expect(h.takeRequests()).toEqual(['get urgent-1', 'get urgent-2']);
  const batch = h.manager.syncBatch(false);
  await h.settle();
  expect(h.takeRequests()).toEqual(['get a']);
  for (const release of releaseUrgent) release();
  await h.settle();
  expect(h.takeRequests().filter((request) => request.endsWith(' a'))).toEqual([]);
  releaseA();
  await batch;
  expect(most()).toBe(1);
  await h.manager.stop();
});
