import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BasicPodManager } from '../../src/kube/pod-manager/basic-pod-manager.ts';
import type { PendingResizeCount } from '../../src/status-manager/metrics.ts';
import type { Pod, PodConditionInput } from '../../src/kube/objects/types.ts';
import { getTestPod, TestManager, testPodUID } from './fixture.ts';

interface Resize {
  readonly priority?: number;
  readonly pending?: 'Deferred' | 'Infeasible';
  readonly inProgress?: string;
}

/** One known pod for each, with its conditions set. */
function resizing(resizes: readonly Resize[]): TestManager {
  const t = new TestManager();
  for (const [i, { priority, pending, inProgress }] of resizes.entries()) {
    const uid = `pod-${i}`;
    t.podManager.addPod(getTestPod({ metadata: { uid, name: uid }, spec: { priority } }));
    if (pending !== undefined) t.manager.setPodResizePendingCondition(uid, pending, `message ${i}`, 1);
    if (inProgress !== undefined) t.manager.setPodResizeInProgressCondition(uid, inProgress, '', 1);
  }
  t.manager.backfillPodResizeConditions([]);
  return t;
}

function count(
  reason: string,
  priorityBucket: PendingResizeCount['priorityBucket'],
  count: number,
): PendingResizeCount {
  return { reason, priorityBucket, count };
}

describe('TestRecordInProgressResizeCount', () => {
  it.each<[string, Resize[], number]>([
    ['no pods', [], 0],
    ['one pod, no resize status', [{}], 0],
    ['no pods in progress, one pending', [{ pending: 'Deferred' }], 0],
    ['one pod in progress', [{ inProgress: '' }], 1],
    ['two pods in progress (one with error)', [{ inProgress: '' }, { inProgress: 'Error' }], 2],
  ])('%s', (_, resizes, expected) => {
    expect(resizing(resizes).metrics.inProgressResizes).toBe(expected);
  });

  it('is counted again when a condition is set for the first time, cleared or removed', () => {
    const t = new TestManager();
    t.manager.setPodResizeInProgressCondition('a', '', '', 1);
    t.manager.setPodResizeInProgressCondition('b', '', '', 1);
    expect(t.metrics.inProgressResizes).toBe(2);
    t.manager.clearPodResizeInProgressCondition('a');
    expect(t.metrics.inProgressResizes).toBe(1);
    t.manager.setPodStatus(getTestPod({ metadata: { uid: 'b' } }), {});
    t.manager.removeOrphanedStatuses([]);
    expect(t.metrics.inProgressResizes).toBe(0);
  });
});

describe('TestRecordPendingResizesCount', () => {
  it.each<[string, Resize[], PendingResizeCount[]]>([
    ['one pod, no resize status', [{}], []],
    ['one pod in progress', [{ inProgress: '' }], []],
    ['one pod deferred', [{ pending: 'Deferred' }], [count('deferred', 'normal', 1)]],
    [
      '2 pods infeasible, each with a different reason',
      [{ pending: 'Infeasible' }, { pending: 'Infeasible' }],
      [count('infeasible', 'normal', 2)],
    ],
    [
      'one deferred, one infeasible',
      [{ pending: 'Deferred' }, { pending: 'Infeasible' }],
      [count('deferred', 'normal', 1), count('infeasible', 'normal', 1)],
    ],
    [
      'multiple pods with different priority classes',
      [
        { pending: 'Deferred', priority: 2_000_000_000 },
        { pending: 'Deferred', priority: 1_999_999_999 },
        { pending: 'Deferred', priority: 100_000 },
        { pending: 'Infeasible', priority: 99_999 },
        { pending: 'Infeasible', priority: 1 },
        { pending: 'Deferred', priority: 0 },
        { pending: 'Deferred', priority: -1 },
        { pending: 'Deferred', priority: -999 },
        { pending: 'Deferred', priority: -1_000 },
      ],
      [
        count('deferred', 'system-critical', 1),
        count('deferred', 'high', 2),
        count('infeasible', 'medium', 2),
        count('deferred', 'normal', 1),
        count('deferred', 'low', 2),
        count('deferred', 'very-low', 1),
      ],
    ],
    ['no pods', [], []],
  ])('%s', (_, resizes, expected) => {
    expect(resizing(resizes).metrics.pendingResizes).toEqual(expected);
  });

  it('skips pods that the pod manager does not know', () => {
    const t = new TestManager();
    t.manager.setPodResizePendingCondition('stranger', 'Deferred', '', 1);
    expect(t.metrics.pendingResizes).toEqual([]);
  });

  it('is counted again when the reason changes', () => {
    const t = resizing([{ pending: 'Deferred' }]);
    t.manager.setPodResizePendingCondition('pod-0', 'Infeasible', '', 1);
    expect(t.metrics.pendingResizes).toEqual([count('infeasible', 'normal', 1)]);
    t.manager.clearPodResizePendingCondition('pod-0');
    expect(t.metrics.pendingResizes).toEqual([]);
  });
});

