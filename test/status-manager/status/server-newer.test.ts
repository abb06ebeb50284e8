import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { isServerNewer, latestTime } from '../../../src/status-manager/status/server-newer.ts';
import type { ContainerStatusInput, PodStatus, PodStatusInput } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

const [before, accepted, after] = ['2026-01-02T03:04:04Z', '2026-01-02T03:04:05Z', '2026-01-02T03:04:06Z'];

const statusOf = (input: PodStatusInput): PodStatus => deepFreeze(canonicalPodStatus(input, { strict: true }));
const conditionAt = (lastTransitionTime: string, type = 'Ready'): PodStatusInput => ({
  conditions: [{ type, status: 'False', lastTransitionTime }],
});
const containers = (...containerStatuses: ContainerStatusInput[]): PodStatusInput => ({ containerStatuses });
const container = (fields: Partial<ContainerStatusInput> = {}): PodStatusInput => containers({ name: 'c', ...fields });
const startedAt = (time: string) => ({ state: { running: { startedAt: time } } });
const finishedAt = (time: string) => ({ state: { terminated: { exitCode: 0, finishedAt: time } } });

describe('isServerNewer', () => {
  it.each<[string, PodStatusInput, PodStatusInput, boolean]>([
    ['nothing on either side', {}, {}, false],
    ['a terminal phase that ours does not know', { phase: 'Failed' }, { phase: 'Running' }, true],
    ['a terminal phase on both', { phase: 'Failed' }, { phase: 'Succeeded' }, false],
    ['a terminal phase that only ours knows', { phase: 'Running' }, { phase: 'Failed' }, false],

    ['a later restart', container({ restartCount: 2 }), container({ restartCount: 1 }), true],
    ['as many restarts', container({ restartCount: 1 }), container({ restartCount: 1 }), false],
    ['fewer restarts', container({ restartCount: 0 }), container({ restartCount: 1 }), false],
    [
      'a later restart of one container of several',
      containers({ name: 'a' }, { name: 'b', restartCount: 1 }),
      containers({ name: 'a' }, { name: 'b' }),
      true,
    ],
    ['restarts of a container that ours does not have', containers({ name: 'x', restartCount: 1 }), container(), false],
    ['restarts where ours has no list', container({ restartCount: 1 }), {}, false],
    [
      'a later restart of an init container',
      { initContainerStatuses: [{ name: 'i', restartCount: 1 }] },
      { initContainerStatuses: [{ name: 'i' }] },
      true,
    ],

    ['a start after ours was accepted', container(startedAt(after)), container(), true],
    ['a start in the same second', container(startedAt(accepted)), container(startedAt(accepted)), false],
    ['an exit after ours was accepted', container(finishedAt(after)), container(), true],
    [
      'an earlier exit after ours was accepted',
      container({ lastState: { terminated: { exitCode: 1, finishedAt: after } } }),
      container(),
      true,
    ],
    ['an exit after a terminal phase', { phase: 'Failed', ...container(finishedAt(after)) }, { phase: 'Failed' }, true],

    ['a condition that changed later', conditionAt(after), {}, true],
    ['a condition that changed in the same second', conditionAt(accepted), {}, false],
    ['a condition that changed before', conditionAt(before), {}, false],
    ['a later condition of somebody else', conditionAt(after, 'example.com/gate'), {}, false],
    [
      'the latest of several conditions',
      {
        conditions: [before, after, before].map((lastTransitionTime, i) => ({
          type: ['Ready', 'Initialized', 'PodScheduled'][i]!,
          status: 'True',
          lastTransitionTime,
        })),
      },
      {},
      true,
    ],
    ['a later condition, when ours is terminal', conditionAt(after), { phase: 'Failed' }, false],
    [
      'a later condition, when ours has more restarts',
      { ...conditionAt(after), ...container(finishedAt(before)) },
      container({ restartCount: 1 }),
      false,
    ],
    [
      'a later condition, when ours has terminated',
      { ...conditionAt(after), ...container(startedAt(before)) },
      container(finishedAt(before)),
      false,
    ],
    [
      'a later condition, when only the server’s has terminated',
      { ...conditionAt(after), ...container({ state: { terminated: { exitCode: 0 } } }) },
      container(startedAt(before)),
      true,
    ],
    [
      'a later condition, when ours started later',
      { ...conditionAt(after), ...container(startedAt(before)) },
      container(startedAt(accepted)),
      false,
    ],
    [
      'a later condition, when the containers are the same',
      { ...conditionAt(after), ...container(startedAt(before)) },
      container(startedAt(before)),
      true,
    ],
  ])('%s', (_case, server, ours, expected) => {
    expect(isServerNewer(statusOf(server), statusOf(ours), accepted)).toBe(expected);
  });
});

describe('latestTime', () => {
  it.each<[string, PodStatusInput, string]>([
    ['there is none', { conditions: [{ type: 'Ready', status: 'True' }], ...container() }, ''],
    ['a condition', { ...conditionAt(after), ...container(startedAt(before)) }, after],
    ['a container', { ...conditionAt(before), ...container(finishedAt(after)) }, after],
  ])('%s', (_case, status, expected) => {
    expect(latestTime(statusOf(status))).toBe(expected);
  });
});
