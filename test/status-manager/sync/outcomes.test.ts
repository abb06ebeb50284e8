import { describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import type { WrittenResult } from '../../../src/status-manager/sync/status-outcome.ts';
import { podOf, SyncHarness, uidOf } from './sync-harness.ts';

const subject = { podUID: uidOf('a'), podNamespace: 'default', podName: 'a' };

describe('outcomes', () => {
  it('a status that was dropped in this turn does not resolve whenWritten of the one set after it', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    h.manager.removeOrphanedStatuses([]);
    h.set('a', '2');
    const written = h.manager.whenWritten(uidOf('a'));
    await h.manager.syncBatch(false);
    expect(await written).toMatchObject({ written: true });
    expect(h.takeOutcomes()).toEqual(['gone 1', 'written 1']);
  });

  it('written, and unchanged when the API server shows it already', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    await h.manager.syncBatch(false);
    await h.manager.syncBatch(true);
    expect(h.outcomes).toEqual([{ ...subject, version: 1, outcome: 'written' }]);
    const shown = h.addPod(podOf('b'));
    h.set('b', '1');
    h.client.put({ ...shown, status: h.manager.getPodStatus(uidOf('b'))! });
    await h.manager.syncBatch(false);
    expect(h.outcomes.at(-1)).toMatchObject({ podName: 'b', version: 1, outcome: 'unchanged' });
  });

  it('a full batch that reads a written version again and finds nothing to do reports no second outcome', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    await h.manager.syncBatch(false);
    expect(await h.manager.syncBatch(true)).toEqual({ tried: 1, written: 0, unchanged: 1, failed: 0 });
    expect(h.takeOutcomes()).toEqual(['written 1']);
  });

  it('reports reconciled, not written, when the API object lost the written status', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a'));
    h.set('a', '1');
    await h.manager.syncBatch(false);
    h.addPod(pod);
    await h.manager.syncBatch(true);
    expect(h.takeOutcomes()).toEqual(['written 1', 'reconciled 1']);
  });

  it('superseded: a newer version was set before it was sent', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    for (const message of ['1', '2', '3']) h.set('a', message);
    await h.manager.syncBatch(false);
    expect(h.takeOutcomes()).toEqual(['superseded 1', 'superseded 2', 'written 3']);
  });

  it('a version in a PATCH under way is written, not superseded', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    const release = h.client.hold({ verb: 'patch' }, 1);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.set('a', '2');
    h.set('a', '3');
    release();
    await h.settle();
    expect(h.takeOutcomes()).toEqual(['superseded 2', 'written 1', 'written 3']);
    await h.manager.stop();
  });

  it('refused, with the error and the next try; then written', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'patch' }, 422);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(5_000);
    expect(h.outcomes).toEqual([
      {
        ...subject,
        version: 1,
        outcome: 'refused',
        error: expect.objectContaining({ statusCode: 422 }),
        nextTryInMs: 5_000,
      },
      { ...subject, version: 1, outcome: 'written' },
    ]);
    await h.manager.stop();
  });

  it('retried, with class, error and time', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'get' }, 404);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(h.outcomes).toEqual([
      {
        ...subject,
        version: 1,
        outcome: 'retried',
        failure: 'NotFound',
        error: expect.objectContaining({ statusCode: 404 }),
        nextTryInMs: 1_000,
      },
    ]);
    await h.manager.stop();
  });

  it('deleted, after what was written last', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.manager.terminatePod(pod);
    await h.manager.syncBatch(false);
    expect(h.takeOutcomes()).toEqual(['written 1', 'deleted 1']);
  });

  it('gone: removed before it was sent, or recreated; nothing for one that had been written', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    h.set('b', '1');
    await h.manager.syncBatch(false);
    h.set('a', '1');
    h.manager.removeOrphanedStatuses([]);
    await h.settle();
    expect(h.outcomes.slice(1)).toEqual([{ ...subject, version: 1, outcome: 'gone', reason: 'removed' }]);
    h.client.put(podOf('a', { uid: 'another' }));
    h.set('a', '2');
    await h.manager.syncBatch(false);
    expect(h.outcomes.slice(2)).toEqual([{ ...subject, version: 1, outcome: 'gone', reason: 'recreated' }]);
  });

  it('are counted, with and without listeners', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    h.set('a', '2');
    await h.manager.syncBatch(false);
    h.set('a', '3');
    h.manager.removeOrphanedStatuses([]);
    await h.settle();
    expect(h.metrics.outcomes).toEqual(['superseded', 'written', 'gone']);
  });
});

