import { describe, expect, it } from 'vitest';
import {
  getPodCondition,
  podConditionObservedGeneration,
  replaceOrAppendPodCondition,
} from '../../../src/status-manager/status/conditions.ts';

describe('getPodCondition', () => {
  it('finds the first of the type, and nothing in no list', () => {
    const first = { type: 'Ready', status: 'True' };
    expect(getPodCondition([{ type: 'A' }, first, { type: 'Ready', status: 'False' }], 'Ready')).toBe(first);
    expect(getPodCondition([first], 'A')).toBeUndefined();
    expect(getPodCondition(null, 'Ready')).toBeUndefined();
    expect(getPodCondition(undefined, 'Ready')).toBeUndefined();
  });
});

describe('replaceOrAppendPodCondition', () => {
  const a = { type: 'A', status: 'True' };
  const b = { type: 'B', status: 'True' };

  it.each([
    { condition: { type: 'A', status: 'False' }, expected: [{ type: 'A', status: 'False' }, b] },
    { condition: { type: 'C', status: 'True' }, expected: [a, b, { type: 'C', status: 'True' }] },
  ])('puts $condition.type in the place of its type, or at the end', ({ condition, expected }) => {
    const conditions = [a, b];
    replaceOrAppendPodCondition(conditions, condition);
    expect(conditions).toEqual(expected);
  });
});

describe('podConditionObservedGeneration', () => {
  it('is the pod’s generation once an earlier status is known', () => {
    const pod = { metadata: { generation: 4 } };
    expect(podConditionObservedGeneration(pod, {})).toBe(4);
    expect(podConditionObservedGeneration(pod, undefined)).toBe(0);
    expect(podConditionObservedGeneration(pod, null)).toBe(0);
    expect(podConditionObservedGeneration({}, {})).toBe(0);
  });
});
