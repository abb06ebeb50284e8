import { describe, expect, it } from 'vitest';
import { getTestPod, startTime, TestManager, testPodUID } from './fixture.ts';

describe('TestSyncPodIgnoresNotFound', () => {
  it('reads, and writes nothing', async () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    expect(await t.takeActions()).toEqual(['get']);
    expect(t.version()).toBe(1);
    expect(t.manager.inspect().apiStatusVersions.size).toBe(0);
  });
});

describe('TestSyncPod', () => {
  it('reads, then patches', async () => {
    const t = new TestManager([getTestPod()]);
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    expect(t.client.pod('new', 'foo')?.status).toEqual(t.status());
    expect(t.manager.inspect().apiStatusVersions).toEqual(new Map([[testPodUID, 1]]));
  });
});

describe('TestSyncPodChecksMismatchedUID', () => {
  it('does not write to another pod of the same name, and drops the status', async () => {
    const first = getTestPod({ metadata: { uid: 'first' } });
    const second = getTestPod({ metadata: { uid: 'second' } });
    const t = new TestManager([first]);
    t.podManager.setPods([first, second]);
    t.manager.setPodStatus(second, t.newStatus());
    expect(await t.takeActions()).toEqual(['get']);
    expect(t.manager.getPodStatus('second')).toBeUndefined();
  });
});

describe('TestSyncPodNoDeadlock', () => {
  it('continues after any response of the API server', async () => {
    const t = new TestManager();
    const status = { containerStatuses: [{ name: 'app', state: { running: {} } }] };
    const pod = getTestPod({ status });

    // Pod not found.
    t.manager.setPodStatus(pod, t.newStatus());
    expect(await t.takeActions()).toEqual(['get']);

    // Pod was recreated.
    t.client.put(getTestPod({ metadata: { uid: 'other_pod' } }));
    t.manager.setPodStatus(pod, t.newStatus());
    expect(await t.takeActions()).toEqual(['get']);

    // Pod not deleted (success case).
    t.client.put(getTestPod());
    t.manager.setPodStatus(pod, t.newStatus());
    expect(await t.takeActions()).toEqual(['get', 'patch']);

    // Pod is terminated, but still running.
    const deleted = getTestPod({ metadata: { deletionTimestamp: startTime }, status });
    t.manager.setPodStatus(deleted, t.newStatus());
    expect(await t.takeActions()).toEqual(['get', 'patch']);

    // Pod is terminated successfully.
    const terminated = getTestPod({
      metadata: { deletionTimestamp: startTime },
      status: { containerStatuses: [{ name: 'app', state: { terminated: {} } }] },
    });
    t.manager.setPodStatus(terminated, t.newStatus());
    expect(await t.takeActions()).toEqual(['get', 'patch']);

    // Error case.
    t.client.fail({ verb: 'get' }, new Error('intentional test error'));
    t.manager.setPodStatus(terminated, t.newStatus());
    expect(await t.takeActions()).toEqual(['get']);
  });
});

describe('TestStaleUpdates', () => {
  it('sends only the newest of several changes', async () => {
    const pod = getTestPod();
    const t = new TestManager([pod]);
    t.manager.setPodStatus(pod, { message: 'initial status' });
    t.manager.setPodStatus(pod, { message: 'first version bump' });
    t.manager.setPodStatus(pod, { message: 'second version bump' });

    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    expect(t.client.pod('new', 'foo')?.status?.message).toBe('second version bump');
    // Nothing left in the channel to sync.
    expect(await t.takeActions()).toEqual([]);

    // Unchanged status should not send an update …
    t.manager.setPodStatus(pod, { message: 'second version bump' });
    expect(await t.consumeUpdates()).toBe(0);
  });

  it('... even if it’s stale as long as nothing changes', async () => {
    const pod = getTestPod();
    const t = new TestManager([pod]);
    t.client.fail({ verb: 'patch' }, 500);
    t.manager.setPodStatus(pod, { message: 'second version bump' });
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    // The server had accepted it; only the response was lost.
    t.client.put({ ...pod, status: t.status() });

    t.manager.setPodStatus(pod, { message: 'second version bump' });
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect(await t.takeActions()).toEqual(['get']);
    // Nothing stuck in the pipe.
    expect(await t.consumeUpdates()).toBe(0);
    expect((await t.manager.syncBatch(false)).tried).toBe(0);
  });
});

