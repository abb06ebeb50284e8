import { describe, expect, it } from 'vitest';
import { conditions, podOf, SyncHarness } from './sync-harness.ts';

/* Each of these was a violation in a run of `npm run chaos` first. */

describe('JSON patch', () => {
  it("a controller's condition, written between our read and our first conditions, is not overwritten", async () => {
    const h = new SyncHarness({ patchStrategy: 'json-patch' }).informed();
    h.addPod(podOf('a'));
    const gate = { type: 'example.com/gate', status: 'True' };
    h.client.react({ verb: 'patch' }, () => {
      const pod = h.client.pod('default', 'a')!;
      h.client.put({ ...pod, status: { ...pod.status, conditions: [gate] } });
    });
    h.manager.start();
    h.set('a', 'first', { conditions: conditions.unready });
    await h.settle();
    await h.clock.advanceAsync(1_000);
    expect(h.written('a')).toBe('first');
    expect(h.client.pod('default', 'a')!.status!.conditions).toContainEqual(expect.objectContaining(gate));
    expect(h.takeRequests()).toEqual(['get a', 'patch a', 'get a', 'patch a']);
    await h.manager.stop();
  });
});
