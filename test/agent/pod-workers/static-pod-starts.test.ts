import { describe, expect, it } from 'vitest';
import { StaticPodStarts } from '../../../src/agent/pod-workers/static-pod-starts.ts';

interface Case {
  readonly started?: string;
  readonly waiting?: readonly string[];
  /** Those that have not ended. */
  readonly alive?: readonly string[];
  readonly allowed: boolean;
  readonly nowStarted?: string;
  readonly nowWaiting?: readonly string[];
}

describe('Test_allowPodStart', () => {
  it.each<[string, Case]>([
    [
      'static pod when there are no started static pods with the same full name',
      { allowed: true, nowStarted: 'uid-0' },
    ],
    [
      'static pod when there is a started static pod with the same full name',
      { started: 'uid-1', allowed: false, nowStarted: 'uid-1' },
    ],
    ['static pod if the static pod has already started', { started: 'uid-0', allowed: true, nowStarted: 'uid-0' }],
    [
      'static pod if the static pod is the first pod waiting to start',
      { waiting: ['uid-0'], allowed: true, nowStarted: 'uid-0' },
    ],
    [
      'static pod if the static pod is not the first pod waiting to start',
      { waiting: ['uid-1', 'uid-0'], allowed: false, nowWaiting: ['uid-1', 'uid-0'] },
    ],
    [
      'static pod if the static pod is the first valid pod waiting to start / clean up until picking the first valid pod',
      {
        waiting: ['uid-2', 'uid-2', 'uid-3', 'uid-0', 'uid-1'],
        ...{ alive: ['uid-0', 'uid-1'], allowed: true, nowStarted: 'uid-0', nowWaiting: ['uid-1'] },
      },
    ],
    [
      'those that have ended are forgotten, also when it is not the turn of the pod that asks',
      {
        waiting: ['uid-2', 'uid-1', 'uid-0'],
        alive: ['uid-0', 'uid-1'],
        allowed: false,
        nowWaiting: ['uid-1', 'uid-0'],
      },
    ],
  ])('%s', (_, { started, waiting = [], alive = ['uid-0', 'uid-1'], allowed, nowStarted, nowWaiting }) => {
    const starts = new StaticPodStarts();
    starts.allow('bar', 'other', () => true);
    if (started !== undefined) starts.allow('foo', started, () => true);
    for (const uid of waiting) starts.wait('foo', uid);
    expect(starts.allow('foo', 'uid-0', (uid) => alive.includes(uid))).toBe(allowed);
    expect(starts.started.get('foo')).toBe(nowStarted);
    expect(starts.waiting.get('foo')).toEqual(nowWaiting);
    expect(starts.started.get('bar')).toBe('other');
  });
});
