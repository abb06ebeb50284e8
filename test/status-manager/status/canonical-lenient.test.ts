import { describe, expect, it } from 'vitest';
import { deepFreeze as freezeOurs } from '../../../src/shared/freeze.ts';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import type { PodStatus } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

function lenient(input: unknown): PodStatus {
  return canonicalPodStatus(deepFreeze(input), { strict: false });
}

describe('canonicalPodStatus, leniently', () => {
  it.each([[null], [undefined], ['text'], [7], [true], [[]], [new Date(0)], [() => {}]])(
    '%s is an empty status',
    (input) => {
      expect(lenient(input)).toEqual({});
    },
  );

  it('keeps odd scalars as they came', () => {
    const odd = {
      phase: 7,
      startTime: 'yesterday',
      observedGeneration: 1.5,
      allocatedResources: { cpu: 'many' },
      conditions: [{ type: true, status: 1, lastProbeTime: 'x', lastTransitionTime: 5, observedGeneration: 'x' }],
      containerStatuses: [
        {
          name: 7,
          state: { running: { startedAt: 'x' } },
          lastState: { terminated: { exitCode: 'x', startedAt: null, finishedAt: null } },
          ready: 'yes',
          restartCount: 2 ** 40,
          image: 7,
          imageID: '',
        },
      ],
    };
    expect(lenient(odd)).toEqual(odd);
  });

  it('treats a field as absent that should be an object or a list and is not', () => {
    expect(
      lenient({ conditions: 'x', podIPs: {}, resources: [], allocatedResources: 7, containerStatuses: [null, 7, 'x'] }),
    ).toEqual({});
    expect(
      lenient({ containerStatuses: [{ name: 'c', state: 'x', user: 1, resources: 'x', volumeMounts: 7 }] }),
    ).toEqual({
      containerStatuses: [
        { name: 'c', state: {}, lastState: {}, ready: false, restartCount: 0, image: '', imageID: '' },
      ],
    });
  });

  it('keeps conditions without type, duplicates, and two states of one container', () => {
    const condition = { type: '', status: '', lastProbeTime: null, lastTransitionTime: null };
    expect(lenient({ conditions: [{}, {}] }).conditions).toEqual([condition, condition]);
    expect(lenient({ podIPs: [{ ip: 'a' }, { ip: 'a' }] }).podIPs).toHaveLength(2);
    expect(
      lenient({ containerStatuses: [{ state: { waiting: {}, running: {} } }] }).containerStatuses?.[0]?.state,
    ).toEqual({
      waiting: {},
      running: { startedAt: null },
    });
  });

  it('an invalid Date is no time', () => {
    const invalid = new Date(Number.NaN);
    expect(lenient({ startTime: invalid, conditions: [{ type: 'a', lastProbeTime: invalid }] })).toEqual({
      conditions: [{ type: 'a', status: '', lastProbeTime: null, lastTransitionTime: null }],
    });
  });

  it('shares no object with the input, not even one in the place of a scalar (it was frozen once)', () => {
    const odd = { a: { b: 1 } };
    const input = {
      phase: odd,
      startTime: odd,
      observedGeneration: odd,
      containerStatuses: [{ ready: odd }],
      allocatedResources: { cpu: odd },
    };
    const status = canonicalPodStatus(input, { strict: false });
    expect(status.phase).toEqual(odd);
    freezeOurs(status);
    expect(Object.isFrozen(odd) || Object.isFrozen(odd.a)).toBe(false);
  });

  it('drops what is no JSON, and what is nested too deep', () => {
    let deep: object = {};
    for (let i = 0; i < 10_000; i++) deep = { deep };
    expect(
      canonicalPodStatus({ 'x-new': deep, 'x-fn': () => {}, 'x-big': 7n, phase: 'Running' }, { strict: false }).phase,
    ).toBe('Running');
    expect(lenient({ 'x-fn': () => {}, 'x-big': 7n })).toEqual({});
  });
});

describe('canonicalPodStatus, lenient and unique', () => {
  it('frees a server’s lists of duplicates, and keeps odd values', () => {
    const input = {
      phase: 7,
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Ready', status: 'False' },
      ],
    };
    const status = canonicalPodStatus(input, { strict: false, unique: true });
    expect(status.phase).toBe(7);
    expect(status.conditions?.map(({ status }) => status)).toEqual(['False']);
    expect(canonicalPodStatus(input, { strict: false }).conditions).toHaveLength(2);
  });
});

it('leaves out the elements of a list that are no objects', () => {
  const hostIPs = [7, { ip: '10.0.0.1' }, null, 'text', { ip: '10.0.0.2' }];
  const read = canonicalPodStatus({ hostIPs, podIPs: [null] }, { strict: false });
  expect(read).toStrictEqual({ hostIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] });
});
