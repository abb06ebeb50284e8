import { describe, expect, it } from 'vitest';
import { PodStatusCache, type VersionedPodStatus } from '../../../src/status-manager/cache/pod-status-cache.ts';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';

function setup() {
  const podManager = new BasicPodManager();
  const cache = new PodStatusCache(podManager);
  const set = (uid: string, count: number, nowMs = 0): void => {
    const status = { podName: uid, podNamespace: 'default', podIsFinished: false, status: { phase: 'Running' } };
    for (let i = 0; i < count; i++) cache.set(uid, { ...status, urgent: true, adopted: undefined }, nowMs);
  };
  /** Version `version`, or the newest. */
  const send = (uid: string, version = cache.get(uid)?.version, apiUID = uid, readAtMs = 0): void =>
    cache.markSent(uid, apiUID, { ...cache.get(uid)!, version: version! }, { readAtMs, atMs: readAtMs, as: 'written' });
  const uids = () => ({ incremental: cache.uidsOfUnsentVersions().sort(), unsent: cache.unsentUIDs().sort() });
  return { podManager, cache, set, send, uids };
}

const pod = (uid: string, annotations: Record<string, string>): Pod => ({
  metadata: { namespace: 'default', name: 'static', uid, annotations },
});
const staticPod = pod('static', { 'kubernetes.io/config.source': 'file' });
const mirror = (uid: string): Pod => pod(uid, { 'kubernetes.io/config.mirror': 'x' });

describe('when a version was sent, and how', () => {
  const confirmed = ({ sentAs, sentAtMs }: VersionedPodStatus) => ({ sentAs, sentAtMs });

  it('a later read that finds no difference is no news; a PATCH is', () => {
    const { cache, set } = setup();
    set('a', 1);
    const confirm = (as: NonNullable<VersionedPodStatus['sentAs']>, atMs: number): object => {
      cache.markSent('a', 'a', cache.get('a')!, { readAtMs: atMs, atMs, as });
      return confirmed(cache.get('a')!);
    };
    expect(confirmed(cache.get('a')!)).toEqual({ sentAs: undefined, sentAtMs: undefined });
    expect(confirm('written', 10)).toEqual({ sentAs: 'written', sentAtMs: 10 });
    expect(confirm('unchanged', 20)).toEqual({ sentAs: 'written', sentAtMs: 10 });
    expect(confirm('written', 30)).toEqual({ sentAs: 'written', sentAtMs: 30 });
    set('a', 1);
    expect(confirmed(cache.get('a')!)).toEqual({ sentAs: 'written', sentAtMs: 30 });
    expect(confirm('unchanged', 40)).toEqual({ sentAs: 'unchanged', sentAtMs: 40 });
  });
});

describe('which statuses are unsent', () => {
  it('includes pods never sent and pods with a lower sent version', () => {
    const { set, send, uids } = setup();
    set('never', 1);
    set('lower', 2);
    send('lower', 1);
    set('sent', 3);
    send('sent', 3);
    expect(uids()).toEqual({ incremental: ['lower', 'never'], unsent: ['lower', 'never'] });
  });

  it('none of a static pod without a mirror pod; again when its mirror is replaced or no longer known', () => {
    const { podManager, set, send, uids } = setup();
    podManager.addPod(staticPod);
    set('static', 1);
    expect(uids()).toEqual({ incremental: [], unsent: [] });
    podManager.addPod(mirror('mirror-1'));
    expect(uids()).toEqual({ incremental: ['static'], unsent: ['static'] });
    send('static', 1, 'mirror-1');
    expect(uids()).toEqual({ incremental: [], unsent: [] });
    podManager.removePod(mirror('mirror-1'));
    podManager.addPod(mirror('mirror-2'));
    expect(uids()).toEqual({ incremental: ['static'], unsent: ['static'] });
    send('static', 1, 'mirror-2');
    podManager.removePod(mirror('mirror-2'));
    podManager.removePod(staticPod);
    expect(uids()).toEqual({ incremental: ['static'], unsent: ['static'] });
  });

  it('one that was dropped and set again below the version that was written, which the kubelet does not count', () => {
    const { cache, set, send, uids } = setup();
    set('a', 5);
    send('a', 5);
    cache.delete('a');
    set('a', 1);
    expect(uids()).toEqual({ incremental: [], unsent: ['a'] });
  });

  it('one whose API object no longer shows it', () => {
    const { cache, set, send, uids } = setup();
    set('a', 1);
    send('a', 1);
    cache.forgetSent('a', 'a');
    expect(uids()).toEqual({ incremental: ['a'], unsent: ['a'] });
    expect(cache.sentVersion('a')).toBeUndefined();
  });

  it('takeChanged hands out each change once, and none that was sent, dropped, or has no API object', () => {
    const { cache, podManager, set, send } = setup();
    podManager.addPod(staticPod);
    for (const uid of ['a', 'sent', 'dropped', 'static']) set(uid, 1);
    send('sent', 1);
    cache.delete('dropped');
    expect(cache.takeChanged()).toEqual(['a']);
    expect(cache.takeChanged()).toEqual([]);
    set('a', 2);
    expect(cache.takeChanged()).toEqual(['a']);
  });
});

describe('since when', () => {
  it('an unsent change is counted, with the age of the oldest', () => {
    const { cache, set, send } = setup();
    expect(cache.gauges(7_000)).toEqual({ cachedStatuses: 0, unsentStatuses: 0, oldestUnsentAgeSeconds: 0 });
    set('a', 1, 1_000);
    set('b', 1, 3_000);
    expect(cache.gauges(7_000)).toEqual({ cachedStatuses: 2, unsentStatuses: 2, oldestUnsentAgeSeconds: 6 });
    send('a', 1);
    expect(cache.gauges(7_000)).toEqual({ cachedStatuses: 2, unsentStatuses: 1, oldestUnsentAgeSeconds: 4 });
  });

  it('a version that was set during the request counts from the reading of the one that was sent', () => {
    const { cache, set, send } = setup();
    set('a', 2, 1_000);
    send('a', 1, 'a', 5_000);
    expect(cache.get('a')).toMatchObject({ unsentSinceMs: 5_000, urgent: true });
    send('a', 2, 'a', 6_000);
    expect(cache.get('a')).toMatchObject({ unsentSinceMs: undefined, urgent: false });
  });
});

describe('what was sent', () => {
  it('is forgotten for API objects that belong to no cached status and no mirror', () => {
    const { cache, podManager, set, send } = setup();
    podManager.addPod(staticPod);
    podManager.addPod(mirror('mirror-1'));
    set('a', 1);
    for (const apiUID of ['a', 'mirror-1', 'unknown']) send('a', 1, apiUID);
    cache.forgetUnknownAPIObjects(podManager.getUIDTranslations());
    expect([...cache.sentVersions().keys()]).toEqual(['a', 'mirror-1']);
  });

  it('a status that was replaced under its version stays sent; one under a newer version is kept', () => {
    const { cache, set, send, uids } = setup();
    set('a', 1);
    send('a', 1);
    const old = cache.get('a')!;
    cache.replace('a', old, { status: { phase: 'Failed' } });
    expect(cache.get('a')).toMatchObject({ version: 1, status: { phase: 'Failed' } });
    expect(uids().unsent).toEqual([]);
    cache.replace('a', old, { status: { phase: 'Pending' } });
    expect(cache.get('a')?.status).toEqual({ phase: 'Failed' });
  });
});