describe('the resize gauges', () => {
  const uids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const priorities = [undefined, 0, 5, -5, -5_000, 100_000, 2_000_000_000];
  const buckets = ['normal', 'normal', 'medium', 'low', 'very-low', 'high', 'system-critical'] as const;
  const step = fc.record({
    uid: fc.constantFrom(...uids),
    action: fc.constantFrom('defer', 'infeasible', 'progress', 'clear', 'done', 'add', 'remove', 'terminal', 'seed'),
  });

  it('equal a count of all pods after each change', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.array(fc.nat(6), { minLength: 6, maxLength: 6 }),
        (steps, at) => {
          const t = new TestManager();
          const podOf = (uid: string): Pod =>
            getTestPod({
              metadata: { uid, name: uid },
              spec: { priority: priorities[at[uids.indexOf(uid)]!] },
              status: {
                phase: 'Running',
                conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Deferred', message: 'seeded' }],
              },
            });
          const known = new Set<string>();
          const change = (uid: string, action: string): unknown => {
            switch (action) {
              case 'defer':
                return t.manager.setPodResizePendingCondition(uid, 'Deferred', '', 1);
              case 'infeasible':
                return t.manager.setPodResizePendingCondition(uid, 'Infeasible', '', 1);
              case 'progress':
                return t.manager.setPodResizeInProgressCondition(uid, '', '', 1);
              case 'clear':
                return t.manager.clearPodResizePendingCondition(uid);
              case 'done':
                return t.manager.clearPodResizeInProgressCondition(uid);
              case 'terminal':
                return t.manager.determinePodResizeStatus(uid, true);
              case 'seed':
                return t.manager.seed([podOf(uid)]);
              case 'add':
                known.add(uid);
                return t.podManager.addPod(podOf(uid));
              default:
                known.delete(uid);
                t.podManager.removePod(podOf(uid));
                return t.manager.removeOrphanedStatuses(known);
            }
          };
          for (const { uid, action } of steps) {
            change(uid, action);
            // Any change of another pod brings them up to date.
            t.manager.setPodResizePendingCondition('other', 'Infeasible', '', 1);
            t.manager.clearPodResizePendingCondition('other');
            const counts = new Map<string, number>();
            let inProgress = 0;
            for (const one of uids) {
              const conditions = t.manager.getPodResizeConditions(one);
              if (conditions.some(({ type }) => type === 'PodResizeInProgress')) inProgress++;
              const pending = conditions.find(({ type }) => type === 'PodResizePending');
              if (pending === undefined || !known.has(one)) continue;
              const key = `${pending.reason?.toLowerCase()}/${buckets[at[uids.indexOf(one)]!]}`;
              counts.set(key, (counts.get(key) ?? 0) + 1);
            }
            const shown = t.metrics.pendingResizes!.map(({ reason, priorityBucket, count }) => [
              `${reason}/${priorityBucket}`,
              count,
            ]);
            expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(counts));
            expect(shown).toHaveLength(counts.size);
            expect(t.metrics.inProgressResizes ?? 0).toBe(inProgress);
          }
        },
      ),
    );
  });

  it('count a pending resize that has no reason', () => {
    const t = new TestManager();
    const conditions = [{ type: 'PodResizePending', status: 'True' }];
    t.podManager.addPod(getTestPod());
    t.manager.backfillPodResizeConditions([getTestPod({ status: { conditions } })]);
    expect(t.metrics.pendingResizes).toEqual([count('', 'normal', 1)]);
    t.manager.clearPodResizePendingCondition(testPodUID);
    expect(t.metrics.pendingResizes).toEqual([]);
  });

  it('do not look at all pods at each change: 5,000 changes once took 6.6 s', () => {
    for (const isKnown of [true, false]) {
      let lookUps = 0;
      const podManager = new BasicPodManager();
      const getPodByUID = podManager.getPodByUID.bind(podManager);
      podManager.getPodByUID = (uid) => {
        lookUps++;
        return getPodByUID(uid);
      };
      const t = new TestManager([], { podManager });
      for (let i = 0; i < 1_000; i++) {
        if (isKnown) podManager.addPod(getTestPod({ metadata: { uid: `${i}`, name: `${i}` } }));
        t.manager.setPodResizePendingCondition(`${i}`, 'Deferred', '', 1);
      }
      expect(lookUps).toBeLessThan(20_000);
    }
  });

  it('a pod manager that throws does not leave a change half done', () => {
    const podManager = new BasicPodManager();
    const t = new TestManager([], { podManager });
    t.manager.setPodStatus(getTestPod(), {});
    podManager.getPodByUID = () => {
      throw new Error('out of order');
    };
    expect(t.manager.setPodResizePendingCondition(testPodUID, 'Deferred', '', 1)).toBe(true);
    t.manager.removeOrphanedStatuses([]);
    expect(t.manager.inspect().pods).toEqual([]);
    expect(t.metrics.deferredResizes).toMatchObject([{ priorityBucket: 'unknown' }]);
    expect(t.logged.map(({ fields }) => fields)).toContainEqual(
      expect.objectContaining({ method: 'podManager.getPodByUID', podUID: testPodUID }),
    );
  });
});

