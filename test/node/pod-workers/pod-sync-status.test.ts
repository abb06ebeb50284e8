import { describe, expect, it } from 'vitest';
import {
  calculateEffectiveGracePeriod,
  mergeLastUpdate,
  PodSyncStatus,
} from '../../../src/node/pod-workers/pod-sync-status.ts';
import type { PodUpdate } from '../../../src/node/pod-workers/update-pod-options.ts';
import type { RuntimePod } from '../../../src/node/runtime/container-runtime.ts';
import type { Pod, ValidPod } from '../../../src/kube/objects/types.ts';
import { podScope } from '../../support/pod-scope.ts';

describe('calculateEffectiveGracePeriod', () => {
  const podWith = (deletion: number | undefined, spec: number | undefined): Pod => ({
    metadata: { deletionGracePeriodSeconds: deletion },
    spec: { terminationGracePeriodSeconds: spec },
  });

  it.each<[string, number, Pod, number | undefined, number]>([
    ['nothing is known', 0, {}, undefined, 1],
    ['that of the spec', 0, podWith(undefined, 30), undefined, 30],
    ['that of the deletion goes before the spec', 0, podWith(40, 30), undefined, 40],
    ['the override goes before the spec', 0, podWith(undefined, 30), 50, 50],
    ['the shorter one: the override', 0, podWith(20, 30), 10, 10],
    ['the shorter one: the deletion', 0, podWith(10, 30), 20, 10],
    ['that in effect is shorter', 5, podWith(10, 3), 20, 5],
    ['that in effect is longer', 15, podWith(10, 3), undefined, 10],
    ['that in effect, and nothing else', 15, podWith(undefined, 3), undefined, 15],
    ['as long as that in effect', 10, podWith(10, 3), 10, 10],
    ['a deletion with 0', 15, podWith(0, 30), undefined, 1],
    ['an override of 0', 0, podWith(undefined, 30), 0, 1],
    ['a negative one', 0, podWith(-5, 30), undefined, 1],
  ])('%s', (_case, current, pod, override, expected) => {
    expect(calculateEffectiveGracePeriod(current, pod, override)).toBe(expected);
  });
});

describe('mergeLastUpdate', () => {
  const [first, second, mirror]: ValidPod[] = [1, 2, 3].map((i) => ({
    metadata: { uid: `${i}`, name: 'web', namespace: 'ns' },
  })) as [ValidPod, ValidPod, ValidPod];
  const runningPod: RuntimePod = { uid: '1', name: 'p', namespace: 'n', containers: [], sandboxes: [] };
  const update = (fields: Partial<PodUpdate>): PodUpdate => ({
    ...{ updateType: 'sync', pod: undefined, mirrorPod: undefined, runningPod: undefined },
    ...fields,
  });

  it.each<[string, PodUpdate[], object]>([
    ['one update', [update({ pod: first })], { pod: first, mirrorPod: undefined, runningPod: undefined }],
    ['the newest pod', [update({ pod: first }), update({ pod: second })], { pod: second }],
    [
      'the last mirror pod stays',
      [update({ pod: first, mirrorPod: mirror }), update({ pod: first })],
      { mirrorPod: mirror },
    ],
    [
      'a pod that is known stays when only the runtime’s is given',
      [update({ pod: first }), update({ runningPod })],
      { pod: first, runningPod },
    ],
    [
      'the runtime’s goes with the next update',
      [update({ runningPod }), update({ pod: first })],
      { pod: first, runningPod: undefined },
    ],
    ['of a pod that only the runtime knows', [update({ runningPod })], { pod: undefined, runningPod }],
  ])('%s', (_case, updates, expected) => {
    const status = new PodSyncStatus(
      { uid: '1', fullName: 'p_n', scope: podScope(), endedPhase: undefined },
      { state: 'syncing' },
    );
    for (const each of updates) mergeLastUpdate(status, each);
    expect(status.activeUpdate).toMatchObject(expected);
  });
});
