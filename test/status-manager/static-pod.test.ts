import { describe, expect, it } from 'vitest';
import { isPodStatusByKubeletEqual } from '../../src/status/equality.ts';
import type { Pod } from '../../src/types.ts';
import { getStaticPod, startTime, TestManager, testPodUID } from './fixture.ts';

describe('TestStaticPod', () => {
  it('sends the static pod’s status to its mirror, once there is one', async () => {
    const { staticPod, mirrorPod } = getStaticPod();
    const t = new TestManager([mirrorPod]);
    t.podManager.addPod(staticPod);
    const { status } = t.manager.setPodStatus(staticPod, t.newStatus({ startTime }));
    expect(t.status()).toEqual(status);

    // Should not sync pod in syncBatch because there is no corresponding mirror pod for the static pod.
    expect((await t.manager.syncBatch(true)).tried).toBe(0);
    expect(await t.takeActions()).toEqual([]);

    t.podManager.addPod(mirrorPod);
    expect(t.podManager.translatePodUID('mirror-12345678')).toBe(testPodUID);
    // Should be able to get the mirror pod status from status manager.
    expect(isPodStatusByKubeletEqual(status, t.status('mirror-12345678'))).toBe(true);
    const written = t.manager.whenWritten('mirror-12345678');

    // Should sync pod because the corresponding mirror pod is created.
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    expect(await written).toEqual({ written: true, version: 1 });
    expect(t.client.pod('new', 'foo')?.status).toEqual(status);
    expect(t.manager.inspect().apiStatusVersions).toEqual(new Map([['mirror-12345678', 1]]));

    // syncBatch should not sync any pods because nothing is changed.
    expect(await t.syncBatchWithoutReconcile()).toBe(0);
    expect(await t.takeActions()).toEqual([]);

    // Change mirror pod identity: should not update to mirror pod, because UID has changed.
    t.podManager.removePod(mirrorPod);
    t.podManager.addPod({ ...mirrorPod, metadata: { ...mirrorPod.metadata, uid: 'new-mirror-pod' }, status: {} });
    expect((await t.manager.syncBatch(true)).tried).toBe(1);
    expect(await t.takeActions()).toEqual(['get']);
    // Divergence: the kubelet drops the status here.
    expect(t.manager.getPodStatus(testPodUID)).toEqual(status);
  });

  it('looks again at once when the pod manager has forgotten the static pod and the mirror it was written to', async () => {
    const { staticPod, mirrorPod } = getStaticPod();
    const t = new TestManager([mirrorPod]);
    t.podManager.setPods([staticPod, mirrorPod]);
    t.manager.setPodStatus(staticPod, t.newStatus({ startTime }));
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    expect((await t.manager.syncBatch(false)).tried).toBe(0);

    t.podManager.setPods([]);
    // The API object is another one than the cached status belongs to.
    expect((await t.manager.syncBatch(false)).tried).toBe(1);
    expect(await t.takeActions()).toEqual(['get']);
    expect(t.manager.getPodStatus(testPodUID)).toBeUndefined();
  });
});

describe('a mirror pod that appears', () => {
  function start(): { t: TestManager; staticPod: Pod; mirrorPod: Pod } {
    const { staticPod, mirrorPod } = getStaticPod();
    const t = new TestManager([mirrorPod]);
    t.podManager.addPod(staticPod);
    t.manager.setPodStatus(staticPod, t.newStatus({ startTime }));
    t.manager.start();
    return { t, staticPod, mirrorPod };
  }

  it('after the last change of its static pod showed Pending until the next tick', async () => {
    const { t, mirrorPod } = start();
    await t.clock.advanceAsync(1_000);
    expect(t.client.actions).toEqual([]);
    t.podManager.addPod(mirrorPod);
    await t.clock.advanceAsync(0);
    expect(t.client.pod('new', 'foo')?.status).toEqual(t.status());
    await t.manager.stop();
    t.podManager.addPod({ ...mirrorPod, metadata: { ...mirrorPod.metadata, uid: 'other' } });
  });

  it('in place of an older one showed Pending until the next tick', async () => {
    const { t, mirrorPod } = start();
    t.podManager.addPod(mirrorPod);
    await t.clock.advanceAsync(1_000);
    t.podManager.removePod(mirrorPod);
    const recreated = { ...mirrorPod, metadata: { ...mirrorPod.metadata, uid: 'mirror-2' }, status: {} };
    t.client.put(recreated);
    t.podManager.addPod(recreated);
    await t.clock.advanceAsync(0);
    expect(t.client.pod('new', 'foo')?.status).toEqual(t.status());
    await t.manager.stop();
  });
});

describe('TestDoNotDeleteMirrorPods', () => {
  it('patches a finished mirror that is being deleted, and leaves it there', async () => {
    const { staticPod, mirrorPod: mirror } = getStaticPod();
    const mirrorPod = { ...mirror, metadata: { ...mirror.metadata, deletionTimestamp: startTime } };
    const t = new TestManager([mirrorPod]);
    t.podManager.setPods([staticPod, mirrorPod]);
    t.manager.setPodStatus(staticPod, t.newStatus({ startTime, phase: 'Failed' }));
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    t.manager.terminatePod(staticPod);
    expect(await t.takeActions()).toEqual(['get']);
    expect(t.client.pod('new', 'foo')?.status?.phase).toBe('Failed');
  });
});