describe('determinePodResizeStatus', () => {
  it('once left the conditions of a terminal pod in the side table, and so in its next status', () => {
    const t = resizing([{ pending: 'Deferred', inProgress: 'Error' }]);
    expect(t.manager.determinePodResizeStatus('pod-0', false)).toEqual(t.manager.getPodResizeConditions('pod-0'));
    expect(t.manager.getPodResizeConditions('pod-0')).toHaveLength(2);
    t.clock.advance(2_000);
    expect(t.manager.determinePodResizeStatus('pod-0', true)).toEqual([]);
    expect(t.manager.getPodResizeConditions('pod-0')).toEqual([]);
    expect(t.metrics.deferredResizes).toEqual([{ resolution: 'terminated', priorityBucket: 'normal', seconds: 2 }]);
    expect(t.metrics.pendingResizes).toEqual([]);
    expect(t.metrics.inProgressResizes).toBe(0);
  });
});

describe('TestPodDeferredResizeDurationSeconds', () => {
  const remove = {
    deletePodStatus: async (t: TestManager) => {
      // The name belongs to another pod now, so the sync forgets the status.
      t.client.put(getTestPod({ metadata: { uid: 'other' } }));
      await t.manager.syncBatch(true);
    },
    removeOrphanedStatuses: (t: TestManager) => t.manager.removeOrphanedStatuses([]),
  };
  const missing = (how: (t: TestManager) => unknown) => (t: TestManager) => {
    t.podManager.removePod(getTestPod());
    return how(t);
  };
  const high = { priorityBucket: 'high', seconds: 7.5 };

  it.each<[string, string | undefined, (t: TestManager) => unknown, object[]]>([
    [
      'no condition present - no metric emitted',
      undefined,
      (t) => t.manager.clearPodResizePendingCondition(testPodUID),
      [],
    ],
    [
      'infeasible condition - no metric emitted',
      'Infeasible',
      (t) => t.manager.clearPodResizePendingCondition(testPodUID),
      [],
    ],
    [
      'deferred condition cleared as accepted',
      'Deferred',
      (t) => t.manager.clearPodResizePendingCondition(testPodUID),
      [{ ...high, resolution: 'accepted' }],
    ],
    [
      'deferred condition cleared as reverted',
      'Deferred',
      (t) => t.manager.clearPodResizePendingCondition(testPodUID, 'reverted'),
      [{ ...high, resolution: 'reverted' }],
    ],
    [
      'deferred condition removed via DeletePodStatus as terminated',
      'Deferred',
      remove.deletePodStatus,
      [{ ...high, resolution: 'terminated' }],
    ],
    [
      'deferred condition removed via RemoveOrphanedStatuses as terminated',
      'Deferred',
      remove.removeOrphanedStatuses,
      [{ ...high, resolution: 'terminated' }],
    ],
    [
      'deferred condition removed via DeletePodStatus as terminated with missing pod (unknown priority)',
      'Deferred',
      missing(remove.deletePodStatus),
      [{ seconds: 7.5, resolution: 'terminated', priorityBucket: 'unknown' }],
    ],
    [
      'deferred condition removed via RemoveOrphanedStatuses as terminated with missing pod (unknown priority)',
      'Deferred',
      missing(remove.removeOrphanedStatuses),
      [{ seconds: 7.5, resolution: 'terminated', priorityBucket: 'unknown' }],
    ],
  ])('%s', async (_, reason, end, expected) => {
    const t = new TestManager();
    const pod = getTestPod({ spec: { priority: 100_000 } });
    t.podManager.addPod(pod);
    t.manager.setPodStatus(pod, {});
    if (reason !== undefined) t.manager.setPodResizePendingCondition(testPodUID, reason, '', 1);
    t.clock.advance(7_500);
    await end(t);
    expect(t.metrics.deferredResizes).toEqual(expected);
    expect(t.manager.getPodResizeConditions(testPodUID)).toEqual([]);
  });

  it('counts from when the reason became Deferred', () => {
    const t = new TestManager();
    t.manager.setPodResizePendingCondition(testPodUID, 'Infeasible', '', 1);
    t.clock.advance(60_000);
    t.manager.setPodResizePendingCondition(testPodUID, 'Deferred', '', 1);
    t.clock.advance(1_000);
    t.manager.setPodResizePendingCondition(testPodUID, 'Deferred', 'again', 2);
    t.clock.advance(1_000);
    t.manager.clearPodResizePendingCondition(testPodUID);
    expect(t.metrics.deferredResizes.map(({ seconds }) => seconds)).toEqual([2]);
  });

  it('counts in milliseconds, although the condition’s time has whole seconds', () => {
    const t = new TestManager();
    t.clock.advance(900);
    t.manager.setPodResizePendingCondition(testPodUID, 'Deferred', '', 1);
    t.clock.advance(4_200);
    t.manager.clearPodResizePendingCondition(testPodUID);
    expect(t.metrics.deferredResizes.map(({ seconds }) => seconds)).toEqual([4.2]);
  });

  it('counts from the backfill after a restart', () => {
    const t = new TestManager();
    const conditions: PodConditionInput[] = [
      { type: 'PodResizePending', status: 'True', reason: 'Deferred', lastTransitionTime: '2020-01-01T00:00:00Z' },
    ];
    t.manager.backfillPodResizeConditions([getTestPod({ status: { conditions } })]);
    t.clock.advance(3_000);
    t.manager.clearPodResizePendingCondition(testPodUID);
    expect(t.metrics.deferredResizes.map(({ seconds }) => seconds)).toEqual([3]);
  });
});
