import { describe, expect, it } from 'vitest';
import { CriticalSection } from '../../../src/shared/critical-section.ts';
import { PodStatusCache } from '../../../src/status-manager/cache/pod-status-cache.ts';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import { FullBatch } from '../../../src/status-manager/sync/full-batch.ts';
import { HotLoops } from '../../../src/status-manager/sync/hot-loops.ts';
import { PodRecords } from '../../../src/status-manager/sync/pod-records.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import type { Pod, PodStatus } from '../../../src/kube/objects/types.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';
import { podOf, uidOf } from './sync-harness.ts';

function setup() {
  const podManager = new BasicPodManager();
  const cache = new PodStatusCache(podManager);
  const clock = new FakeClock();
  const logger = recordingLogger();
  const records = new PodRecords();
  const hotLoops = new HotLoops(logger);
  const batch = new FullBatch({
    cache,
    podManager,
    records,
    hotLoops,
    section: new CriticalSection(),
    clock,
    logger,
  });
  const put = (name: string, status: PodStatus = { phase: 'Running' }, podIsFinished = false): void => {
    cache.set(
      uidOf(name),
      { podName: name, podNamespace: 'default', podIsFinished, status, urgent: false, adopted: undefined },
      0,
    );
  };
  const send = (name: string, apiUID = uidOf(name)): void =>
    cache.markSent(uidOf(name), apiUID, cache.get(uidOf(name))!, { readAtMs: 0, atMs: 0, as: 'written' });
  const full = async (): Promise<string[]> => {
    const uids: string[] = [];
    await batch.run((uid, needsSync) => void (needsSync && uids.push(uid)));
    return uids;
  };
  /** Sent pods `p0`, `p1`, … of which each takes a millisecond to compare. */
  const sendSlow = (count: number): void => {
    const getPodByUID = podManager.getPodByUID.bind(podManager);
    podManager.getPodByUID = (uid) => {
      clock.advance(1);
      return getPodByUID(uid);
    };
    for (let i = 0; i < count; i++) {
      put(`p${i}`);
      send(`p${i}`);
    }
  };
  return { cache, podManager, clock, logger, batch, put, send, sendSlow, full };
}

const annotated = (name: string, annotations: Record<string, string>, uid = uidOf(name)): Pod =>
  podOf(name, { annotations, uid });

