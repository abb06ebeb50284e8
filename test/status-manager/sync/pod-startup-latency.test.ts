import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { podOf, SyncHarness, uidOf } from './sync-harness.ts';

function harness(): { h: SyncHarness; recorded: Pod[]; deleted: string[] } {
  const recorded: Pod[] = [];
  const deleted: string[] = [];
  const podStartupLatency = {
    recordStatusUpdated: (pod: Pod) => void recorded.push(pod),
    deletePodStartupState: (podUID: string) => void deleted.push(podUID),
  };
  return { h: new SyncHarness({ podStartupLatency }), recorded, deleted };
}

describe('podStartupLatency', () => {
  it('is told of a status that was written, with the response of the API server', async () => {
    const { h, recorded } = harness();
    h.addPods('a');
    h.set('a', '1');
    await h.manager.syncBatch(false);
    expect(recorded).toEqual([h.client.pod('default', 'a')]);
    expect(recorded[0]!.status!.message).toBe('1');
  });

  it('is not told of one that the API server showed already, nor of one that failed', async () => {
    const { h, recorded } = harness();
    h.addPods('a');
    h.set('a', '1');
    await h.manager.syncBatch(false);
    h.observe('a');
    h.set('a', '2');
    h.client.fail({ verb: 'patch' }, 500);
    await h.manager.syncBatch(false);
    h.client.put({ ...h.client.pod('default', 'a')!, status: h.manager.getPodStatus(uidOf('a'))! });
    await h.manager.syncBatch(false);
    expect(h.count('patch')).toBe(2);
    expect(recorded).toHaveLength(1);
  });

  it('forgets a pod that is deleted or was recreated, and keeps an orphan', async () => {
    const { h, deleted } = harness();
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.manager.terminatePod(pod);
    h.addPods('b', 'c');
    h.set('b', '1');
    h.set('c', '1');
    h.client.put(podOf('b', { uid: 'another' }));
    await h.manager.syncBatch(false);
    h.manager.removeOrphanedStatuses([]);
    expect(deleted.sort()).toEqual([uidOf('a'), uidOf('b')]);
  });
});
