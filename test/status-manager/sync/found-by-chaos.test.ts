import { describe, expect, it } from 'vitest';
import type { Journal, JournalEntry } from '../../../src/status-manager/journal/journal.ts';
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

describe('journal', () => {
  /** An agent sets Ready True, the wall clock jumps back, it sets Ready False, and crashes before that is written. */
  async function crashAfterJump(h: SyncHarness, seesOwnWrite: boolean): Promise<void> {
    if (seesOwnWrite) {
      h.set('a', 'first', { conditions: conditions.ready });
      await h.manager.syncBatch(false);
    }
    h.clock.setWallTime('2026-01-02T02:00:00Z');
    h.set('a', 'second', { conditions: conditions.unready });
  }

  it.each([
    ['the agent itself wrote before', true],
    ['an earlier agent wrote', false],
  ])('a wall clock that jumped back does not make what %s look newer than the journal', async (_who, isOwn) => {
    const entries = new Map<string, JournalEntry>();
    const journal = (): Journal => ({
      recovered: [...entries.values()],
      accepted: (entry) => void entries.set(entry.podUID, entry),
      settled: (uid) => void entries.delete(uid),
      close: () => Promise.resolve(),
    });
    const first = new SyncHarness({ journal: journal() });
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' };
    first.addPod({ ...podOf('a'), status: { phase: 'Running', conditions: isOwn ? [] : [ready] } });
    await crashAfterJump(first, isOwn);

    const second = new SyncHarness({ journal: journal(), client: first.client });
    second.clock.setWallTime('2026-01-02T02:00:01Z');
    await second.manager.syncBatch(false);
    expect(first.written('a')).toBe('second');
    await second.manager.stop();
  });
});
