import { describe, expect, it } from 'vitest';
import type { Pod } from '../../src/kube/objects/types.ts';
import { getTestPod, startTime, TestManager } from './fixture.ts';

function listening(name = '', heard: unknown[] = []): { t: TestManager; heard: unknown[]; unsubscribe: () => void } {
  const t = new TestManager();
  const unsubscribe = t.manager.subscribe({
    onPodUpdated: (pod, status, isAdded) =>
      heard.push([name, 'updated', pod.metadata?.uid, pod.status === status, status.message, isAdded]),
    onPodRemoved: (pod) => heard.push([name, 'removed', pod.metadata?.uid]),
  });
  return { t, heard, unsubscribe };
}

describe('subscribe', () => {
  it('is called for every accepted change, with the new status, and whether the pod is new', () => {
    const { t, heard } = listening();
    t.manager.setPodStatus(getTestPod(), { message: 'a' });
    t.manager.setPodStatus(getTestPod(), { message: 'a' });
    t.manager.setPodStatus(getTestPod(), { message: 'b' });
    expect(heard).toEqual([
      ['', 'updated', '12345678', true, 'a', true],
      ['', 'updated', '12345678', true, 'b', false],
    ]);
  });

  it('a pod that is being deleted is not new', () => {
    const { t, heard } = listening();
    t.manager.setPodStatus(getTestPod({ metadata: { deletionTimestamp: startTime } }), { message: 'a' });
    expect(heard).toEqual([['', 'updated', '12345678', true, 'a', false]]);
  });

  it('every accepted update of a finished pod is a removal', () => {
    const { t, heard } = listening();
    t.manager.terminatePod(getTestPod());
    t.manager.setPodStatus(getTestPod(), { message: 'a', phase: 'Failed' });
    expect(heard).toEqual([
      ['', 'removed', '12345678'],
      ['', 'removed', '12345678'],
    ]);
  });

  it('nothing else notifies', async () => {
    const { t, heard } = listening();
    t.manager.setPodStatus(getTestPod(), {});
    heard.length = 0;
    t.client.put(getTestPod());
    await t.manager.syncBatch(true);
    t.manager.setPodResizePendingCondition('12345678', 'Deferred', '', 1);
    t.manager.removeOrphanedStatuses([]);
    expect(heard).toEqual([]);
  });

  it('calls listeners in order of subscription, also after one that throws, until they unsubscribe', () => {
    const { t, heard, unsubscribe } = listening('first');
    t.manager.subscribe({
      onPodUpdated: () => {
        heard.push('second');
        throw new Error('listener');
      },
    });
    t.manager.subscribe({ onPodUpdated: () => heard.push('third') });
    expect(t.manager.setPodStatus(getTestPod(), { message: 'a' }).changed).toBe(true);
    expect(heard).toEqual([['first', 'updated', '12345678', true, 'a', true], 'second', 'third']);
    expect(t.logged.filter(({ level }) => level === 'error')).toHaveLength(1);
    heard.length = 0;
    unsubscribe();
    unsubscribe();
    t.manager.setPodStatus(getTestPod(), { message: 'b' });
    expect(heard).toEqual(['second', 'third']);
  });

  it('a listener that subscribes twice is called twice, and each subscription ends separately', () => {
    const t = new TestManager();
    let calls = 0;
    const listener = { onPodUpdated: () => void calls++ };
    const first = t.manager.subscribe(listener);
    t.manager.subscribe(listener);
    t.manager.setPodStatus(getTestPod(), { message: 'a' });
    first();
    t.manager.setPodStatus(getTestPod(), { message: 'b' });
    expect(calls).toBe(3);
  });

  it('all listeners get all changes in the same order, also a change that a listener makes', () => {
    const t = new TestManager();
    const heard: unknown[] = [];
    t.manager.subscribe({
      onPodUpdated: (pod, { message }) => {
        if (message === 'a') t.manager.setPodStatus(pod, { message: 'b' });
      },
    });
    t.manager.subscribe({ onPodUpdated: (_pod, { message }, isAdded) => void heard.push([message, isAdded]) });
    t.manager.setPodStatus(getTestPod(), { message: 'a' });
    expect(heard).toEqual([
      ['a', true],
      ['b', false],
    ]);
  });

  it('a listener may call the manager, which already has the change', () => {
    const t = new TestManager();
    const seen: unknown[] = [];
    t.manager.subscribe({
      onPodUpdated: (pod, status) => {
        seen.push(t.status() === status);
        if (status.message === 'a') t.manager.setPodStatus(pod, { message: 'b' });
      },
    });
    t.manager.setPodStatus(getTestPod(), { message: 'a' });
    expect(seen).toEqual([true, true]);
    expect(t.status().message).toBe('b');
  });

  it.each(['setPodStatus', 'terminatePod'] as const)(
    '%s: listeners get a frozen copy, whose metadata is not the caller’s object',
    (method) => {
      const t = new TestManager();
      const heard: Pod[] = [];
      t.manager.subscribe({
        onPodUpdated: (pod) => {
          heard.push(pod);
          (pod.metadata!.labels as Record<string, string>).changed = 'by a listener';
        },
        onPodRemoved: (pod) => {
          heard.push(pod);
          (pod.spec!.containers![0] as { name: string }).name = 'changed by a listener';
        },
      });
      const pod = getTestPod({
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'app' }] },
        status: { phase: 'Running' },
      });
      const before = structuredClone(pod);
      t.manager[method](pod, { message: 'a' });
      expect(pod).toEqual(before);
      expect(heard).toHaveLength(1);
      expect(heard[0]).toEqual({ ...before, status: t.status() });
      expect(heard[0]!.status).toBe(t.status());
      expect(Object.isFrozen(heard[0]!.spec?.containers?.[0])).toBe(true);
      // A listener that writes to it throws, and is logged.
      expect(t.logged.filter(({ level }) => level === 'error')).toHaveLength(1);
      (pod.metadata!.labels as Record<string, string>).app = 'other';
      expect(heard[0]!.metadata?.labels).toEqual({ app: 'web' });
    },
  );
});
