import { describe, expect, it } from 'vitest';
import {
  disruptionTarget,
  isWrittenByKubelet,
  podConditionByKubelet,
  podConditionSharedByKubelet,
  timedConditionTypes,
} from '../../../src/status-manager/status/ownership.ts';

describe('ownership of conditions', () => {
  it.each([
    'PodScheduled',
    'Ready',
    'Initialized',
    'ContainersReady',
    'PodResizeInProgress',
    'PodResizePending',
    'PodReadyToStartContainers',
    'AllContainersRestarting',
  ])('%s is owned and not shared', (type) => {
    expect(podConditionByKubelet(type)).toBe(true);
    expect(podConditionSharedByKubelet(type)).toBe(false);
    expect(isWrittenByKubelet(type)).toBe(true);
  });

  it('DisruptionTarget is shared and not owned', () => {
    expect(disruptionTarget).toBe('DisruptionTarget');
    expect(podConditionByKubelet(disruptionTarget)).toBe(false);
    expect(podConditionSharedByKubelet(disruptionTarget)).toBe(true);
    expect(isWrittenByKubelet(disruptionTarget)).toBe(true);
  });

  it.each(['example.com/gate', 'ready', '', 'constructor'])('%j is foreign', (type) => {
    expect(podConditionByKubelet(type)).toBe(false);
    expect(podConditionSharedByKubelet(type)).toBe(false);
    expect(isWrittenByKubelet(type)).toBe(false);
  });

  it('the status manager keeps the transition times of all types that the kubelet writes but the resize conditions', () => {
    expect(timedConditionTypes.toSorted()).toEqual([
      'AllContainersRestarting',
      'ContainersReady',
      'DisruptionTarget',
      'Initialized',
      'PodReadyToStartContainers',
      'PodScheduled',
      'Ready',
    ]);
  });
});
