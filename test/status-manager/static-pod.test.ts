import { describe, expect, it } from 'vitest';
import { StatusManager } from '../../src/status-manager/status-manager.ts';
import { BasicPodManager } from '../../src/kube/pod-manager/basic-pod-manager.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../src/testing/fake-pod-client.ts';
import { recordingLogger } from '../../src/testing/recording-logger.ts';
import type { Pod } from '../../src/kube/objects/types.ts';
import { isPodStatusByKubeletEqual } from '../../src/status-manager/status/equality.ts';
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

  it('syncs again immediately when the pod manager no longer knows the static pod and its mirror', async () => {
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

describe('TestDoNotDeleteMirrorPods', () => {
  it('patches a finished mirror pod that is being deleted, and does not delete it', async () => {
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

describe('a mirror pod that appears after the last change of its static pod', () => {
  const staticPod: Pod = {
    metadata: {
      name: 's',
      namespace: 'default',
      uid: 'static',
      annotations: { 'kubernetes.io/config.source': 'file' },
    },
    spec: { containers: [{ name: 'app' }] },
  };
  const mirrorPod: Pod = {
    ...staticPod,
    metadata: { ...staticPod.metadata, uid: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'x' } },
    status: { phase: 'Pending' },
  };

  it('shows its status promptly, not only after the next tick; so does one that replaces it', async () => {
    const clock = new FakeClock();
    const client = new FakePodClient([mirrorPod]);
    const podManager = new BasicPodManager();
    const options = {
      client,
      podManager,
      podCouldHaveRunningContainers: () => false,
      clock,
      logger: recordingLogger(),
    };
    const manager = new StatusManager(options);
    manager.start();
    podManager.addPod(staticPod);
    manager.setPodStatus(staticPod, { phase: 'Running' });
    await clock.advanceAsync(1_000);
    expect(client.actions).toEqual([]);
    podManager.addPod(mirrorPod);
    await clock.advanceAsync(0);
    expect(client.pod('default', 's')?.status?.phase).toBe('Running');

    client.actions.length = 0;
    podManager.updatePod({ ...mirrorPod, metadata: { ...mirrorPod.metadata, resourceVersion: '2' } });
    await clock.advanceAsync(0);
    expect(client.actions).toEqual([]);

    const replacement = { ...mirrorPod, metadata: { ...mirrorPod.metadata, uid: 'mirror-2' } };
    client.put(replacement);
    podManager.removePod(mirrorPod);
    podManager.addPod(replacement);
    await clock.advanceAsync(0);
    expect(client.pod('default', 's')).toMatchObject({ metadata: { uid: 'mirror-2' }, status: { phase: 'Running' } });
    await manager.stop();
  });

  it('leaves no listener after stop()', async () => {
    const podManager = new BasicPodManager();
    let listeners = 0;
    const onMirrorPodAdded = podManager.onMirrorPodAdded.bind(podManager);
    podManager.onMirrorPodAdded = (listener) => {
      listeners++;
      const leave = onMirrorPodAdded(listener);
      return () => {
        listeners--;
        return leave();
      };
    };
    const manager = new StatusManager({
      client: new FakePodClient(),
      podManager,
      podCouldHaveRunningContainers: () => false,
    });
    expect(listeners).toBe(1);
    await manager.stop();
    expect(listeners).toBe(0);
  });
});

describe('a new version of a static pod, while the API server still has the mirror pod of the old one', () => {
  const spec = { restartPolicy: 'OnFailure', initContainers: [{ name: 'setup' }], containers: [{ name: 'app' }] };
  const metadata = { name: 's', namespace: 'default' };
  const staticPod: Pod = {
    metadata: {
      ...{ ...metadata, uid: 'new' },
      annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'new' },
    },
    spec,
  };
  const ended = { terminated: { exitCode: 0 } };
  const oldMirror: Pod = {
    metadata: { ...metadata, uid: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'old' } },
    spec,
    status: {
      phase: 'Running',
      startTime,
      initContainerStatuses: [{ name: 'setup', state: ended }],
      containerStatuses: [{ name: 'app', state: ended }],
    },
  };

  it('never shows what the containers of the old version have done', () => {
    const t = new TestManager();
    t.podManager.setPods([staticPod, oldMirror]);
    const waiting = { waiting: { reason: 'PodInitializing' } };
    const { rejected, status } = t.manager.setPodStatus(
      staticPod,
      {
        phase: 'Pending',
        initContainerStatuses: [{ name: 'setup', state: waiting }],
        containerStatuses: [{ name: 'app', state: waiting }],
      },
      { keepTerminated: true },
    );
    expect(rejected).toBeUndefined();
    expect(status.initContainerStatuses?.[0]?.state).toEqual(waiting);
  });

  it('does not adopt the status of the old one when the agent starts', () => {
    const t = new TestManager();
    t.podManager.setPods([staticPod, oldMirror]);
    expect(t.manager.seed([oldMirror])).toBe(0);
    expect(t.manager.getPodStatus('new')).toBeUndefined();
  });
});
