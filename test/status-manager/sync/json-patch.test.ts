import { expect, it } from 'vitest';
import { podOf, SyncHarness } from './sync-harness.ts';

it('a JSON patch does not correct what the API server only formats differently', async () => {
  const h = new SyncHarness({ patchStrategy: 'json-patch' });
  h.addPod({
    ...podOf('a'),
    status: { phase: 'Running', message: '1', observedGeneration: 1, startTime: '2026-01-02T04:04:05+01:00' },
  });
  h.set('a', '1', { startTime: '2026-01-02T03:04:05Z' });
  await h.manager.syncBatch(false);
  expect(h.takeRequests()).toEqual(['get a']);
  expect(h.takeOutcomes()).toEqual(['unchanged 1']);
});
