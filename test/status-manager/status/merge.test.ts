import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { mergePodStatus } from '../../../src/status-manager/status/merge.ts';
import type { PodConditionInput, PodStatus, PodStatusInput } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

const now = '2026-01-02T03:04:05Z';
const earlier = '2025-01-01T00:00:00Z';
const pod = deepFreeze({ metadata: { generation: 7 } });

const ready = { type: 'Ready', status: 'True' };
const notReady = { type: 'Ready', status: 'False' };
const scheduled = { type: 'PodScheduled', status: 'True' };
const evicted = { type: 'DisruptionTarget', status: 'True', reason: 'EvictedByEvictionAPI' };
const terminatedByKubelet = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
const feature = (status: string) => ({ type: 'example.com/feature', status });
const failed = (type: string) => ({ type, status: 'False', reason: 'PodFailed' });
const base = { phase: 'Running', message: 'Message' };

function statusOf(input: PodStatusInput): PodStatus {
  return deepFreeze(canonicalPodStatus(input, { strict: true }));
}

function merge(from: PodStatusInput, to: PodStatusInput, couldHaveRunningContainers = false): PodStatus {
  return mergePodStatus(pod, statusOf(from), statusOf(to), couldHaveRunningContainers, now).status;
}

/** Type, status and reason of each condition. */
function shown(conditions: PodStatus['conditions']): PodConditionInput[] | undefined {
  return conditions?.map(({ type, status, reason }) => ({ type, status, ...(reason !== undefined && { reason }) }));
}

describe('TestMergePodStatus', () => {
  const both = [ready, scheduled];

  it.each<[string, boolean, PodStatusInput, PodStatusInput, PodStatusInput]>([
    ['no change', false, { conditions: both }, { conditions: both }, { conditions: both }],
    [
      'add DisruptionTarget condition when transitioning into failed phase',
      false,
      { conditions: both },
      { phase: 'Failed', conditions: [...both, terminatedByKubelet] },
      { phase: 'Failed', conditions: [failed('Ready'), scheduled, terminatedByKubelet, failed('ContainersReady')] },
    ],
    [
      "don't add DisruptionTarget condition when transitioning into failed phase, but there might still be running containers",
      true,
      { conditions: both },
      { phase: 'Failed', conditions: [...both, terminatedByKubelet] },
      { conditions: both },
    ],
    [
      'preserve DisruptionTarget condition',
      false,
      { conditions: [...both, terminatedByKubelet] },
      { conditions: both },
      { conditions: [terminatedByKubelet, ...both] },
    ],
    [
      'override DisruptionTarget condition',
      false,
      { conditions: [...both, evicted] },
      { phase: 'Failed', conditions: [...both, terminatedByKubelet] },
      { phase: 'Failed', conditions: [terminatedByKubelet, failed('Ready'), scheduled, failed('ContainersReady')] },
    ],
    [
      "don't override DisruptionTarget condition when remaining in running phase",
      false,
      { conditions: [...both, evicted] },
      { conditions: [...both, terminatedByKubelet] },
      { conditions: [evicted, ...both] },
    ],
    [
      "don't override DisruptionTarget condition when transitioning to failed phase but there might still be running containers",
      true,
      { conditions: [...both, evicted] },
      { phase: 'Failed', conditions: [...both, terminatedByKubelet] },
      { conditions: [evicted, ...both] },
    ],
    [
      'readiness changes',
      false,
      { conditions: both },
      { conditions: [notReady, scheduled] },
      { conditions: [notReady, scheduled] },
    ],
    [
      'additional pod condition',
      false,
      { conditions: [...both, feature('True')] },
      { conditions: both },
      { conditions: [feature('True'), ...both] },
    ],
    [
      'additional pod condition and readiness changes',
      false,
      { conditions: [...both, feature('True')] },
      { conditions: [notReady, scheduled] },
      { conditions: [feature('True'), notReady, scheduled] },
    ],
    [
      'additional pod condition changes',
      false,
      { conditions: [...both, feature('True')] },
      { conditions: [...both, feature('False')] },
      { conditions: [feature('True'), ...both] },
    ],
    [
      'phase is transitioning to failed and no containers running',
      false,
      { conditions: both, reason: 'Unknown' },
      { phase: 'Failed', conditions: both, reason: 'Evicted', message: 'Was Evicted' },
      {
        phase: 'Failed',
        conditions: [failed('Ready'), scheduled, failed('ContainersReady')],
        reason: 'Evicted',
        message: 'Was Evicted',
      },
    ],
    [
      'phase is transitioning to failed and containers running',
      true,
      { conditions: both, reason: 'Unknown' },
      { phase: 'Failed', conditions: both, reason: 'Evicted', message: 'Was Evicted' },
      { conditions: both, reason: 'Unknown' },
    ],
  ])('%s', (_, couldHaveRunningContainers, from, to, expected) => {
    const { conditions, ...merged } = merge({ ...base, ...from }, { ...base, ...to }, couldHaveRunningContainers);
    const { conditions: expectedConditions, ...expectedRest } = { ...base, ...expected };
    expect(shown(conditions)).toEqual(expectedConditions);
    expect(merged).toEqual(expectedRest);
  });
});

