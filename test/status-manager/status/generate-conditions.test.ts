import { describe, expect, it } from 'vitest';
import {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
  needToReconcilePodReadiness,
} from '../../../src/status-manager/status/generate-conditions.ts';
import type {
  Container,
  ContainerStatusInput,
  Pod,
  PodCondition,
  PodConditionInput,
  PodStatusInput,
} from '../../../src/kube/objects/types.ts';
import { crashed, ready, running, terminated, waiting } from '../../support/container-statuses.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

const sidecar = (name: string): Container => ({ name, restartPolicy: 'Always' });

interface Spec {
  readonly containers?: readonly (string | Container)[];
  readonly init?: readonly (string | Container)[];
  readonly gates?: readonly string[];
}

function podOf({ containers = ['a'], init = [], gates = [] }: Spec): Pod {
  const toContainer = (container: string | Container): Container =>
    typeof container === 'string' ? { name: container } : container;
  return deepFreeze({
    metadata: { name: 'p', namespace: 'default', uid: 'u', generation: 3 },
    spec: {
      containers: containers.map(toContainer),
      initContainers: init.map(toContainer),
      readinessGates: gates.map((conditionType) => ({ conditionType })),
    },
  });
}

function condition(type: string, status: string, reason?: string, message?: string): PodCondition {
  return {
    type,
    status,
    lastProbeTime: null,
    lastTransitionTime: null,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
}

interface Case extends Spec {
  readonly name: string;
  readonly statuses?: readonly ContainerStatusInput[] | null;
  readonly phase?: string;
  readonly old?: PodStatusInput;
  readonly conditions?: readonly PodConditionInput[];
  readonly expected: readonly [status: string, reason?: string, message?: string];
}

describe('TestGenerateContainersReadyCondition', () => {
  const cases: readonly Case[] = [
    { name: 'no list of statuses', statuses: null, expected: ['False', 'UnknownContainerStatuses'] },
    {
      name: 'no list of statuses, and the pod has succeeded',
      statuses: null,
      phase: 'Succeeded',
      expected: ['False', 'UnknownContainerStatuses'],
    },
    { name: 'no containers', containers: [], statuses: [], expected: ['True'] },
    {
      name: 'an empty list is a list',
      statuses: [],
      expected: ['False', 'ContainersNotReady', 'containers with unknown status: [a]'],
    },
    { name: 'all containers ready', containers: ['a', 'b'], statuses: [ready('a'), ready('b')], expected: ['True'] },
    {
      name: 'one container unready',
      containers: ['a', 'b'],
      statuses: [ready('a'), running('b')],
      expected: ['False', 'ContainersNotReady', 'containers with unready status: [b]'],
    },
    {
      name: 'one container unknown',
      containers: ['a', 'b'],
      statuses: [ready('b')],
      expected: ['False', 'ContainersNotReady', 'containers with unknown status: [a]'],
    },
    {
      name: 'several unknown and several unready, in the order of the spec',
      containers: ['d', 'c', 'b', 'a'],
      statuses: [running('a'), running('c')],
      expected: [
        'False',
        'ContainersNotReady',
        'containers with unknown status: [d b], containers with unready status: [c a]',
      ],
    },
    {
      name: 'the pod has succeeded',
      phase: 'Succeeded',
      statuses: [terminated('a', 0)],
      expected: ['False', 'PodCompleted'],
    },
    {
      name: 'the pod has succeeded, but a container is unknown',
      phase: 'Succeeded',
      statuses: [],
      expected: ['False', 'ContainersNotReady', 'containers with unknown status: [a]'],
    },
    { name: 'the pod has failed', phase: 'Failed', statuses: [terminated('a', 1)], expected: ['False', 'PodFailed'] },
    {
      name: 'the pod has failed, with a container unknown',
      phase: 'Failed',
      statuses: [],
      expected: ['False', 'PodFailed'],
    },
    {
      name: 'an init container does not count',
      init: ['i'],
      statuses: [terminated('i', 0), ready('a')],
      expected: ['True'],
    },
    { name: 'a ready sidecar', init: [sidecar('s')], statuses: [ready('s'), ready('a')], expected: ['True'] },
    {
      name: 'an unready sidecar',
      init: [sidecar('s')],
      statuses: [running('s'), ready('a')],
      expected: ['False', 'ContainersNotReady', 'containers with unready status: [s]'],
    },
    {
      name: 'sidecars come first in the message',
      init: [sidecar('s')],
      statuses: [],
      expected: ['False', 'ContainersNotReady', 'containers with unknown status: [s a]'],
    },
  ];

  it.each(cases)('$name', ({ statuses, phase = 'Running', expected, ...spec }) => {
    const generated = generateContainersReadyCondition(podOf(spec), undefined, deepFreeze(statuses), phase);
    expect(generated).toStrictEqual(condition('ContainersReady', ...expected));
  });
});

describe('TestGeneratePodReadyCondition', () => {
  const cases: readonly Case[] = [
    { name: 'no list of statuses', statuses: null, expected: ['False', 'UnknownContainerStatuses'] },
    { name: 'all containers ready, no gates', statuses: [ready('a')], expected: ['True'] },
    {
      name: 'containers unready: their reason and message',
      statuses: [running('a')],
      expected: ['False', 'ContainersNotReady', 'containers with unready status: [a]'],
    },
    {
      name: 'the pod has succeeded',
      phase: 'Succeeded',
      statuses: [terminated('a', 0)],
      expected: ['False', 'PodCompleted'],
    },
    { name: 'the pod has failed', phase: 'Failed', statuses: [terminated('a', 1)], expected: ['False', 'PodFailed'] },
    {
      name: 'a gate without a condition',
      gates: ['gate'],
      statuses: [ready('a')],
      expected: [
        'False',
        'ReadinessGatesNotReady',
        'corresponding condition of pod readiness gate "gate" does not exist.',
      ],
    },
    {
      name: 'a gate that is False',
      gates: ['gate'],
      statuses: [ready('a')],
      conditions: [{ type: 'gate', status: 'False' }],
      expected: ['False', 'ReadinessGatesNotReady', 'the status of pod readiness gate "gate" is not "True", but False'],
    },
    {
      name: 'a gate that is True',
      gates: ['gate'],
      statuses: [ready('a')],
      conditions: [{ type: 'gate', status: 'True' }],
      expected: ['True'],
    },
    {
      name: 'several gates, in the order of the spec',
      gates: ['g', 'h', 'i', 'k'],
      statuses: [ready('a')],
      conditions: [
        { type: 'i', status: 'True' },
        { type: 'h', status: 'Unknown' },
        { type: 'g', status: '' },
      ],
      expected: [
        'False',
        'ReadinessGatesNotReady',
        'the status of pod readiness gate "g" is not "True", but , the status of pod readiness gate "h" is not "True", but Unknown, corresponding condition of pod readiness gate "k" does not exist.',
      ],
    },
    {
      name: 'a gate’s name is quoted as Go does it',
      gates: ['a "gate"\t\\'],
      statuses: [ready('a')],
      expected: [
        'False',
        'ReadinessGatesNotReady',
        'corresponding condition of pod readiness gate "a \\"gate\\"\\t\\\\" does not exist.',
      ],
    },
    {
      name: 'unready containers go before gates',
      gates: ['gate'],
      statuses: [running('a')],
      expected: ['False', 'ContainersNotReady', 'containers with unready status: [a]'],
    },
  ];

  it.each(cases)('$name', ({ statuses, conditions, phase = 'Running', expected, ...spec }) => {
    const pod = podOf(spec);
    const generated = generatePodReadyCondition(pod, undefined, deepFreeze(conditions), deepFreeze(statuses), phase);
    expect(generated).toStrictEqual(condition('Ready', ...expected));
  });

  it.each([null, undefined])('readiness gates that are %s are none, as for requirePod', (readinessGates) => {
    const pod = { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { readinessGates } } as Pod;
    expect(generatePodReadyCondition(pod, undefined, [], [], 'Running').status).toBe('True');
  });
});

describe('TestGeneratePodInitializedCondition', () => {
  const incomplete = 'containers with incomplete status: [i]';
  const wasInitialized: PodStatusInput = { conditions: [{ type: 'Initialized', status: 'True' }] };
  const cases: readonly Case[] = [
    {
      name: 'no list of statuses, init containers',
      init: ['i'],
      statuses: null,
      expected: ['False', 'UnknownContainerStatuses'],
    },
    { name: 'no list of statuses, no init containers', statuses: null, expected: ['True'] },
    {
      name: 'no list of statuses, initialised before',
      init: ['i'],
      statuses: null,
      old: wasInitialized,
      expected: ['False', 'UnknownContainerStatuses'],
    },
    {
      name: 'an init container unknown',
      init: ['i', 'j'],
      statuses: [ready('i')],
      expected: ['False', 'ContainersNotInitialized', 'containers with unknown status: [j]'],
    },
    {
      name: 'an init container unready',
      init: ['i'],
      statuses: [running('i')],
      expected: ['False', 'ContainersNotInitialized', incomplete],
    },
    {
      name: 'unknown and incomplete',
      init: ['h', 'i'],
      statuses: [running('i')],
      expected: ['False', 'ContainersNotInitialized', `containers with unknown status: [h], ${incomplete}`],
    },
    { name: 'init containers ready', init: ['i', 'j'], statuses: [ready('i'), ready('j')], expected: ['True'] },
    {
      name: 'a sidecar that has started but is not ready',
      init: [sidecar('i')],
      statuses: [running('i', { started: true })],
      expected: ['True'],
    },
    {
      name: 'a sidecar that is ready but has not started',
      init: [sidecar('i')],
      statuses: [running('i', { ready: true })],
      expected: ['False', 'ContainersNotInitialized', incomplete],
    },
    {
      name: 'an init container that has started but is not ready',
      init: ['i'],
      statuses: [running('i', { started: true })],
      expected: ['False', 'ContainersNotInitialized', incomplete],
    },
    {
      name: 'the pod has succeeded',
      init: ['i'],
      phase: 'Succeeded',
      statuses: [terminated('i', 0)],
      expected: ['True', 'PodCompleted'],
    },
    {
      name: 'the pod has succeeded, but an init container is unknown',
      init: ['i'],
      phase: 'Succeeded',
      statuses: [],
      expected: ['False', 'ContainersNotInitialized', 'containers with unknown status: [i]'],
    },
    {
      name: 'a running regular container proves it',
      init: ['i'],
      statuses: [waiting('i'), running('a')],
      expected: ['True'],
    },
    {
      name: 'a terminated regular container proves it',
      init: ['i'],
      statuses: [waiting('i'), terminated('a', 1)],
      expected: ['True'],
    },
    {
      name: 'a waiting regular container proves nothing',
      init: ['i'],
      statuses: [waiting('i'), crashed('a', 1)],
      expected: ['False', 'ContainersNotInitialized', incomplete],
    },
    {
      name: 'the spec has no such running container',
      init: ['i'],
      statuses: [waiting('i'), running('unknown')],
      expected: ['False', 'ContainersNotInitialized', incomplete],
    },
  ];

  it.each(cases)('$name', ({ statuses, phase = 'Running', old, expected, ...spec }) => {
    const { observedGeneration: _, ...generated } = generatePodInitializedCondition(
      podOf(spec),
      old,
      deepFreeze(statuses),
      phase,
    );
    expect(generated).toStrictEqual(condition('Initialized', ...expected));
  });

  it('stays True once it was True', () => {
    const pod = podOf({ init: [sidecar('i')] });
    const again = generatePodInitializedCondition(
      pod,
      deepFreeze(wasInitialized),
      [running('i', { started: false })],
      'Running',
    );
    expect(again).toStrictEqual({ ...condition('Initialized', 'True'), observedGeneration: 3 });
    const wasNot: PodStatusInput = { conditions: [{ type: 'Initialized', status: 'False' }] };
    expect(generatePodInitializedCondition(pod, wasNot, [waiting('i')], 'Running').status).toBe('False');
  });
});

describe('observedGeneration of a generated condition', () => {
  const pod = podOf({});
  const statuses = [ready('a')];

  it.each([
    [
      'ContainersReady',
      (old: PodStatusInput | null | undefined) => generateContainersReadyCondition(pod, old, statuses, 'Running'),
    ],
    ['Ready', (old: PodStatusInput | null | undefined) => generatePodReadyCondition(pod, old, [], statuses, 'Running')],
    [
      'Initialized',
      (old: PodStatusInput | null | undefined) => generatePodInitializedCondition(pod, old, statuses, 'Running'),
    ],
  ])('%s bears the pod’s generation only if an earlier status is given', (_type, generate) => {
    expect(generate({}).observedGeneration).toBe(3);
    expect(generate(undefined)).not.toHaveProperty('observedGeneration');
    expect(generate(null)).not.toHaveProperty('observedGeneration');
  });
});

describe('needToReconcilePodReadiness', () => {
  const gated = podOf({ gates: ['gate'] });
  const gateIs = (status: string): PodConditionInput => ({ type: 'gate', status });
  const isTrue: PodConditionInput = { type: 'Ready', status: 'True' };
  const gateMissing: PodConditionInput = {
    type: 'Ready',
    status: 'False',
    message: 'corresponding condition of pod readiness gate "gate" does not exist.',
  };
  const cases: readonly (readonly [string, Pod, readonly PodConditionInput[] | undefined, boolean])[] = [
    ['no gates', podOf({}), [{ type: 'Ready', status: 'False' }], false],
    ['no conditions', gated, undefined, false],
    ['no Ready condition', gated, [gateIs('True')], false],
    ['Ready, and the gate is True', gated, [isTrue, gateIs('True')], false],
    ['Ready, but the gate went False', gated, [isTrue, gateIs('False')], true],
    ['not Ready, and the gate is missing', gated, [gateMissing], false],
    ['not Ready, and the gate changed from missing to False', gated, [gateMissing, gateIs('False')], true],
    ['not Ready, and the gate went True', gated, [gateMissing, gateIs('True')], true],
    [
      'not Ready without a message, and the gate is True',
      gated,
      [{ type: 'Ready', status: 'False' }, gateIs('True')],
      true,
    ],
    ['only the reason is another', gated, [{ ...gateMissing, reason: 'Whatever' }], false],
    [
      'a pod with a sidecar always comes out',
      podOf({ gates: ['gate'], init: [sidecar('s')] }),
      [isTrue, gateIs('True')],
      true,
    ],
  ];

  it.each(cases)('%s', (_name, pod, conditions, expected) => {
    const status = {
      phase: 'Running',
      conditions: conditions ?? null,
      initContainerStatuses: [ready('s')],
      containerStatuses: [ready('a')],
    };
    expect(needToReconcilePodReadiness(deepFreeze({ ...pod, status }))).toBe(expected);
  });

  it('is false for a pod without a status', () => {
    expect(needToReconcilePodReadiness(gated)).toBe(false);
  });
});

describe('a pod without a spec and an earlier status', () => {
  it.each([
    ['ContainersReady', generateContainersReadyCondition({}, undefined, [], 'Running')],
    ['Ready', generatePodReadyCondition({}, undefined, undefined, [], 'Running')],
    ['Initialized', generatePodInitializedCondition({}, undefined, undefined, 'Running')],
    ['Initialized', generatePodInitializedCondition({ spec: {} }, undefined, undefined, 'Running')],
    ['Ready', generatePodReadyCondition({ spec: {} }, undefined, undefined, [], 'Running')],
  ])('has %s: nothing is missing', (type, made) => {
    expect(made).toMatchObject({ type, status: 'True' });
  });

  it('needs no other readiness', () => {
    expect(needToReconcilePodReadiness({})).toBe(false);
    expect(needToReconcilePodReadiness({ status: { conditions: [{ type: 'Ready', status: 'False' }] } })).toBe(false);
  });
});

it('a pod is initialised as soon as one of its regular containers has started', () => {
  const pod = podOf({ containers: ['a', 'b'], init: ['i'] });
  const made = generatePodInitializedCondition(pod, undefined, [waiting('i'), running('a'), waiting('b')], 'Running');
  expect(made.status).toBe('True');
});

it('names a readiness gate whose condition has no status', () => {
  const pod = podOf({ gates: ['gate'] });
  const made = generatePodReadyCondition(pod, undefined, [{ type: 'gate' }], [ready('a')], 'Running');
  expect(made.message).toBe('the status of pod readiness gate "gate" is not "True", but ');
});

it('many readiness gates are compared with many conditions in linear time, and the first condition of a type counts', () => {
  let reads = 0;
  const conditions = Array.from({ length: 2000 }, (_, i) => ({
    get type() {
      reads++;
      return `gate-${i % 1000}`;
    },
    status: i < 1000 ? 'True' : 'False',
  }));
  const pod = podOf({ gates: Array.from({ length: 1000 }, (_, i) => `gate-${i}`) });
  expect(generatePodReadyCondition(pod, undefined, conditions, [ready('a')], 'Running').status).toBe('True');
  expect(reads).toBeLessThan(20_000);
});
