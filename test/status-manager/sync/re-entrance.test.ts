import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { SyncHarness, uidOf } from './sync-harness.ts';

describe('a safety provider that calls the manager', () => {
  it('with a newer status: it is kept and sent, also beside a DisruptionTarget whose time is refreshed', async () => {
    const evicted = { phase: 'Failed', conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'Evicted' }] };
    let report = (): void => {};
    const h = new SyncHarness({
      podCouldHaveRunningContainers: () => {
        report();
        return false;
      },
    });
    h.addPods('a');
    h.set('a', 'first', evicted);
    h.clock.advance(300_000);
    report = () => {
      report = () => {};
      h.set('a', 'second', evicted);
    };
    h.manager.start();
    await h.settle();
    expect(h.manager.getPodStatus(uidOf('a'))?.message).toBe('second');
    expect(h.written('a')).toBe('second');
    await h.manager.stop();
  });

  it.each([
    ['flush', ['patch a']],
    // Driven by hand it looks again, when the sync under way has ended.
    ['syncBatch', ['patch a', 'get a']],
  ] as const)('by %s: there is still only one sync at a time for a pod', async (how, requests) => {
    let calls = 0;
    const h = new SyncHarness({
      readBeforePatch: 'when-stale',
      podCouldHaveRunningContainers: (_pod: Pod) => {
        // The first pass has made the object trusted, so that the second asks before any request.
        if (++calls === 2) void (how === 'flush' ? h.manager.flush(1_000) : h.manager.syncBatch(false));
        return false;
      },
    }).informed();
    h.addPods('a');
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.takeRequests();
    h.set('a', '2');
    await h.settle();
    expect(h.takeRequests()).toEqual(requests);
    await h.clock.advanceAsync(1_000);
    await h.manager.stop();
  });
});