describe('whenWritten', () => {
  it('knows that a status was written when the manager stops before the DELETE that follows', async () => {
    const h = new SyncHarness({ qps: 0.001, burst: 2 });
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.manager.start();
    h.manager.terminatePod(pod);
    const written = h.manager.whenWritten(uidOf('a'));
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    await h.manager.stop();
    expect(await written).toEqual({ written: true, version: 1 });
    expect(h.takeOutcomes()).toEqual(['written 1']);
  });

  it.each<[string, (h: SyncHarness) => void | Promise<void>, WrittenResult]>([
    [
      'when it is written',
      async (h) => {
        await h.manager.syncBatch(false);
      },
      { written: true, version: 1 },
    ],
    [
      'when a newer version is',
      async (h) => {
        h.set('a', '2');
        await h.manager.syncBatch(false);
      },
      { written: true, version: 2 },
    ],
    [
      'when the API server shows it already',
      async (h) => {
        const pod = h.client.pod('default', 'a')!;
        h.client.put({ ...pod, status: h.manager.getPodStatus(uidOf('a'))! });
        await h.manager.syncBatch(false);
      },
      { written: true, version: 1 },
    ],
    ['when it is removed', (h) => h.manager.removeOrphanedStatuses([]), { written: false, reason: 'removed' }],
    [
      'when its pod was recreated',
      async (h) => {
        h.client.put(podOf('a', { uid: 'another' }));
        await h.manager.syncBatch(false);
      },
      { written: false, reason: 'recreated' },
    ],
    [
      'when it is refused',
      async (h) => {
        h.client.fail({ verb: 'patch' }, 422);
        await h.manager.syncBatch(false);
      },
      { written: false, reason: 'refused', error: expect.objectContaining({ statusCode: 422 }) },
    ],
    ['when the manager stops', (h) => h.manager.stop(), { written: false, reason: 'stopped' }],
  ])('resolves %s', async (_when, happen, result) => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    const written = h.manager.whenWritten(uidOf('a'));
    await happen(h);
    expect(await written).toEqual(result);
  });

  it('stays pending during failures that are retried', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'get' }, 500, 2);
    h.manager.start();
    h.set('a', '1');
    let result: WrittenResult | undefined;
    void h.manager.whenWritten(uidOf('a')).then((value) => {
      result = value;
    });
    await h.clock.advanceAsync(600);
    expect(result).toBeUndefined();
    await h.clock.advanceAsync(1_000);
    expect(result).toEqual({ written: true, version: 1 });
    await h.manager.stop();
  });

  it('does not resolve because of an older version that was being sent', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    const releaseFirst = h.client.hold({ verb: 'patch' }, 1);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.set('a', '2');
    const releaseSecond = h.client.hold({ verb: 'patch' }, 1);
    let isWritten = false;
    void h.manager.whenWritten(uidOf('a')).then(() => {
      isWritten = true;
    });
    releaseFirst();
    await h.settle();
    expect(isWritten).toBe(false);
    releaseSecond();
    await h.settle();
    expect(isWritten).toBe(true);
    await h.manager.stop();
  });

  it('a version that was set during the DELETE is gone with the object', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    const release = h.client.hold({ verb: 'delete' }, 1);
    h.manager.start();
    h.manager.terminatePod(pod);
    await h.settle();
    h.set('a', 'too late', { phase: 'Failed' });
    const written = h.manager.whenWritten(uidOf('a'));
    release();
    await h.settle();
    expect(await written).toEqual({ written: false, reason: 'removed' });
    await h.manager.stop();
  });

  it('resolves immediately when there is nothing to wait for', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    expect(await h.manager.whenWritten(uidOf('a'))).toEqual({ written: false, reason: 'not-cached' });
    h.set('a', '1');
    await h.manager.syncBatch(false);
    expect(await h.manager.whenWritten(uidOf('a'))).toEqual({ written: true, version: 1 });
    h.set('a', '2');
    await h.manager.stop();
    expect(await h.manager.whenWritten(uidOf('a'))).toEqual({ written: false, reason: 'stopped' });
  });
});

