import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { isPodStatusByKubeletEqual } from '../../../src/status-manager/status/equality.ts';
import { generateAPIPodStatus, type ObservedPod } from '../../../src/status-manager/status/generate.ts';
import type { Container, Pod, PodConditionInput, PodSpec, PodStatusInput } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';
import { crashed, ready, running, terminated, waiting } from '../../support/container-statuses.ts';

function podOf(status?: PodStatusInput, spec: PodSpec = {}): Pod {
  return deepFreeze({
    metadata: { name: 'p', namespace: 'default', uid: 'u', generation: 3 },
    spec: { restartPolicy: 'Never', containers: [{ name: 'a' }], ...spec },
    status,
  });
}

const readySandbox = { ready: true, network: { ip: '10.1.0.2' } };
const seen: ObservedPod = deepFreeze({
  containerStatuses: [ready('a')],
  sandboxes: [readySandbox],
  podIPs: ['10.1.0.2'],
  hostIPs: ['10.0.0.1'],
});
const done: ObservedPod = deepFreeze({ ...seen, containerStatuses: [terminated('a', 0)] });

const typesOf = (status: PodStatusInput): readonly unknown[] => (status.conditions ?? []).map(({ type }) => type);
const conditionOf = (status: PodStatusInput, type: string): PodConditionInput | undefined =>
  status.conditions?.find((condition) => condition.type === type);

