import { describe, expect, it } from 'vitest';
import { podOf, SyncHarness, uidOf } from './sync-harness.ts';

const deletionTimestamp = '2026-01-02T03:00:00Z';
const pod = 'default/a';
const podUID = uidOf('a');

/** Lines of a sync, `level message`, with their fields; a batch driven by hand. */
async function logOf(h: SyncHarness): Promise<[string, object][]> {
  const before = h.logger.lines.length;
  await h.manager.syncBatch(true);
  return h.logger.lines.slice(before).map(({ level, message, fields }) => [`${level} ${message}`, fields]);
}

describe('a sync says what came of the status', () => {
  it('that was written, and that the API server has already', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    expect(await logOf(h)).toEqual([
      ['debug Status for pod updated', expect.objectContaining({ pod, podUID, statusVersion: 1 })],
    ]);
    h.set('a', '2');
    const shown = h.client.pod('default', 'a')!;
    h.client.put({ ...shown, status: { ...shown.status, message: '2' } });
    expect(await logOf(h)).toEqual([
      ['debug Status for pod is up-to-date', expect.objectContaining({ pod, podUID, statusVersion: 2 })],
    ]);
  });

  it.each([
    [[], 'info Pod fully terminated and removed from the API server', {}],
    [
      ['example.com/x'],
      'info Pod fully terminated; finalizers keep it on the API server',
      { finalizers: ['example.com/x'] },
    ],
  ])('of a pod that has ended, with the finalizers %j', async (finalizers, message, fields) => {
    const h = new SyncHarness();
    h.manager.terminatePod(h.addPod(podOf('a', { deletionTimestamp, finalizers })));
    expect(await logOf(h)).toContainEqual([message, expect.objectContaining({ pod, podUID, ...fields })]);
  });

  it('of a pod that was recreated under its name', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    h.client.put(podOf('a', { uid: 'other' }));
    expect(await logOf(h)).toEqual([
      ['info Pod was deleted and then recreated, skipping status update', { pod, podUID, apiUID: 'other' }],
    ]);
  });

  it('of a status from the journal that is older than the one on the API server', async () => {
    const entry = { podUID, podNamespace: 'default', podName: 'a', podIsFinished: false };
    const h = new SyncHarness({
      journal: {
        recovered: [{ ...entry, acceptedAt: '2026-01-02T02:00:00Z', status: { phase: 'Running' } }],
        accepted: () => {},
        settled: () => {},
        close: () => Promise.resolve(),
      },
    });
    h.addPod({ ...podOf('a'), status: { phase: 'Succeeded' } });
    expect(await logOf(h)).toEqual([
      [
        'info The API server shows a newer status than the journal, dropping the recorded one',
        { pod, podUID, apiUID: podUID },
      ],
    ]);
    expect(h.manager.getPodStatus(podUID)).toBeUndefined();
  });

  it('of a static pod whose mirror the pod manager does not know yet: it is retried', async () => {
    const mirror = podOf('a', { uid: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'x' } });
    const h = new SyncHarness();
    h.podManager.addPod(podOf('a', { annotations: { 'kubernetes.io/config.source': 'file' } }));
    h.addPod(mirror);
    h.client.put({ ...mirror, metadata: { ...mirror.metadata, uid: 'mirror-2' } });
    h.set('a', '1');
    expect((await logOf(h))[0]).toEqual([
      'debug Static pod has a mirror that is not known yet',
      { pod, podUID, apiUID: 'mirror-2' },
    ]);
    expect(h.outcomes).toMatchObject([
      {
        outcome: 'retried',
        failure: 'NotFound',
        error: { kind: 'invalid-response', message: 'The mirror pod is not known to the pod manager' },
      },
    ]);
  });

  it('only that it was removed, of a status that is removed before its turn or while its pod is read', async () => {
    const h = new SyncHarness({ concurrency: 1 });
    h.addPods('a', 'b');
    h.set('a', '1');
    h.set('b', '1');
    h.client.react({ verb: 'get' }, () => h.manager.removeOrphanedStatuses([]));
    expect(await logOf(h)).toEqual(
      ['uid-a', 'uid-b'].map((uid) => ['debug Removing status of a pod that is no longer there', { podUID: uid }]),
    );
    expect(h.takeRequests()).toEqual(['get a']);
  });
});