describe('mergePodStatus', () => {
  it('keeps the claim fields of the API server, and drops all else that only it has', () => {
    const claims = {
      resourceClaimStatuses: [{ name: 'a' }],
      extendedResourceClaimStatus: { requestMappings: null, resourceClaimName: 'a' },
      nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: 'a' }],
    };
    const ours = {
      resourceClaimStatuses: [{ name: 'ours' }],
      extendedResourceClaimStatus: { requestMappings: null, resourceClaimName: 'ours' },
      nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: 'ours' }],
    };
    expect(merge({ ...claims, qosClass: 'Burstable', podIP: '10.0.0.1' }, ours)).toEqual(claims);
    expect(merge({}, ours)).toEqual({});
  });

  it('has no conditions field when there are none', () => {
    expect(merge({}, { phase: 'Running' })).toEqual({ phase: 'Running' });
    expect(merge({ conditions: [ready] }, { phase: 'Running' })).toEqual({ phase: 'Running' });
  });

  it('holds back a terminal phase, reason and message, also where the API server has none', () => {
    expect(merge({}, { phase: 'Succeeded', reason: 'r', message: 'm', podIP: '10.0.0.1' }, true)).toEqual({
      podIP: '10.0.0.1',
    });
    // Terminal on the server already: nothing to hold back.
    expect(merge({ phase: 'Failed' }, { phase: 'Succeeded', reason: 'r' }, true)).toEqual({
      phase: 'Succeeded',
      reason: 'r',
    });
  });

  it.each([
    ['Succeeded', 'PodCompleted'],
    ['Failed', 'PodFailed'],
  ])('makes a %s pod unready: %s, by the API pod’s generation, times by the change', (phase, reason) => {
    const conditions = [
      { ...ready, observedGeneration: 3, message: 'm', lastProbeTime: earlier, lastTransitionTime: earlier },
      { type: 'ContainersReady', status: 'False', reason: 'ContainersNotReady', lastTransitionTime: earlier },
    ];
    const unready = { status: 'False', reason, observedGeneration: 7, lastProbeTime: null };
    expect(merge({ phase }, { phase, conditions }).conditions).toEqual([
      { type: 'Ready', ...unready, lastTransitionTime: now },
      { type: 'ContainersReady', ...unready, lastTransitionTime: earlier },
    ]);
  });

  it.each(['Ready', 'ContainersReady'])(
    'appends what is missing, ContainersReady first, when only %s is True',
    (type) => {
      const merged = merge({}, { phase: 'Failed', conditions: [scheduled, { type, status: 'True' }] });
      const others = ['ContainersReady', 'Ready'].filter((other) => other !== type);
      expect(merged.conditions?.map((condition) => condition.type)).toEqual(['PodScheduled', type, ...others]);
    },
  );

  it('leaves the conditions of a terminal pod that is unready already', () => {
    const conditions = [{ ...notReady, reason: 'ContainersNotReady' }];
    expect(shown(merge({}, { phase: 'Failed', conditions }).conditions)).toEqual(conditions);
  });

  it('has no observedGeneration from a pod without generation', () => {
    const { status } = mergePodStatus({}, {}, statusOf({ phase: 'Failed', conditions: [ready] }), false, now);
    expect(status.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([undefined, undefined]);
  });

  it('tells which DisruptionTarget went in, with its refreshed transition time', () => {
    const to = statusOf({ phase: 'Failed', conditions: [{ ...terminatedByKubelet, lastTransitionTime: earlier }] });
    const fresh = mergePodStatus(pod, {}, to, false, now);
    expect(fresh.disruptionTarget).toEqual({ ...to.conditions![0], lastTransitionTime: now });
    expect(fresh.status.conditions).toEqual([fresh.disruptionTarget]);

    const from = statusOf({ conditions: [{ ...evicted, lastTransitionTime: '2024-01-01T00:00:00Z' }] });
    expect(mergePodStatus(pod, from, to, false, now).disruptionTarget?.lastTransitionTime).toBe('2024-01-01T00:00:00Z');
    expect(mergePodStatus(pod, from, to, true, now).disruptionTarget).toBeUndefined();
    expect(mergePodStatus(pod, { ...from, phase: 'Failed' }, to, false, now).disruptionTarget).toBeUndefined();
  });

  it('puts a DisruptionTarget that the API server does not have where it stands in ours', () => {
    const merged = merge(
      { conditions: [feature('True')] },
      { phase: 'Failed', conditions: [scheduled, terminatedByKubelet, notReady] },
    );
    expect(merged.conditions?.map(({ type }) => type)).toEqual([
      'example.com/feature',
      'PodScheduled',
      'DisruptionTarget',
      'Ready',
    ]);
  });
});