describe('TestSyncBatchCleanupVersions', () => {
  const annotations = { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'mirror' };
  const mirrorPod = getTestPod({ metadata: { uid: 'mirror-uid', name: 'mirror_pod', annotations } });
  const staticPod = getTestPod({
    metadata: { uid: 'static-uid', name: 'mirror_pod', annotations: { 'kubernetes.io/config.source': 'file' } },
  });

  async function written(): Promise<TestManager> {
    const t = new TestManager([getTestPod(), mirrorPod]);
    t.podManager.setPods([getTestPod(), mirrorPod, staticPod]);
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    t.manager.setPodStatus(staticPod, t.newStatus());
    await t.consumeUpdates();
    expect([...t.manager.inspect().apiStatusVersions.keys()]).toEqual([testPodUID, 'mirror-uid']);
    return t;
  }

  it('Orphaned pods should be removed.', async () => {
    const t = await written();
    t.manager.removeOrphanedStatuses([]);
    expect(t.manager.inspect().pods).toEqual([]);
    expect(t.manager.inspect().apiStatusVersions.size).toBe(2);
    await t.manager.syncBatch(false);
    expect(t.manager.inspect().apiStatusVersions.size).toBe(2);
    t.podManager.removePod(mirrorPod);
    await t.manager.syncBatch(true);
    expect(t.manager.inspect().apiStatusVersions.size).toBe(0);
  });

  it('Non-orphaned pods should not be removed.', async () => {
    const t = await written();
    await t.syncBatchWithoutReconcile();
    expect([...t.manager.inspect().apiStatusVersions.keys()]).toEqual([testPodUID, 'mirror-uid']);
    // A known mirror is enough, also when the static pod's status has gone.
    t.manager.removeOrphanedStatuses([]);
    await t.manager.syncBatch(true);
    expect([...t.manager.inspect().apiStatusVersions.keys()]).toEqual(['mirror-uid']);
  });
});

describe('TestReconcilePodStatus', () => {
  async function synced(): Promise<TestManager> {
    const t = new TestManager([getTestPod()]);
    t.podManager.addPod(getTestPod());
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    await t.manager.syncBatch(true);
    await t.takeActions();
    return t;
  }

  it('If the pod status is the same, a reconciliation is not needed and syncBatch should do nothing', async () => {
    const t = await synced();
    t.podManager.updatePod(getTestPod({ status: t.status() }));
    t.manager.setPodStatus(getTestPod(), t.status());
    expect((await t.manager.syncBatch(true)).tried).toBe(0);
    expect(await t.takeActions()).toEqual([]);
  });

  it('If the pod status only differs for timestamp format, a reconciliation is not needed', async () => {
    const t = await synced();
    for (const format of [new Date('2026-01-02T03:04:05.999Z'), '2026-01-02T04:04:05.5+01:00']) {
      t.podManager.updatePod(getTestPod({ status: { ...t.status(), startTime: format } }));
      expect((await t.manager.syncBatch(true)).tried).toBe(0);
    }
    expect(await t.takeActions()).toEqual([]);
  });

  it('If the pod status is different, a reconciliation is needed, syncBatch should trigger an update', async () => {
    const t = await synced();
    t.podManager.updatePod(getTestPod({ status: { ...t.status(), message: 'changed by somebody' } }));
    t.client.put(t.podManager.getPodByUID(testPodUID)!);
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    expect(t.client.pod('new', 'foo')?.status).toEqual(t.status());
  });

  it('reads each time and writes nothing while only the pod manager is behind', async () => {
    const t = await synced();
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect(await t.takeActions()).toEqual(['get', 'get']);
  });

  it('a DisruptionTarget that only the API server has makes every full batch read', async () => {
    const t = await synced();
    const conditions = [{ type: 'DisruptionTarget', status: 'True', lastProbeTime: null, lastTransitionTime: null }];
    const pod = getTestPod({ status: { ...t.status(), conditions } });
    t.podManager.updatePod(pod);
    t.client.put(pod);
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect(await t.takeActions()).toEqual(['get', 'get']);
  });

  it('ignores fields that only a newer server knows (such a pod was read at every full batch)', async () => {
    const t = await synced();
    t.podManager.updatePod(getTestPod({ status: { ...t.status(), ...{ 'x-new': { of: 'a later version' } } } }));
    expect((await t.manager.syncBatch(true)).tried).toBe(0);
  });

  it('does not reconcile a pod that the pod manager does not know', async () => {
    const t = await synced();
    t.podManager.removePod(getTestPod());
    expect((await t.manager.syncBatch(true)).tried).toBe(0);
  });
});

describe('syncBatch', () => {
  it('an incremental batch ignores what differs only on the server', async () => {
    const t = new TestManager([getTestPod()]);
    t.podManager.addPod(getTestPod());
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    await t.manager.syncBatch(false);
    expect((await t.manager.syncBatch(false)).tried).toBe(0);
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
  });

  it.each(['get', 'patch'] as const)('tries again at the next batch after a failed %s', async (verb) => {
    const t = new TestManager([getTestPod()]);
    t.client.fail({ verb }, 500);
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    expect((await t.manager.syncBatch(false)).tried).toBe(1);
    expect(t.manager.inspect().pods[0]).toMatchObject({ sentVersion: undefined, lastError: 'scripted 500' });
    expect((await t.manager.syncBatch(false)).tried).toBe(1);
    expect(t.manager.inspect().pods[0]).toMatchObject({ sentVersion: 1, lastError: undefined });
  });

  it('rejects without a client', async () => {
    const t = new TestManager([], { client: undefined });
    await expect(t.manager.syncBatch(true)).rejects.toMatchObject({ code: 'INVALID_STATE' });
  });
});
