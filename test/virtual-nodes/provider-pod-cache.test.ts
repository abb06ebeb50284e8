import { beforeEach, expect, it } from 'vitest';
import type { ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import { FakeClock } from 'kubelet-status-manager/testing';
import { ProviderPodCache } from '../../src/virtual-nodes/pods/provider-pod-cache.ts';
import { reportedPod } from '../../src/virtual-nodes/pods/provider-pod-record.ts';
import { readProviderPods } from '../../src/virtual-nodes/calls/require-provider-pods.ts';

const pod: ProviderPod = { uid: 'u-1', namespace: 'default', name: 'web', nodeName: 'node-a', state: 'running' };

let clock: FakeClock;
let observation: number;
let events: string[];
let cache: ProviderPodCache;
const begin = (): number => ++observation;
const list = (pods: readonly ProviderPod[], began = begin()): void =>
  void cache.replace(pods, began, readProviderPods(pods));
const creating = (uid: string): void => {
  const created = { metadata: { uid, namespace: 'default', name: 'web' } };
  cache.reconcile(uid, { report: { kind: 'creating', pod: created, restartCount: 0, observation: begin() } });
};
const isLost = (uid: string): boolean => cache.record(uid).state.kind === 'lost';
const reported = (uid: string): ProviderPod | undefined => reportedPod(cache.record(uid));
beforeEach(() => {
  clock = new FakeClock();
  observation = 4;
  events = [];
  cache = new ProviderPodCache({
    ...{ nodeName: 'node-a', lostAfterLists: 1, lostPods: 'fail', canUpdate: true, restarts: undefined, clock },
    lister: {
      beginObservation: begin,
      lastObservation: () => observation,
      listSoon: () => {},
      subscribe: () => () => {},
    },
    getPodByUID: () => undefined,
    arePodsKnown: () => true,
    onLost: () => {},
    onEvent: ({ podUID }) => events.push(podUID),
  });
});

it('a list that began before the node was added does not count as its first list', () => {
  list([], 4);
  expect(cache.isListed).toBe(false);
  list([]);
  expect(cache.isListed).toBe(true);
});

it('a list that began before the provider accepted a pod does not make it lost', () => {
  creating('u-1');
  const before = begin();
  cache.reconcile('u-1', { report: { kind: 'created', observation: begin(), atMs: 0 } });
  list([], before);
  expect(isLost('u-1')).toBe(false);
  list([]);
  expect(isLost('u-1')).toBe(true);
  expect(events).toEqual(['u-1']);
});

it('a list that began before a notification does not undo it', () => {
  const before = begin();
  cache.set({ ...pod, state: 'stopped' }, begin());
  list([pod], before);
  expect(reported('u-1')?.state).toBe('stopped');
});

it('a pod that is reported before its creation is accepted stays reported', () => {
  creating('u-1');
  cache.set(pod, begin());
  cache.reconcile('u-1', { report: { kind: 'created', observation: begin(), atMs: 0 } });
  expect(cache.record('u-1').state).toMatchObject({ kind: 'reported', pod });
});

it('a deleted pod has ended when a list that began later does not have it, or when it is reported as stopped', async () => {
  const { signal } = new AbortController();
  cache.set(pod, begin());
  const before = begin();
  cache.reconcile('u-1', { report: { kind: 'deleted', observation: begin() } });
  let hasEnded = false;
  const ended = cache.untilEnded('u-1', signal).then(() => (hasEnded = true));
  list([], before);
  list([pod]);
  await clock.yieldToEventLoop();
  expect(hasEnded).toBe(false);
  list([]);
  await ended;
  expect(reported('u-1')).toBeUndefined();

  cache.set({ ...pod, uid: 'u-2', state: 'stopped' }, begin());
  await cache.untilEnded('u-2', signal);
  expect(reported('u-2')).toBeDefined();
});

it('untilEnded rejects when it is aborted', async () => {
  cache.set(pod, begin());
  const abort = new AbortController();
  const ended = cache.untilEnded('u-1', abort.signal);
  abort.abort(new Error('superseded'));
  await expect(ended).rejects.toThrow('superseded');
});

it('a pod whose deletion was accepted is listed again after a minute, so that it is deleted again', () => {
  cache.set(pod, begin());
  cache.reconcile('u-1', { report: { kind: 'deleted', observation: begin() } });
  cache.set(pod, begin());
  clock.advance(59_999);
  expect(cache.listed()).toEqual([]);
  clock.advance(1);
  expect(cache.listed()).toEqual([pod]);
});

it('a list without changes causes no sync, whatever else the provider has added to its pods', () => {
  const containers = [{ name: 'app', ready: true }];
  list([{ ...pod, containers }]);
  const added = { readAt: 1, client: { socket: {} } };
  list([{ ...pod, ...added, containers: [{ ...containers[0]!, ...added }] }]);
  expect(events).toEqual(['u-1']);
  list([{ ...pod, ...added, containers: [{ ...containers[0]!, ready: false }] }]);
  expect(events).toEqual(['u-1', 'u-1']);
  expect(reported('u-1')).not.toHaveProperty('client');
});

it('removeOrphanedPods drops the records of pods that are neither in the cloud nor wanted', () => {
  cache.set(pod, begin());
  cache.set({ ...pod, uid: 'u-2' }, begin());
  creating('u-3');
  list([pod]);
  cache.removeOrphanedPods(new Set(['u-3']));
  expect(['u-1', 'u-2', 'u-3'].map((uid) => cache.record(uid).state.kind !== 'notAsked')).toEqual([true, false, true]);
});

it('a change of a pod is noticed although the provider reports the same object, which it has changed', () => {
  const same = { ...pod, state: 'running' as ProviderPod['state'] };
  list([same]);
  same.state = 'stopped';
  expect(reported('u-1')?.state).toBe('running');
  list([same]);
  expect(reported('u-1')?.state).toBe('stopped');
  expect(events).toEqual(['u-1', 'u-1']);
});
