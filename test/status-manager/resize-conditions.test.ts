import { describe, expect, it } from 'vitest';
import type { PodCondition } from '../../src/kube/objects/types.ts';
import { getTestPod, startTime, TestManager, testPodUID } from './fixture.ts';

const pending = { type: 'PodResizePending', status: 'True' };
const inProgress = { type: 'PodResizeInProgress', status: 'True' };

function withoutTimes(
  conditions: readonly PodCondition[],
): Omit<PodCondition, 'lastProbeTime' | 'lastTransitionTime'>[] {
  return conditions.map(({ lastProbeTime: _probe, lastTransitionTime: _transition, ...rest }) => rest);
}

describe('TestPodResizeConditions', () => {
  // One manager through all steps, as one pod is resized again and again.
  const { manager } = new TestManager();
  const setInProgress = (reason: string, message: string, generation: number) => () =>
    manager.setPodResizeInProgressCondition(testPodUID, reason, message, generation);
  const setPending = (reason: string, message: string, generation: number) => () =>
    manager.setPodResizePendingCondition(testPodUID, reason, message, generation);
  const deferred = { ...pending, reason: 'Deferred', observedGeneration: 3 };

  it.each<[string, () => unknown, unknown, object[]]>([
    ['initial empty conditions', () => undefined, undefined, []],
    [
      'set pod resize in progress condition with reason and message',
      setInProgress('some-reason', 'some-message', 1),
      { observedGeneration: 1, changed: true },
      [{ ...inProgress, observedGeneration: 1, reason: 'some-reason', message: 'some-message' }],
    ],
    [
      'set pod resize in progress condition without reason and message',
      setInProgress('', '', 1),
      { observedGeneration: 1, changed: false },
      [{ ...inProgress, observedGeneration: 1, reason: 'some-reason', message: 'some-message' }],
    ],
    [
      'attempt to overwrite pod resize in progress condition with a new observedGeneration',
      setInProgress('some-reason', 'some-message', 2),
      { observedGeneration: 1, changed: false },
      [{ ...inProgress, observedGeneration: 1, reason: 'some-reason', message: 'some-message' }],
    ],
    [
      'clear the pod resize in progress condition and set a new one',
      () => {
        manager.clearPodResizeInProgressCondition(testPodUID);
        return setInProgress('', '', 2)();
      },
      { observedGeneration: 2, changed: true },
      [{ ...inProgress, observedGeneration: 2 }],
    ],
    [
      'set pod resize pending condition to deferred with message',
      setPending('Deferred', 'some-message', 3),
      true,
      [
        { ...deferred, message: 'some-message' },
        { ...inProgress, observedGeneration: 2 },
      ],
    ],
    [
      'change the deferred message',
      setPending('Deferred', 'another-message', 3),
      false,
      [
        { ...deferred, message: 'another-message' },
        { ...inProgress, observedGeneration: 2 },
      ],
    ],
    [
      'set pod resize pending condition to infeasible with message',
      setPending('Infeasible', 'some-message', 3),
      true,
      [
        { ...deferred, reason: 'Infeasible', message: 'some-message' },
        { ...inProgress, observedGeneration: 2 },
      ],
    ],
    [
      'clear pod resize in progress condition',
      () => manager.clearPodResizeInProgressCondition(testPodUID),
      { observedGeneration: 2, changed: true },
      [{ ...deferred, reason: 'Infeasible', message: 'some-message' }],
    ],
    ['clear pod resize pending condition', () => manager.clearPodResizePendingCondition(testPodUID), undefined, []],
  ])('%s', (_, update, returned, expected) => {
    expect(update()).toEqual(returned);
    expect(withoutTimes(manager.getPodResizeConditions(testPodUID))).toEqual(expected);
  });
});

describe('TestClearPodResizeInProgressCondition', () => {
  it('no existing conditions', () => {
    const { manager } = new TestManager();
    expect(manager.clearPodResizeInProgressCondition(testPodUID)).toEqual({ observedGeneration: 0, changed: false });
  });

  it('existing pod resize in progress condition', () => {
    const { manager } = new TestManager();
    manager.setPodResizeInProgressCondition(testPodUID, 'some-reason', 'some-message', 1);
    expect(manager.clearPodResizeInProgressCondition(testPodUID)).toEqual({ observedGeneration: 1, changed: true });
    expect(manager.getPodResizeConditions(testPodUID)).toEqual([]);
    expect(manager.clearPodResizeInProgressCondition(testPodUID)).toEqual({ observedGeneration: 0, changed: false });
  });
});