describe('generateAPIPodStatus', () => {
  it('makes a complete status of a running pod', () => {
    const made = (type: string) => ({
      type,
      observedGeneration: 3,
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: null,
    });
    expect(generateAPIPodStatus(podOf(), seen)).toStrictEqual({
      phase: 'Running',
      conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(made),
      hostIP: '10.0.0.1',
      hostIPs: [{ ip: '10.0.0.1' }],
      podIP: '10.1.0.2',
      podIPs: [{ ip: '10.1.0.2' }],
      qosClass: 'BestEffort',
      containerStatuses: seen.containerStatuses,
      resources: {},
    });
  });

  it('makes a status of a pod of which nothing is seen yet', () => {
    const status = generateAPIPodStatus(podOf(), { containerStatuses: [] });
    expect(status).toMatchObject({ phase: 'Pending', qosClass: 'BestEffort' });
    expect(Object.keys(status).sort()).toEqual(['conditions', 'phase', 'qosClass', 'resources']);
    expect(conditionOf(status, 'Ready')).toMatchObject({ status: 'False', reason: 'UnknownContainerStatuses' });
    expect(conditionOf(status, 'PodReadyToStartContainers')).toMatchObject({ message: 'no pod sandbox exists' });
  });

  it('puts init and ephemeral statuses into the status, and init statuses into phase and conditions', () => {
    const pod = podOf(undefined, { initContainers: [{ name: 'i' }] });
    const status = generateAPIPodStatus(pod, {
      ...seen,
      containerStatuses: [waiting('a')],
      initContainerStatuses: [running('i')],
      ephemeralContainerStatuses: [running('debug')],
    });
    expect(status).toMatchObject({
      phase: 'Pending',
      initContainerStatuses: [{ name: 'i' }],
      ephemeralContainerStatuses: [{ name: 'debug' }],
    });
    expect(conditionOf(status, 'Initialized')?.message).toBe('containers with incomplete status: [i]');
  });

  it('makes a status of a pod without metadata, spec and status', () => {
    const resizeConditions = [{ type: 'PodResizePending', status: 'True', observedGeneration: 3 }];
    const status = generateAPIPodStatus({}, { containerStatuses: [], resizeConditions });
    expect(status).toMatchObject({ phase: 'Pending', qosClass: 'BestEffort', resources: {} });
    expect(conditionOf(status, 'PodResizePending')?.observedGeneration).toBe(0);
    expect(status).not.toHaveProperty('podIPs');
    expect(status).not.toHaveProperty('hostIPs');
  });

  it('puts the resources of the spec into the status', () => {
    const containers = [{ name: 'a', resources: { limits: { cpu: '2' }, requests: { cpu: '1' } } }];
    expect(generateAPIPodStatus(podOf(undefined, { containers }), seen)).toMatchObject({
      allocatedResources: { cpu: '1' },
      resources: { limits: { cpu: '2' }, requests: { cpu: '1' } },
    });
  });

  it.each<[string, unknown, unknown, string, string?]>([
    ['no pod', null, seen, 'pod'],
    ['nothing observed', {}, null, 'observed'],
    ['no containerStatuses', {}, {}, 'observed.containerStatuses', 'a list'],
    ['initContainerStatuses', {}, { ...seen, initContainerStatuses: {} }, 'observed.initContainerStatuses', 'a list'],
    [
      'ephemeralContainerStatuses',
      {},
      { ...seen, ephemeralContainerStatuses: 1 },
      'observed.ephemeralContainerStatuses',
      'a list',
    ],
    ['sandboxes', {}, { ...seen, sandboxes: [1] }, 'observed.sandboxes[0]'],
    ['runtimeContainers', {}, { ...seen, runtimeContainers: [{}, null] }, 'observed.runtimeContainers[1]'],
    ['resizeConditions', {}, { ...seen, resizeConditions: ['x'] }, 'observed.resizeConditions[0]'],
    ['podIPs', {}, { ...seen, podIPs: '10.0.0.1' }, 'observed.podIPs', 'a list'],
    ['a podIP', {}, { ...seen, podIPs: ['10.0.0.1', 7] }, 'observed.podIPs[1]', 'a string'],
    ['hostIPs', {}, { ...seen, hostIPs: {} }, 'observed.hostIPs', 'a list'],
    ['a hostIP', {}, { ...seen, hostIPs: [null] }, 'observed.hostIPs[0]', 'a string'],
    ['eviction', {}, { ...seen, eviction: 'Evicted' }, 'observed.eviction'],
    ['disruption', {}, { ...seen, disruption: null }, 'observed.disruption'],
    ['resources', {}, { ...seen, resources: '1' }, 'observed.resources'],
  ])(
    'refuses what is not of its type and names the field: %s',
    (_name, pod, observed, path, expected = 'an object') => {
      const call = () => generateAPIPodStatus(pod as Pod, observed as ObservedPod);
      expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', path }));
      expect(call).toThrow(expected);
    },
  );

  it.each([
    'initContainerStatuses',
    'ephemeralContainerStatuses',
    'sandboxes',
    'runtimeContainers',
    'resizeConditions',
    'podIPs',
    'hostIPs',
  ])('takes null for a list that is unknown: %s', (field) => {
    expect(generateAPIPodStatus(podOf(), { ...seen, [field]: null }).phase).toBe('Running');
  });

  describe('phase, reason and message', () => {
    const cases: readonly {
      readonly name: string;
      readonly api?: PodStatusInput;
      readonly observed: ObservedPod;
      readonly expected: { readonly phase: string; readonly reason?: string; readonly message?: string };
    }[] = [
      { name: 'a terminal phase by the containers', observed: done, expected: { phase: 'Succeeded' } },
      {
        name: 'the terminal phase set before is not left',
        observed: { ...seen, previous: { phase: 'Failed', reason: 'Evicted', message: 'm' } },
        expected: { phase: 'Failed', reason: 'Evicted', message: 'm' },
      },
      {
        name: 'a terminal phase by the containers goes before the one set before',
        observed: { ...done, previous: { phase: 'Failed' } },
        expected: { phase: 'Succeeded' },
      },
      {
        name: 'the API’s terminal phase is not left',
        api: { phase: 'Failed' },
        observed: { ...seen, previous: { phase: 'Running' } },
        expected: { phase: 'Failed' },
      },
      {
        name: 'the API’s terminal phase is not exchanged',
        api: { phase: 'Failed' },
        observed: { ...done, previous: { phase: 'Running' } },
        expected: { phase: 'Failed' },
      },
      {
        name: 'another terminal phase set before gives reason and message, the API’s gives the phase',
        api: { phase: 'Succeeded' },
        observed: { ...seen, previous: { phase: 'Failed', reason: 'R' } },
        expected: { phase: 'Succeeded', reason: 'R' },
      },
      {
        name: 'reason and message stay with the phase',
        observed: { ...seen, previous: { phase: 'Running', reason: 'R', message: 'm' } },
        expected: { phase: 'Running', reason: 'R', message: 'm' },
      },
      {
        name: 'where they are empty, the API’s stay',
        api: { phase: 'Pending', reason: 'ApiR', message: 'api m' },
        observed: { ...seen, previous: { phase: 'Running', reason: 'R' } },
        expected: { phase: 'Running', reason: 'R', message: 'api m' },
      },
      {
        name: 'reason and message go with the phase',
        observed: { ...seen, previous: { phase: 'Pending', reason: 'R', message: 'm' } },
        expected: { phase: 'Running' },
      },
      {
        name: 'without a status set before, the API’s is the previous one',
        api: { phase: 'Running', reason: 'R', message: 'm' },
        observed: seen,
        expected: { phase: 'Running', reason: 'R', message: 'm' },
      },
      {
        name: 'an eviction',
        observed: {
          ...seen,
          previous: { phase: 'Running', reason: 'R' },
          eviction: { reason: 'Evicted', message: 'low on memory' },
        },
        expected: { phase: 'Failed', reason: 'Evicted', message: 'low on memory' },
      },
      {
        name: 'an eviction does not exchange the API’s terminal phase',
        api: { phase: 'Succeeded' },
        observed: { ...seen, eviction: { reason: 'Evicted', message: 'm' } },
        expected: { phase: 'Succeeded', reason: 'Evicted', message: 'm' },
      },
    ];

    it.each(cases)('$name', ({ api, observed, expected }) => {
      const { phase, reason, message } = generateAPIPodStatus(podOf(api), deepFreeze(observed));
      expect({ phase, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) }).toEqual(
        expected,
      );
    });

    it('takes reason and message of the agent, not only those of an eviction', () => {
      const previous: PodStatusInput = { phase: 'Running', reason: 'R', message: 'm' };
      const own = generateAPIPodStatus(podOf(), { ...seen, previous, reason: 'NodeSlow', message: 'The node is slow' });
      expect(own).toMatchObject({ phase: 'Running', reason: 'NodeSlow', message: 'The node is slow' });
      const none = generateAPIPodStatus(podOf(), { ...seen, previous, reason: '', message: '' });
      expect([none.reason, none.message]).toEqual([undefined, undefined]);
      const eviction = { reason: 'Evicted', message: 'e' };
      expect(generateAPIPodStatus(podOf(), { ...seen, eviction, reason: 'R' })).toMatchObject(eviction);
    });

    it('accepts from the agent that the pod is terminal', () => {
      const pod = podOf(undefined, { restartPolicy: 'Always' });
      expect(generateAPIPodStatus(pod, done).phase).toBe('Running');
      expect(generateAPIPodStatus(pod, { ...done, podIsTerminal: true }).phase).toBe('Succeeded');
    });

    it.each([
      ['a regular container runs', ready('a'), undefined, 'Running'],
      ['a regular container has crashed', crashed('a', 1), undefined, 'Running'],
      ['a regular container has ended', terminated('a', 1), undefined, 'Running'],
      ['a regular container has no state yet', { name: 'a' }, undefined, 'Pending'],
      ['the agent says that none has run in this sandbox', ready('a'), false, 'Pending'],
      ['the agent says that one has', ready('a'), true, 'Running'],
    ] as const)(
      'decides by the regular containers whether the pod has initialised: %s',
      (_name, status, podHasInitialized, phase) => {
        const pod = podOf(undefined, {
          restartPolicy: 'Always',
          initContainers: [{ name: 's', restartPolicy: 'Always' }],
        });
        const observed = {
          ...seen,
          containerStatuses: [status],
          initContainerStatuses: [running('s')],
          podHasInitialized,
        };
        expect(generateAPIPodStatus(pod, observed).phase).toBe(phase);
      },
    );
  });

  describe('conditions', () => {
    const foreign = { type: 'example.com/gate', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' };

    it('keep the API’s foreign ones first, then the kubelet’s own in its order', () => {
      const pod = podOf({
        conditions: [{ type: 'Ready', status: 'True' }, foreign, { type: 'PodResizePending', status: 'True' }],
      });
      const resize = { type: 'PodResizeInProgress', status: 'True' };
      const status = generateAPIPodStatus(pod, { ...seen, resizeConditions: [resize] });
      expect(status.conditions?.slice(0, 2)).toEqual([foreign, resize]);
      expect(typesOf(status).slice(2)).toEqual([
        'PodReadyToStartContainers',
        'Initialized',
        'Ready',
        'ContainersReady',
        'PodScheduled',
      ]);
    });

    it('put the DisruptionTarget set before in the place of the API’s', () => {
      const api = { type: 'DisruptionTarget', status: 'False' };
      const ours = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
      const previous = { conditions: [ours] };
      expect(
        generateAPIPodStatus(podOf({ conditions: [api, foreign] }), { ...seen, previous }).conditions?.slice(0, 2),
      ).toEqual([ours, foreign]);
      expect(
        generateAPIPodStatus(podOf({ conditions: [foreign] }), { ...seen, previous }).conditions?.slice(0, 2),
      ).toEqual([foreign, ours]);
      expect(generateAPIPodStatus(podOf({ conditions: [api] }), { ...seen, previous: {} }).conditions?.[0]).toEqual(
        api,
      );
    });

    it('have a DisruptionTarget when the agent disrupts the pod: eviction alone left controllers without one', () => {
      const disruption = { reason: 'TerminationByKubelet', message: 'The node was low on memory' };
      const eviction = { reason: 'Evicted', message: 'The node was low on memory' };
      const status = generateAPIPodStatus(podOf(), { ...seen, eviction, disruption });
      expect(status).toMatchObject({ phase: 'Failed', ...eviction });
      expect(status.conditions?.at(-1)).toEqual({
        type: 'DisruptionTarget',
        observedGeneration: 3,
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: null,
        ...disruption,
      });
    });

    it('have the agent’s DisruptionTarget in the place of an earlier one', () => {
      const previous: PodStatusInput = {
        conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }],
      };
      const disruption = { reason: 'TerminationByKubelet', message: 'm' };
      const status = generateAPIPodStatus(podOf(), { ...seen, previous, disruption });
      expect(typesOf(status).filter((type) => type === 'DisruptionTarget')).toHaveLength(1);
      expect(conditionOf(status, 'DisruptionTarget')).toMatchObject(disruption);
    });

    it('have no resize conditions of a pod that is terminal: they stayed on it for good', () => {
      const resizeConditions = [{ type: 'PodResizePending', status: 'True', reason: 'Deferred' }];
      expect(typesOf(generateAPIPodStatus(podOf(), { ...seen, resizeConditions }))).toContain('PodResizePending');
      const terminal = generateAPIPodStatus(podOf(), { ...done, resizeConditions, podIsTerminal: true });
      expect(typesOf(terminal)).toEqual(typesOf(generateAPIPodStatus(podOf(), done)));
    });

    it('of a resize have no observedGeneration when the pod has no generation', () => {
      const pod: Pod = { ...podOf(), metadata: { name: 'p', namespace: 'default', uid: 'u' } };
      const resizeConditions = [{ type: 'PodResizePending', status: 'True', observedGeneration: 3 }];
      const generationOf = (of: Pod) =>
        conditionOf(generateAPIPodStatus(of, { ...seen, resizeConditions }), 'PodResizePending')?.observedGeneration;
      expect([generationOf(pod), generationOf(podOf())]).toEqual([0, 3]);
    });

    it('see the readiness gates among the conditions so far', () => {
      const gated: PodSpec = { readinessGates: [{ conditionType: foreign.type }] };
      expect(conditionOf(generateAPIPodStatus(podOf({ conditions: [foreign] }, gated), seen), 'Ready')?.status).toBe(
        'True',
      );
      expect(conditionOf(generateAPIPodStatus(podOf({}, gated), seen), 'Ready')?.reason).toBe('ReadinessGatesNotReady');
    });

    it('use the phase that the status gets', () => {
      const status = generateAPIPodStatus(podOf({ phase: 'Failed' }), seen);
      expect(conditionOf(status, 'ContainersReady')?.reason).toBe('PodFailed');
    });

    it('keep Initialized by the status set before', () => {
      const pod = podOf(undefined, { initContainers: [{ name: 'i' }] });
      const previous: PodStatusInput = { conditions: [{ type: 'Initialized', status: 'True' }] };
      const observed = { ...seen, containerStatuses: [waiting('a')], initContainerStatuses: [waiting('i')] };
      expect(conditionOf(generateAPIPodStatus(pod, { ...observed, previous }), 'Initialized')?.status).toBe('True');
      expect(conditionOf(generateAPIPodStatus(pod, observed), 'Initialized')?.status).toBe('False');
    });

    const restartsAll: Container = {
      name: 'a',
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
    };

    it.each([
      ['the container statuses show the exit', [terminated('a', 42)], undefined, 'True'],
      ['the container statuses show another exit', [terminated('a', 1)], undefined, 'False'],
      ['the container statuses show it running', [running('a')], undefined, 'False'],
      ['the runtime lists the exit', [waiting('a')], [{ name: 'a', exited: true, exitCode: 42 }], 'True'],
      ['the runtime lists nothing', [terminated('a', 42)], [], 'False'],
    ] as const)(
      'have AllContainersRestarting when the spec has a rule for it: %s',
      (_name, containerStatuses, runtimeContainers, status) => {
        const pod = podOf(undefined, { containers: [restartsAll] });
        const made = generateAPIPodStatus(pod, { ...seen, containerStatuses, runtimeContainers });
        expect(made.conditions?.at(-1)).toMatchObject({ type: 'AllContainersRestarting', status });
      },
    );

    it('take a container that runs for no exit with 0, nor one without a state', () => {
      const onZero = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [0] } }];
      const pod = podOf(undefined, { containers: [{ ...restartsAll, restartPolicyRules: onZero }] });
      for (const [status, expected] of [
        [running('a'), 'False'],
        [waiting('a'), 'False'],
        [{ name: 'a' }, 'False'],
        [terminated('a', 0), 'True'],
        [{ name: 'a', state: { terminated: {} } }, 'True'],
      ] as const) {
        const made = generateAPIPodStatus(pod, { ...seen, containerStatuses: [status] });
        expect(conditionOf(made, 'AllContainersRestarting')?.status).toBe(expected);
      }
    });

    it('continue a restart of all containers that has begun', () => {
      const pod = podOf(undefined, { containers: [restartsAll] });
      const previous: PodStatusInput = { conditions: [{ type: 'AllContainersRestarting', status: 'True' }] };
      const made = generateAPIPodStatus(pod, { ...seen, containerStatuses: [running('a')], previous });
      expect(conditionOf(made, 'AllContainersRestarting')?.status).toBe('True');
    });
  });

  describe('addresses', () => {
    const hostNetwork: PodSpec = { hostNetwork: true };
    const ips = (...list: readonly string[]) => list.map((ip) => ({ ip }));
    const cases: readonly {
      readonly name: string;
      readonly spec?: PodSpec;
      readonly api?: PodStatusInput;
      readonly previous?: PodStatusInput;
      readonly podIPs?: readonly string[];
      readonly hostIPs?: readonly string[];
      readonly expectedPod: readonly string[];
      readonly expectedHost: readonly string[];
    }[] = [
      { name: 'none known', expectedPod: [], expectedHost: [] },
      {
        name: 'one per family, in the order of the node',
        podIPs: ['10.1.0.2', 'fd00::2', '10.1.0.3', 'fd00::3'],
        hostIPs: ['fd00::1', '10.0.0.1'],
        expectedPod: ['fd00::2', '10.1.0.2'],
        expectedHost: ['fd00::1', '10.0.0.1'],
      },
      {
        name: 'IPv4 first while the node is unknown',
        podIPs: ['fd00::2', '10.1.0.2'],
        expectedPod: ['10.1.0.2', 'fd00::2'],
        expectedHost: [],
      },
      {
        name: 'a family the node does not have',
        podIPs: ['fd00::2'],
        hostIPs: ['10.0.0.1'],
        expectedPod: ['fd00::2'],
        expectedHost: ['10.0.0.1'],
      },
      {
        name: 'one of each family of the node: the API server refuses a status with two',
        hostIPs: ['10.0.0.1', '10.0.0.2', 'fd00::1'],
        expectedPod: [],
        expectedHost: ['10.0.0.1', 'fd00::1'],
      },
      {
        name: 'an IPv4 address in IPv6 notation is an IPv4 address, as Go reads it: the API server refuses the notation',
        podIPs: ['::ffff:10.1.0.2', '::ffff:a01:2', '0:0:0:0:0:FFFF:10.1.0.2', '10.1.0.3'],
        hostIPs: ['::ffff:0:a00:1', '::ffff:10.0.0.1'],
        expectedPod: ['10.1.0.2'],
        expectedHost: ['::ffff:0:a00:1', '10.0.0.1'],
      },
      {
        name: 'other valid formats become the one that Go writes',
        podIPs: ['FD00:0:0::0001', '010.000.000.005'],
        hostIPs: ['08.0.0.1'],
        expectedPod: ['10.0.0.5', 'fd00::1'],
        expectedHost: ['8.0.0.1'],
      },
      {
        name: 'what is no address does not count: a sandbox may not have one yet',
        previous: { podIPs: ips('10.1.0.2'), hostIPs: ips('10.0.0.1') },
        podIPs: ['', 'none', '10.1.0', 'fe80::1%eth0'],
        hostIPs: [''],
        expectedPod: [],
        expectedHost: ['10.0.0.1'],
      },
      {
        name: 'those of a pod that has none any more are removed',
        api: { podIPs: ips('10.1.0.2') },
        previous: { podIPs: ips('10.1.0.2'), hostIPs: ips('10.0.0.1') },
        podIPs: [],
        expectedPod: [],
        expectedHost: ['10.0.0.1'],
      },
      {
        name: 'those set before stay while it is not known whether there are any',
        previous: { podIPs: ips('10.1.0.2', 'fd00::2'), hostIPs: ips('10.0.0.1', 'fd00::1') },
        expectedPod: ['10.1.0.2', 'fd00::2'],
        expectedHost: ['10.0.0.1', 'fd00::1'],
      },
      {
        name: 'the API’s stay while none was set before',
        api: { podIPs: ips('10.1.0.2'), hostIP: '10.0.0.1' },
        previous: { phase: 'Running', podIPs: null },
        expectedPod: ['10.1.0.2'],
        expectedHost: ['10.0.0.1'],
      },
      { name: 'a podIP alone stays too', previous: { podIP: '10.1.0.2' }, expectedPod: ['10.1.0.2'], expectedHost: [] },
      {
        name: 'those seen replace those set before',
        previous: { podIPs: ips('10.1.0.2'), hostIPs: ips('10.0.0.1') },
        podIPs: ['10.1.0.9'],
        hostIPs: ['10.0.0.9'],
        expectedPod: ['10.1.0.9'],
        expectedHost: ['10.0.0.9'],
      },
      {
        name: 'host network: the node’s',
        spec: hostNetwork,
        hostIPs: ['10.0.0.1'],
        expectedPod: ['10.0.0.1'],
        expectedHost: ['10.0.0.1'],
      },
      {
        name: 'host network: both families of the node',
        spec: hostNetwork,
        hostIPs: ['10.0.0.1', 'fd00::1'],
        expectedPod: ['10.0.0.1', 'fd00::1'],
        expectedHost: ['10.0.0.1', 'fd00::1'],
      },
      {
        name: 'host network: not twice the same family',
        spec: hostNetwork,
        hostIPs: ['10.0.0.1', '10.0.0.2'],
        expectedPod: ['10.0.0.1'],
        expectedHost: ['10.0.0.1'],
      },
      {
        name: 'host network: nor of those that are seen of the pod',
        spec: hostNetwork,
        podIPs: ['10.0.0.1', '10.0.0.2'],
        hostIPs: ['10.0.0.1'],
        expectedPod: ['10.0.0.1'],
        expectedHost: ['10.0.0.1'],
      },
      {
        name: 'host network: one too many that was set before goes',
        spec: hostNetwork,
        previous: { podIPs: ips('10.0.0.1', '10.0.0.2') },
        hostIPs: ['10.0.0.1'],
        expectedPod: ['10.0.0.1'],
        expectedHost: ['10.0.0.1'],
      },
      {
        name: 'host network: changed with the node’s, when the runtime reports none',
        spec: hostNetwork,
        previous: { podIPs: ips('10.0.0.1') },
        hostIPs: ['10.0.0.9'],
        expectedPod: ['10.0.0.9'],
        expectedHost: ['10.0.0.9'],
      },
      {
        name: 'host network: those of the runtime go before the node’s and those set before',
        spec: hostNetwork,
        previous: { podIPs: ips('10.0.0.1') },
        podIPs: ['10.1.0.9'],
        hostIPs: ['10.0.0.1', 'fd00::1'],
        expectedPod: ['10.1.0.9', 'fd00::1'],
        expectedHost: ['10.0.0.1', 'fd00::1'],
      },
      {
        name: 'host network: kept while neither the runtime nor the node shows any',
        spec: hostNetwork,
        previous: { podIPs: ips('10.0.0.1'), hostIPs: ips('10.0.0.9') },
        expectedPod: ['10.0.0.1'],
        expectedHost: ['10.0.0.9'],
      },
      {
        name: 'host network: gains a second family',
        spec: hostNetwork,
        previous: { podIPs: ips('10.0.0.1') },
        hostIPs: ['10.0.0.1', 'fd00::1'],
        expectedPod: ['10.0.0.1', 'fd00::1'],
        expectedHost: ['10.0.0.1', 'fd00::1'],
      },
      {
        name: 'host network: one of the node’s second family stays one',
        spec: hostNetwork,
        podIPs: ['fd00::9'],
        hostIPs: ['10.0.0.1', 'fd00::1'],
        expectedPod: ['fd00::9'],
        expectedHost: ['10.0.0.1', 'fd00::1'],
      },
      {
        name: 'host network: two of the runtime stay two',
        spec: hostNetwork,
        podIPs: ['10.0.0.1', 'fd00::1'],
        hostIPs: ['10.0.0.1', 'fd00::9'],
        expectedPod: ['10.0.0.1', 'fd00::1'],
        expectedHost: ['10.0.0.1', 'fd00::9'],
      },
    ];

    it.each(cases)('$name', ({ spec, api, previous, podIPs, hostIPs, expectedPod, expectedHost }) => {
      const status = generateAPIPodStatus(podOf(api, spec), {
        containerStatuses: [ready('a')],
        previous,
        podIPs,
        hostIPs,
      });
      const both = [status.podIP, status.podIPs, status.hostIP, status.hostIPs];
      const listed = (list: readonly string[]) => (list.length > 0 ? [list[0], ips(...list)] : [undefined, undefined]);
      expect(both).toEqual([...listed(expectedPod), ...listed(expectedHost)]);
    });
  });

  describe('qosClass', () => {
    const resources = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } };
    const guaranteed: PodSpec = { containers: [{ name: 'a', resources }] };

    it('is the API’s where it has one: it can never change', () => {
      expect(generateAPIPodStatus(podOf({ qosClass: 'Burstable' }, guaranteed), seen).qosClass).toBe('Burstable');
    });

    it('is computed from the spec otherwise', () => {
      expect(generateAPIPodStatus(podOf({ qosClass: '' }, guaranteed), seen).qosClass).toBe('Guaranteed');
      expect(generateAPIPodStatus(podOf(undefined, guaranteed), seen).qosClass).toBe('Guaranteed');
    });
  });

  it('gives the same status again once the API has it, even when no address is seen any more', () => {
    const first = canonicalPodStatus(generateAPIPodStatus(podOf({ phase: 'Pending', qosClass: 'BestEffort' }), seen), {
      strict: true,
    });
    const again = generateAPIPodStatus(podOf(first), { ...seen, podIPs: undefined, hostIPs: [], previous: first });
    expect(isPodStatusByKubeletEqual(first, canonicalPodStatus(again, { strict: true }))).toBe(true);
  });
});