describe('FullBatch', () => {
  it('a full batch takes what differs from what the pod manager shows, and forgets that it was sent', async () => {
    const { put, send, podManager, full, cache } = setup();
    put('a');
    send('a');
    podManager.addPod(podOf('a'));
    expect(await full()).toEqual([uidOf('a')]);
    expect(cache.sentVersions().size).toBe(0);
    expect(cache.uidsOfUnsentVersions()).toEqual([uidOf('a')]);
  });

  it('compares a static pod with its mirror pod, and does not compare it while it has none', async () => {
    const { put, send, podManager, full } = setup();
    podManager.addPod(annotated('s', { 'kubernetes.io/config.source': 'file' }));
    podManager.addPod(annotated('s', { 'kubernetes.io/config.mirror': 'x' }, 'mirror-1'));
    put('s');
    send('s', 'mirror-1');
    expect(await full()).toEqual([uidOf('s')]);
    send('s', 'mirror-1');
    podManager.updatePod({
      ...annotated('s', { 'kubernetes.io/config.mirror': 'x' }, 'mirror-1'),
      status: { phase: 'Running' },
    });
    expect(await full()).toEqual([]);
    podManager.removePod(annotated('s', { 'kubernetes.io/config.mirror': 'x' }, 'mirror-1'));
    expect(await full()).toEqual([]);
  });

  it('compares a pod with an invalid status, too', async () => {
    const { put, send, podManager, full, logger } = setup();
    put('a');
    send('a');
    podManager.addPod({ ...podOf('a'), status: { phase: 'Running', startTime: 'yesterday' } });
    await full();
    expect(logger.errors).toEqual([]);
  });

  it('compares a pod again when its object was changed in place', async () => {
    const { put, send, podManager, full } = setup();
    const pod = { ...podOf('a', { resourceVersion: '1' }), status: { phase: 'Running' } };
    podManager.addPod(pod);
    put('a');
    send('a');
    expect(await full()).toEqual([]);
    pod.metadata = { ...pod.metadata, resourceVersion: '2' };
    pod.status = { phase: 'Pending' };
    expect(await full()).toEqual([uidOf('a')]);
  });

  it('takes a pod that can be deleted by what the pod manager shows', async () => {
    const { put, send, podManager, full } = setup();
    const status: PodStatus = { phase: 'Failed' };
    put('a', status, true);
    send('a');
    podManager.addPod({ ...podOf('a'), status });
    expect(await full()).toEqual([]);
    podManager.addPod({ ...podOf('a', { deletionTimestamp: '2026-01-02T03:04:05Z' }), status });
    expect(await full()).toEqual([uidOf('a')]);
  });

  it('forgets versions of API objects that belong to no pod', async () => {
    const { put, send, full, cache, podManager } = setup();
    put('a');
    send('a');
    podManager.addPod(annotated('s', { 'kubernetes.io/config.source': 'file' }));
    podManager.addPod(annotated('s', { 'kubernetes.io/config.mirror': 'x' }, 'mirror-1'));
    for (const apiUID of ['mirror-1', 'unknown']) send('a', apiUID);
    await full();
    expect([...cache.sentVersions().keys()]).toEqual([uidOf('a'), 'mirror-1']);
  });

  it('compares a pod once, until its object or our status is another one', async () => {
    const { put, send, podManager, full } = setup();
    let looks = 0;
    const pod = { ...podOf('a', { resourceVersion: '1' }) };
    // Each comparison reads the status of the pod manager's pod.
    const watched = (): Pod =>
      Object.defineProperty({ ...pod }, 'status', {
        enumerable: true,
        get() {
          looks++;
          return { phase: 'Running' };
        },
      });
    podManager.addPod(watched());
    put('a');
    send('a');
    await full();
    expect(looks).toBe(1);
    for (let i = 0; i < 5; i++) expect(await full()).toEqual([]);
    expect(looks).toBe(1);
    podManager.updatePod(watched());
    await full();
    expect(looks).toBe(2);
    put('a');
    send('a');
    await full();
    expect(looks).toBe(3);
  });

  it('a pod that cannot be compared delays no other', async () => {
    const { put, send, podManager, full, logger } = setup();
    for (const name of ['a', 'b']) {
      put(name);
      send(name);
    }
    podManager.addPod(
      Object.defineProperty(podOf('a'), 'status', {
        get() {
          throw new Error('odd');
        },
      }),
    );
    podManager.addPod(podOf('b'));
    expect(await full()).toEqual([uidOf('b')]);
    const message = 'Failed to compare a cached status with the pod manager';
    expect(logger.errors).toMatchObject([{ message, fields: { podUID: uidOf('a'), reason: 'odd' } }]);
  });

  it('yields to the event loop every few milliseconds, reads the translations again after that, and ends with its signal', async () => {
    const { sendSlow, batch, clock } = setup();
    sendSlow(200);
    const aborter = new AbortController();
    let yields = 0;
    clock.yieldToEventLoop = () => {
      if (++yields === 3) aborter.abort();
      return Promise.resolve();
    };
    const seen: string[] = [];
    await batch.run((uid) => void seen.push(uid), aborter.signal);
    expect(yields).toBe(3);
    // 32 pods between two looks at the clock, so that looking costs nothing.
    expect(seen).toHaveLength(96);
  });

  it('a mirror pod that appears during a yield is considered in the same batch', async () => {
    const { put, sendSlow, podManager, full, clock } = setup();
    sendSlow(32);
    put('s');
    podManager.addPod(annotated('s', { 'kubernetes.io/config.source': 'file' }));
    clock.yieldToEventLoop = async () =>
      podManager.addPod(annotated('s', { 'kubernetes.io/config.mirror': 'x' }, 'mirror-1'));
    expect(await full()).toContain(uidOf('s'));
  });
});