describe('TestBackfillPodResizeConditions', () => {
  const now = { lastProbeTime: startTime, lastTransitionTime: startTime };
  const earlier = '2025-12-31T00:00:00Z';
  const found = (type: string, reason: string, message: string, observedGeneration: number) => ({
    type,
    status: 'True',
    reason,
    message,
    observedGeneration,
    lastProbeTime: earlier,
    lastTransitionTime: earlier,
  });
  const inProgressFound = found('PodResizeInProgress', '', '', 3);
  const errorFound = found('PodResizeInProgress', 'Error', 'some-error', 2);
  const pendingFound = found('PodResizePending', 'Deferred', 'later', 4);
  const inProgressKept = { ...inProgress, observedGeneration: 3, ...now };
  const pendingKept = { ...pendingFound, ...now };

  it.each<[string, PodCondition[], object[]]>([
    ['pod-in-progress', [inProgressFound], [inProgressKept]],
    ['pod-in-progress-with-error', [errorFound], [{ ...errorFound, ...now }]],
    ['pod-in-progress-and-pending', [inProgressFound, pendingFound], [pendingKept, inProgressKept]],
    ['pod-pending', [pendingFound], [pendingKept]],
  ])('%s', (uid, conditions, expected) => {
    const t = new TestManager();
    const others = getTestPod({
      metadata: { uid: 'other' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    t.manager.backfillPodResizeConditions([getTestPod({ metadata: { uid }, status: { conditions } }), others]);
    expect(t.manager.getPodResizeConditions(uid)).toEqual(expected);
    expect(t.manager.getPodResizeConditions('other')).toEqual([]);
  });

  it('overwrites what was set, with status True', () => {
    const { manager } = new TestManager();
    manager.setPodResizePendingCondition(testPodUID, 'Infeasible', 'never', 9);
    manager.setPodResizeInProgressCondition(testPodUID, 'kept', '', 9);
    const conditions = [{ ...pendingFound, status: 'False' }];
    manager.backfillPodResizeConditions(new Set([getTestPod({ status: { conditions } })]));
    expect(manager.getPodResizeConditions(testPodUID)).toEqual([
      pendingKept,
      { ...inProgress, observedGeneration: 9, reason: 'kept', ...now },
    ]);
  });
});

describe('resize conditions', () => {
  it('keep the transition time while the reason is the same, and update the probe time each time', () => {
    const t = new TestManager();
    t.manager.setPodResizePendingCondition(testPodUID, 'Deferred', 'a', 1);
    t.clock.advance(1_000);
    t.manager.setPodResizePendingCondition(testPodUID, 'Deferred', 'b', 1);
    const [condition] = t.manager.getPodResizeConditions(testPodUID);
    expect(condition).toMatchObject({ lastProbeTime: '2026-01-02T03:04:06Z', lastTransitionTime: startTime });
    t.manager.setPodResizePendingCondition(testPodUID, 'Infeasible', 'b', 1);
    expect(t.manager.getPodResizeConditions(testPodUID)[0]?.lastTransitionTime).toBe('2026-01-02T03:04:06Z');
  });

  it.each([
    ['', 'new', [undefined, 'new']],
    ['new', '', ['new', undefined]],
    ['', '', ['old', 'old']],
  ])('in progress: reason %j and message %j keep the old ones only together', (reason, message, expected) => {
    const { manager } = new TestManager();
    manager.setPodResizeInProgressCondition(testPodUID, 'old', 'old', 1);
    const { changed } = manager.setPodResizeInProgressCondition(testPodUID, reason, message, 1);
    const [condition] = manager.getPodResizeConditions(testPodUID);
    expect([condition?.reason, condition?.message]).toEqual(expected);
    expect(changed).toBe(expected[0] !== 'old');
  });

  it('a pending condition with another observedGeneration is a change', () => {
    const { manager } = new TestManager();
    expect(manager.setPodResizePendingCondition(testPodUID, 'Deferred', '', 1)).toBe(true);
    expect(manager.setPodResizePendingCondition(testPodUID, 'Deferred', '', 1)).toBe(false);
    expect(manager.setPodResizePendingCondition(testPodUID, 'Deferred', '', 2)).toBe(true);
  });

  it.each([
    ['Infeasible', false, true],
    ['Deferred', true, false],
    ['infeasible', true, false],
    ['', true, false],
  ])('a pending reason %j is deferred: %s, infeasible: %s', (reason, isDeferred, isInfeasible) => {
    const { manager } = new TestManager();
    expect(manager.isPodResizeDeferred(testPodUID) || manager.isPodResizeInfeasible(testPodUID)).toBe(false);
    manager.setPodResizePendingCondition(testPodUID, reason, '', 1);
    expect(manager.isPodResizeDeferred(testPodUID)).toBe(isDeferred);
    expect(manager.isPodResizeInfeasible(testPodUID)).toBe(isInfeasible);
  });

  it('are a side table: they do not change a status or wake the loop', () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), {});
    const before = t.manager.inspect();
    t.manager.setPodResizePendingCondition(testPodUID, 'Deferred', '', 1);
    t.manager.clearPodResizePendingCondition(testPodUID);
    expect(t.manager.inspect()).toEqual(before);
    expect(t.status().conditions).toBeUndefined();
  });

  it('are returned as copies', () => {
    const { manager } = new TestManager();
    manager.setPodResizePendingCondition(testPodUID, 'Deferred', '', 1);
    Object.assign(manager.getPodResizeConditions(testPodUID)[0]!, { reason: 'Infeasible' });
    manager.getPodResizeConditions(testPodUID).pop();
    expect(manager.isPodResizeDeferred(testPodUID)).toBe(true);
  });
});
