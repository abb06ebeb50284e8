import { describe, expect, it } from 'vitest';
import {
  containerShouldRestart,
  hasRestartAllContainersRule,
  isRestartableInitContainer,
  matchingRestartRule,
} from '../../../src/status-manager/status/container-restart.ts';
import type { Container, ContainerRestartRule } from '../../../src/kube/objects/types.ts';

const rule = (action: string, operator: string, ...values: number[]): ContainerRestartRule => ({
  action,
  exitCodes: { operator, values },
});

interface Case {
  readonly name: string;
  readonly pod?: string;
  readonly own?: string;
  readonly rules?: readonly ContainerRestartRule[];
  readonly exitCode: number;
  readonly restarts: boolean;
}

const cases: readonly Case[] = [
  { name: 'no policy at all means Always', exitCode: 0, restarts: true },
  { name: 'an unknown policy of the pod means Always', pod: 'Sometimes', exitCode: 0, restarts: true },
  { name: 'pod Always', pod: 'Always', exitCode: 0, restarts: true },
  { name: 'pod OnFailure, success', pod: 'OnFailure', exitCode: 0, restarts: false },
  { name: 'pod OnFailure, failure', pod: 'OnFailure', exitCode: 1, restarts: true },
  { name: 'pod Never', pod: 'Never', exitCode: 1, restarts: false },
  { name: 'own Always beats pod Never', pod: 'Never', own: 'Always', exitCode: 0, restarts: true },
  { name: 'own Never beats pod Always', pod: 'Always', own: 'Never', exitCode: 1, restarts: false },
  { name: 'own OnFailure, success', pod: 'Always', own: 'OnFailure', exitCode: 0, restarts: false },
  { name: 'own OnFailure, failure', pod: 'Never', own: 'OnFailure', exitCode: 2, restarts: true },
  { name: 'an unknown own policy leaves it to the pod', pod: 'Never', own: 'Sometimes', exitCode: 1, restarts: false },
  {
    name: 'rules without an own policy say nothing',
    pod: 'Never',
    rules: [rule('Restart', 'In', 1)],
    exitCode: 1,
    restarts: false,
  },
  {
    name: 'a Restart rule that lists the code',
    pod: 'Never',
    own: 'Never',
    rules: [rule('Restart', 'In', 7, 42)],
    exitCode: 42,
    restarts: true,
  },
  {
    name: 'a RestartAllContainers rule that lists the code',
    pod: 'Never',
    own: 'Never',
    rules: [rule('RestartAllContainers', 'In', 42)],
    exitCode: 42,
    restarts: true,
  },
  {
    name: 'a rule that does not list the code',
    pod: 'Never',
    own: 'Never',
    rules: [rule('Restart', 'In', 42)],
    exitCode: 1,
    restarts: false,
  },
  {
    name: 'NotIn matches what it does not list',
    pod: 'Never',
    own: 'Never',
    rules: [rule('Restart', 'NotIn', 42)],
    exitCode: 1,
    restarts: true,
  },
  {
    name: 'NotIn does not match what it lists',
    pod: 'Never',
    own: 'Never',
    rules: [rule('Restart', 'NotIn', 42)],
    exitCode: 42,
    restarts: false,
  },
  {
    name: 'an unknown operator matches nothing',
    pod: 'Never',
    own: 'Never',
    rules: [rule('Restart', 'Gt', 1)],
    exitCode: 1,
    restarts: false,
  },
  {
    name: 'a rule without exit codes matches nothing',
    pod: 'Never',
    own: 'Never',
    rules: [{ action: 'Restart' }],
    exitCode: 1,
    restarts: false,
  },
  {
    name: 'the first matching rule decides: an unknown action hands on to the policy',
    pod: 'Always',
    own: 'Never',
    rules: [rule('Explode', 'In', 1), rule('Restart', 'In', 1)],
    exitCode: 1,
    restarts: false,
  },
];

describe('containerShouldRestart', () => {
  it.each(cases)('$name', ({ pod, own, rules, exitCode, restarts }) => {
    const container: Container = { name: 'c', restartPolicy: own, restartPolicyRules: rules };
    expect(containerShouldRestart(container, { restartPolicy: pod }, exitCode)).toBe(restarts);
  });
});

describe('matchingRestartRule', () => {
  it('is the first that covers the exit code', () => {
    const restartPolicyRules = [rule('A', 'In', 2), rule('B', 'In', 1), rule('C', 'NotIn', 2)];
    expect(matchingRestartRule({ name: 'c', restartPolicyRules }, 1)?.action).toBe('B');
    expect(matchingRestartRule({ name: 'c', restartPolicyRules }, 3)?.action).toBe('C');
    expect(matchingRestartRule({ name: 'c' }, 1)).toBeUndefined();
  });
});

describe('hasRestartAllContainersRule', () => {
  const plain: Container = { name: 'a', restartPolicyRules: [rule('Restart', 'In', 1)] };
  const restartsAll: Container = {
    name: 'b',
    restartPolicyRules: [rule('Restart', 'In', 1), rule('RestartAllContainers', 'In', 2)],
  };

  it('looks at regular and init containers', () => {
    expect(hasRestartAllContainersRule({})).toBe(false);
    expect(hasRestartAllContainersRule({ containers: [plain], initContainers: [plain] })).toBe(false);
    expect(hasRestartAllContainersRule({ containers: [plain, restartsAll] })).toBe(true);
    expect(hasRestartAllContainersRule({ containers: [plain], initContainers: [restartsAll] })).toBe(true);
  });
});

describe('isRestartableInitContainer', () => {
  it.each([
    ['Always', true],
    ['OnFailure', false],
    [undefined, false],
  ] as const)('restartPolicy %s: %s', (restartPolicy, restartable) => {
    expect(isRestartableInitContainer({ name: 'i', restartPolicy })).toBe(restartable);
  });
});

it.each([
  ['In', undefined],
  ['NotIn', 'Restart'],
  ['Other', undefined],
])('a restart rule without values covers no exit code with In and each with NotIn: %s', (operator, action) => {
  const container = { name: 'c', restartPolicyRules: [{ action: 'Restart', exitCodes: { operator } }] };
  expect(matchingRestartRule(container as Container, 1)?.action).toBe(action);
});
