import { expect, it } from 'vitest';
import { SyncHarness } from './sync-harness.ts';

it('the sync duration counts writes only: each sync that changed nothing once counted as 0 s', async () => {
  const h = new SyncHarness().informed();
  h.addPods('a');
  h.manager.start();
  await h.clock.advanceAsync(7_000);
  h.client.fail({ verb: 'get' }, 500);
  h.set('a', '1');
  await h.clock.advanceAsync(5_000);
  expect(h.metrics.syncDurations).toEqual([0.5]);
  h.set('a', '2');
  h.client.put({ ...h.client.pod('default', 'a')!, status: h.manager.getPodStatus('uid-a')! });
  await h.clock.advanceAsync(60_000);
  expect(h.takeOutcomes()).toEqual(['retried 1', 'written 1', 'unchanged 2']);
  expect(h.metrics.syncDurations).toEqual([0.5]);
  await h.manager.stop();
});