it('whenWritten of a newer version does not resolve because an older one was refused', async () => {
  const h = new SyncHarness();
  h.addPods('a');
  let newer: Promise<WrittenResult> | undefined;
  h.client.react({ verb: 'patch' }, () => {
    h.set('a', 'newer');
    newer = h.manager.whenWritten(uidOf('a'));
    throw new APIError('scripted', { kind: 'http', statusCode: 422 });
  });
  h.manager.start();
  h.set('a', 'older');
  await h.settle();
  expect(await newer).toEqual({ written: true, version: 2 });
  expect(h.takeOutcomes()).toEqual(['refused 1', 'superseded 1', 'written 2']);
  await h.manager.stop();
});

describe('a status that is dropped while it is being sent, and set again', () => {
  it('during the DELETE: whenWritten of the new one does not resolve because the old one was written', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    const release = h.client.hold({ verb: 'delete' });
    h.manager.terminatePod(pod);
    h.manager.start();
    await h.settle();
    h.manager.removeOrphanedStatuses([]);
    h.takeOutcomes();
    h.set('a', 'last words', { phase: 'Failed' });
    const written = h.manager.whenWritten(uidOf('a'));
    release();
    await h.settle();
    expect(await written).toEqual({ written: false, reason: 'removed' });
    expect(h.takeOutcomes()).toEqual(['gone 1', 'deleted 1']);
    await h.manager.stop();
  });

  it('by a listener, between the PATCH and the DELETE', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    let written: Promise<WrittenResult> | undefined;
    h.manager.subscribe({
      onOutcome({ outcome }) {
        if (outcome !== 'written') return;
        h.set('a', 'last words', { phase: 'Failed' });
        written = h.manager.whenWritten(uidOf('a'));
      },
    });
    h.manager.terminatePod(pod);
    h.manager.start();
    await h.settle();
    expect(h.takeOutcomes()).toEqual(['written 1', 'gone 2', 'deleted 1']);
    expect(await written).toEqual({ written: false, reason: 'removed' });
    await h.manager.stop();
  });

  it('by a listener of written, before the DELETE fails: the new one does not wait for a retry', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }));
    h.client.fail({ verb: 'delete' }, 500);
    h.manager.subscribe({
      onOutcome: ({ outcome, version }) =>
        outcome === 'written' && version === 1 && h.manager.removeOrphanedStatuses([]),
    });
    h.manager.terminatePod(pod);
    h.manager.start();
    await h.settle();
    h.takeOutcomes();
    h.set('a', 'new', { phase: 'Failed' });
    await h.settle();
    expect(h.takeOutcomes()).toEqual(['written 1']);
    await h.manager.stop();
  });

  it('shortly after its PATCH failed: the new one does not wait for a retry', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    // The status is dropped and set again this many turns after the response.
    for (let turns = 0; turns < 12; turns++) {
      h.client.react({ verb: 'patch' }, () => {
        let turn = Promise.resolve();
        for (let i = 0; i < turns; i++) turn = turn.then(() => {});
        void turn.then(() => {
          h.manager.removeOrphanedStatuses([]);
          h.set('a', `new ${turns}`);
        });
        throw new APIError('scripted', { kind: 'http', statusCode: 500 });
      });
      h.manager.start();
      h.set('a', `old ${turns}`);
      await h.settle();
      expect(h.written('a')).toBe(`new ${turns}`);
    }
    await h.manager.stop();
  });
});
