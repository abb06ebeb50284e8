import { describe, expect, it } from 'vitest';
import {
  refreshLastTransitionTime,
  refreshLastTransitionTimes,
} from '../../../src/status-manager/status/transition-times.ts';
import type { PodCondition } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

const now = '2026-01-02T03:04:05Z';
const old = '2025-01-01T00:00:00Z';

function condition(status: string, lastTransitionTime: string | null = null, type = 'Ready'): PodCondition {
  return deepFreeze({ type, status, lastProbeTime: null, lastTransitionTime });
}

describe('TestUpdateLastTransitionTime', () => {
  it('should do nothing if no corresponding condition', () => {
    expect(refreshLastTransitionTimes({ conditions: [condition('True', old)] }, [], now)).toEqual([]);
    expect(refreshLastTransitionTimes({ conditions: [condition('True', old)] }, undefined, now)).toBeUndefined();
  });

  it.each([
    ['should update last transition time if no old condition', undefined, condition('True'), now],
    ['should update last transition time if condition is changed', condition('False', old), condition('True'), now],
    ['should keep last transition time if condition is not changed', condition('False', old), condition('False'), old],
  ])('%s', (_, oldCondition, newCondition, expected) => {
    const oldStatus = oldCondition === undefined ? {} : { conditions: [oldCondition] };
    expect(refreshLastTransitionTime(oldStatus, newCondition, now)).toEqual({
      ...newCondition,
      lastTransitionTime: expected,
    });
    expect(refreshLastTransitionTimes(oldStatus, [newCondition], now)?.[0]?.lastTransitionTime).toBe(expected);
  });
});

describe('refreshLastTransitionTime', () => {
  it('keeps that the old condition had no time', () => {
    const refreshed = refreshLastTransitionTime({ conditions: [condition('True', null)] }, condition('True', now), now);
    expect(refreshed.lastTransitionTime).toBeNull();
  });

  it('does not believe the time that a new condition brings', () => {
    expect(refreshLastTransitionTime({}, condition('True', old), now).lastTransitionTime).toBe(now);
  });

  it('goes by the first old condition of the type', () => {
    const conditions = [condition('False', null, 'Other'), condition('True', old), condition('False', now)];
    expect(refreshLastTransitionTime({ conditions }, condition('True'), now).lastTransitionTime).toBe(old);
  });
});

describe('refreshLastTransitionTimes', () => {
  it('refreshes the first of several of one type, as a server may have them', () => {
    const refreshed = refreshLastTransitionTimes({}, [condition('True', old), condition('False', old)], now);
    expect(refreshed?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([now, old]);
  });

  it.each([
    'ContainersReady',
    'Ready',
    'Initialized',
    'PodReadyToStartContainers',
    'PodScheduled',
    'DisruptionTarget',
    'AllContainersRestarting',
  ])('sets the time of %s', (type) => {
    expect(refreshLastTransitionTimes({}, [condition('True', null, type)], now)?.[0]?.lastTransitionTime).toBe(now);
  });

  it.each(['PodResizePending', 'PodResizeInProgress', 'example.com/gate'])('leaves the time of %s', (type) => {
    const given = condition('True', old, type);
    expect(refreshLastTransitionTimes({}, [given], now)).toEqual([given]);
  });
});
