import { describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { CriticalPodAdmission } from '../../../src/node/admission/critical-pod-admission.ts';
import { type AdmissionRequirement, podsToPreempt } from '../../../src/node/admission/preemption.ts';
import type { PredicateFailure } from '../../../src/node/admission/predicate-failure.ts';
import type { UpdatePodOptions } from '../../../src/node/pod-workers/update-pod-options.ts';

const mi = 2 ** 20;
const podOf = (name: string, amount: number, kind: { guaranteed?: boolean; priority?: number } = {}): ValidPod => {
  const list = amount === 0 ? undefined : { cpu: `${amount}m`, memory: `${amount}Mi` };
  const resources = { requests: list, ...(kind.guaranteed && { limits: list }) };
  return {
    metadata: { name, namespace: 'default', uid: name },
    spec: { priority: kind.priority, containers: [{ name: 'app', resources }] },
  };
};
const pods = {
  bestEffort: podOf('bestEffort', 0),
  burstable: podOf('burstable', 100),
  highRequestBurstable: podOf('highRequestBurstable', 300),
  guaranteed: podOf('guaranteed', 100, { guaranteed: true }),
  highRequestGuaranteed: podOf('highRequestGuaranteed', 300, { guaranteed: true }),
  clusterCritical: podOf('clusterCritical', 100, { priority: 2_000_000_000 }),
  nodeCritical: podOf('nodeCritical', 100, { priority: 2_000_000_100 }),
};
type Name = keyof typeof pods;
const requirements = (cpu: number, memory: number, count: number): AdmissionRequirement[] =>
  [
    { resource: 'cpu', amount: cpu },
    { resource: 'memory', amount: memory * mi },
    { resource: 'pods', amount: count },
  ].filter(({ amount }) => amount > 0);
const all: Name[] = ['bestEffort', 'burstable', 'highRequestBurstable', 'guaranteed', 'highRequestGuaranteed'];
const namesOf = (list: readonly ValidPod[]): string[] => list.map(({ metadata }) => metadata?.name ?? '').toSorted();

describe('TestGetPodsToPreempt: podsToPreempt', () => {
  it.each<[string, Name, Name[], AdmissionRequirement[], Name[] | 'error']>([
    ['no requirements', 'clusterCritical', [], [], []],
    ['no pods', 'clusterCritical', [], requirements(0, 0, 1), 'error'],
    [
      'equal pods and resources requirements',
      'clusterCritical',
      ['burstable'],
      requirements(100, 100, 1),
      ['burstable'],
    ],
    ['higher requirements than pod requests', 'clusterCritical', ['burstable'], requirements(200, 200, 2), 'error'],
    [
      'choose between bestEffort and burstable',
      'clusterCritical',
      ['burstable', 'bestEffort'],
      requirements(0, 0, 1),
      ['bestEffort'],
    ],
    [
      'choose between burstable and guaranteed',
      'clusterCritical',
      ['burstable', 'guaranteed'],
      requirements(0, 0, 1),
      ['burstable'],
    ],
    [
      'choose lower request burstable if it meets requirements',
      'clusterCritical',
      ['bestEffort', 'highRequestBurstable', 'burstable'],
      requirements(100, 100, 0),
      ['burstable'],
    ],
    [
      'choose higher request burstable if lower does not meet requirements',
      'clusterCritical',
      ['bestEffort', 'burstable', 'highRequestBurstable'],
      requirements(150, 150, 0),
      ['highRequestBurstable'],
    ],
    [
      'multiple pods required',
      'clusterCritical',
      all,
      requirements(350, 350, 0),
      ['burstable', 'highRequestBurstable'],
    ],
    [
      'evict guaranteed when we have to, and dont evict the extra burstable',
      'clusterCritical',
      all,
      requirements(0, 550, 0),
      ['highRequestBurstable', 'highRequestGuaranteed'],
    ],
    [
      'evict cluster critical pod for node critical pod',
      'nodeCritical',
      ['clusterCritical'],
      requirements(100, 0, 0),
      ['clusterCritical'],
    ],
    [
      'can not evict node critical pod for cluster critical pod',
      'clusterCritical',
      ['nodeCritical'],
      requirements(100, 0, 0),
      'error',
    ],
  ])('%s', (_name, preemptor, running, missing, expected) => {
    const preempt = (): ValidPod[] =>
      podsToPreempt(
        pods[preemptor],
        running.map((name) => pods[name]),
        missing,
      );
    if (expected === 'error') expect(preempt).toThrow('no set of running pods found to reclaim resources');
    else expect(namesOf(preempt())).toEqual(expected.toSorted());
  });
});

describe('TestHandleAdmissionFailure: CriticalPodAdmission', () => {
  const missing = (cpu: number, memory: number, count: number): PredicateFailure[] =>
    requirements(cpu, memory, count).map(({ resource, amount }) => ({
      ...({ kind: 'InsufficientResource', resource, requested: amount } as const),
      ...{ used: 0, capacity: 0 },
    }));
  const other: PredicateFailure = { kind: 'Predicate', name: 'mock predicate', description: 'mock reason' };
  const withClusterCritical: Name[] = ['clusterCritical', ...all];
  it.each<[string, Name[], Name, PredicateFailure[], PredicateFailure[] | 'error', Name[]]>([
    [
      'critical pods cannot be preempted - no other failure reason',
      ['clusterCritical'],
      'clusterCritical',
      missing(0, 0, 1),
      'error',
      [],
    ],
    [
      'non-critical pod should not trigger eviction - no other failure reason',
      ['burstable'],
      'guaranteed',
      missing(0, 1, 0),
      missing(0, 1, 0),
      [],
    ],
    [
      'best effort pods are not preempted when attempting to free resources - no other failure reason',
      ['bestEffort'],
      'clusterCritical',
      missing(0, 1, 0),
      'error',
      [],
    ],
    [
      'multiple pods evicted - no other failure reason',
      withClusterCritical,
      'clusterCritical',
      missing(0, 550, 0),
      [],
      ['highRequestBurstable', 'highRequestGuaranteed'],
    ],
    [
      'non-critical pod should not trigger eviction - with other failure reason',
      ['burstable'],
      'guaranteed',
      [...missing(0, 1, 0), other],
      [...missing(0, 1, 0), other],
      [],
    ],
    [
      'critical pods cannot be preempted - with other failure reason',
      ['clusterCritical'],
      'clusterCritical',
      [...missing(0, 0, 1), other],
      [other],
      [],
    ],
  ])('%s', async (_name, running, admitted, failures, expected, preempted) => {
    const updates: UpdatePodOptions[] = [];
    const admission = new CriticalPodAdmission({
      stopSignal: new AbortController().signal,
      podWorkers: { updatePod: (update) => void updates.push(update) },
      clock: new FakeClock(),
      logger: recordingLogger(),
      eventRecorder: { event: () => {} },
    });
    const others = running.map((name) => pods[name]);
    const handle = (): readonly PredicateFailure[] =>
      admission.handleAdmissionFailure(pods[admitted], others, failures);
    if (expected === 'error') expect(handle).toThrow('preemption: ');
    else expect(handle()).toEqual(expected);
    expect(namesOf(updates.map(({ pod }) => pod!))).toEqual(preempted.toSorted());
    expect(namesOf(others.filter((pod) => admission.isPreempting(pod)))).toEqual(preempted.toSorted());
    for (const { killPodOptions } of updates) {
      expect(killPodOptions?.podStatusFn?.({})).toMatchObject({ phase: 'Failed', reason: 'Preempting' });
      killPodOptions?.onCompleted?.();
    }
    await settle();
    expect(others.filter((pod) => admission.isPreempting(pod))).toEqual([]);
  });

  it('multiple pods with eviction error - no other failure reason: the pod is admitted, and the failure is logged', async () => {
    const [clock, logger] = [new FakeClock(), recordingLogger()];
    const eventRecorder = { event: () => {} };
    const admission = new CriticalPodAdmission({
      ...{
        podWorkers: { updatePod: () => {} },
        stopSignal: new AbortController().signal,
        clock,
        logger,
        eventRecorder,
      },
    });
    expect(admission.handleAdmissionFailure(pods.clusterCritical, [pods.burstable], missing(0, 50, 0))).toEqual([]);
    await clock.advanceAsync(20_000);
    expect(admission.isPreempting(pods.burstable)).toBe(false);
    expect(logger.errors.map(({ message }) => message)).toEqual(['Failed to preempt a pod in time']);
  });
});
