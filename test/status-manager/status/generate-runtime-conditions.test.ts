import { describe, expect, it } from 'vitest';
import {
  generateAllContainersRestartingCondition,
  generatePodReadyToStartContainersCondition,
  shouldAllContainersRestart,
  type PodSandbox,
  type RuntimeContainer,
} from '../../../src/status-manager/status/generate-runtime-conditions.ts';
import type { Container, Pod, PodStatusInput } from '../../../src/kube/objects/types.ts';
import { running, terminated } from '../../support/container-statuses.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

describe('TestGeneratePodReadyToStartContainersCondition', () => {
  const withIP: PodSandbox = { ready: true, network: { ip: '10.1.0.2' } };
  const cases: readonly {
    readonly name: string;
    readonly sandboxes: readonly PodSandbox[] | undefined;
    readonly hostNetwork?: boolean;
    readonly fault?: string;
  }[] = [
    { name: 'Empty pod status', sandboxes: undefined, fault: 'no pod sandbox exists' },
    { name: 'Empty list of sandboxes', sandboxes: [], fault: 'no pod sandbox exists' },
    { name: 'Pod sandbox status not ready', sandboxes: [{ ready: false }], fault: 'pod sandbox is not ready' },
    {
      name: 'Newest pod sandbox not ready, an older one is',
      sandboxes: [{ ready: false }, withIP],
      fault: 'pod sandbox is not ready',
    },
    {
      name: 'Pod with multiple ready sandboxes',
      sandboxes: [withIP, withIP],
      fault: 'multiple pod sandboxes are ready and need to be reconciled',
    },
    {
      name: 'Pod with multiple ready sandboxes behind one that is not',
      sandboxes: [{ ready: false }, withIP, withIP],
      fault: 'multiple pod sandboxes are ready and need to be reconciled',
    },
    {
      name: 'Pod sandbox status ready but network namespace mode changed',
      sandboxes: [{ ...withIP, hostNetwork: true }],
      fault: 'network namespace mode changed and sandbox needs to be recreated',
    },
    {
      name: 'Pod sandbox status ready but the spec wants the host network',
      sandboxes: [withIP],
      hostNetwork: true,
      fault: 'network namespace mode changed and sandbox needs to be recreated',
    },
    {
      name: 'Pod sandbox status ready but no IP configured',
      sandboxes: [{ ready: true, network: {} }],
      fault: 'pod sandbox has no IP address',
    },
    { name: 'Pod sandbox status ready and IP configured', sandboxes: [withIP] },
    { name: 'Pod sandbox status ready, older ones not', sandboxes: [withIP, { ready: false }] },
    { name: 'Pod sandbox status ready without a network object', sandboxes: [{ ready: true }] },
    {
      name: 'Pod sandbox on the host network needs no IP',
      sandboxes: [{ ready: true, hostNetwork: true, network: {} }],
      hostNetwork: true,
    },
  ];

  it.each(cases)('$name', ({ sandboxes, hostNetwork, fault }) => {
    const pod: Pod = { metadata: { generation: 3 }, spec: { hostNetwork } };
    expect(generatePodReadyToStartContainersCondition(pod, {}, deepFreeze(sandboxes))).toStrictEqual({
      type: 'PodReadyToStartContainers',
      observedGeneration: 3,
      status: fault === undefined ? 'True' : 'False',
      lastProbeTime: null,
      lastTransitionTime: null,
      ...(fault !== undefined && { reason: 'PodSandboxNotReady', message: fault }),
    });
  });

  it('has no observedGeneration without an earlier status', () => {
    const made = generatePodReadyToStartContainersCondition({ metadata: { generation: 3 } }, undefined, [withIP]);
    expect(made).not.toHaveProperty('observedGeneration');
  });
});

describe('TestGenerateAllContainersRestartingCondition', () => {
  const withRules = (...actions: string[]): Container => ({
    name: 'a',
    restartPolicy: 'Never',
    restartPolicyRules: actions.map((action) => ({ action, exitCodes: { operator: 'In', values: [42] } })),
  });
  const restartsAll = withRules('RestartAllContainers');
  const underWay: PodStatusInput = { conditions: [{ type: 'AllContainersRestarting', status: 'True' }] };
  const exited = (exitCode: number): RuntimeContainer => ({ name: 'a', exited: true, exitCode });
  const runs: RuntimeContainer = { name: 'a', exited: false };
  const started = ['True', 'RestartAllContainersStarted', 'container exited with restart policy rule'] as const;

  const cases: readonly {
    readonly name: string;
    readonly phase?: string;
    readonly container?: Container;
    readonly isInit?: boolean;
    readonly old?: PodStatusInput;
    readonly runtime: readonly RuntimeContainer[];
    readonly expected: readonly [status: string, reason?: string, message?: string];
  }[] = [
    { name: 'pod pending', phase: 'Pending', runtime: [], expected: ['False'] },
    { name: 'pod failed', phase: 'Failed', old: underWay, runtime: [exited(42)], expected: ['False', 'PodFailed'] },
    {
      name: 'pod succeeded',
      phase: 'Succeeded',
      old: underWay,
      runtime: [exited(42)],
      expected: ['False', 'PodCompleted'],
    },
    { name: 'container triggers RestartAllContainers rule', runtime: [exited(42)], expected: started },
    {
      name: 'container triggres RestartAllContainers rule, cleaning up',
      old: underWay,
      runtime: [exited(0)],
      expected: started,
    },
    {
      name: 'container triggres RestartAllContainers rule, cleaned up',
      old: underWay,
      runtime: [],
      expected: ['False'],
    },
    {
      name: 'cleaned up but for an unknown container',
      old: underWay,
      runtime: [{ name: 'x', exited: true }],
      expected: ['False'],
    },
    {
      name: 'a restart that has begun continues while a container runs',
      old: underWay,
      runtime: [runs],
      expected: started,
    },
    { name: 'an init container triggers the rule', isInit: true, runtime: [exited(42)], expected: started },
    { name: 'an exit that no rule covers', runtime: [exited(1)], expected: ['False'] },
    { name: 'an exit code left out is 0', runtime: [{ name: 'a', exited: true }], expected: ['False'] },
    { name: 'a running container triggers nothing', runtime: [runs], expected: ['False'] },
    {
      name: 'the exit code of the API status triggers the rule',
      old: { containerStatuses: [terminated('a', 42)] },
      runtime: [exited(1)],
      expected: started,
    },
    {
      name: 'the exit code of the API status counts only once the runtime reports the exit',
      old: { containerStatuses: [terminated('a', 42)] },
      runtime: [runs],
      expected: ['False'],
    },
    {
      name: 'a running API status triggers nothing',
      old: { containerStatuses: [running('a')] },
      runtime: [exited(1)],
      expected: ['False'],
    },
    {
      name: 'the exit code of another container in the API status triggers nothing',
      old: { containerStatuses: [terminated('b', 42), terminated('a', 1)] },
      runtime: [exited(1)],
      expected: ['False'],
    },
    {
      name: 'an API status without a state triggers nothing',
      old: { containerStatuses: [{ name: 'a' }] },
      runtime: [exited(1)],
      expected: ['False'],
    },
    {
      name: 'another rule matches first',
      container: withRules('Restart', 'RestartAllContainers'),
      runtime: [exited(42)],
      expected: ['False'],
    },
    { name: 'of two containers of one name the first listed counts', runtime: [runs, exited(42)], expected: ['False'] },
  ];

  it.each(cases)('$name', ({ phase = 'Running', container = restartsAll, isInit, old = {}, runtime, expected }) => {
    const spec = isInit ? { containers: [{ name: 'b' }], initContainers: [container] } : { containers: [container] };
    const pod = deepFreeze({ metadata: { generation: 3 }, spec });
    const [status, reason, message] = expected;
    expect(generateAllContainersRestartingCondition(pod, deepFreeze(old), deepFreeze(runtime), phase)).toStrictEqual({
      type: 'AllContainersRestarting',
      status,
      lastProbeTime: null,
      lastTransitionTime: null,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
    });
  });

  it('is False for a pod without a spec, an earlier status and containers', () => {
    expect(generateAllContainersRestartingCondition({}, undefined, undefined, undefined).status).toBe('False');
    expect(generateAllContainersRestartingCondition({}, null, [exited(42)], 'Running').status).toBe('False');
  });

  it.each<[string, Pod, PodStatusInput | undefined, readonly RuntimeContainer[], boolean]>([
    ['an exit that has the rule', { spec: { containers: [restartsAll] } }, undefined, [exited(42)], true],
    ['no container listed', { spec: { containers: [restartsAll] } }, undefined, [], false],
    ['no container in the spec', {}, undefined, [exited(42)], false],
    ['a restart under way', {}, underWay, [], true],
  ])('shouldAllContainersRestart: %s', (_case, pod, old, runtime, expected) => {
    expect(shouldAllContainersRestart(pod, old, runtime)).toBe(expected);
  });
});
