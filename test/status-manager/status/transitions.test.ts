import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { checkContainerStateTransition } from '../../../src/status-manager/status/transitions.ts';
import type { Container, PodSpec, PodStatus } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

type State = 'waiting' | 'running' | '{}' | 'absent' | number;
type List = 'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses';

/** A number is the exit code of a terminated container. */
function statusOf(list: List, state: State, name = 'c'): PodStatus {
  if (state === 'absent') return {};
  const states = { waiting: { waiting: {} }, running: { running: {} }, '{}': {} };
  const container = { name, state: typeof state === 'number' ? { terminated: { exitCode: state } } : states[state] };
  return deepFreeze(canonicalPodStatus({ [list]: [container] }, { strict: true }));
}

function specOf(restartPolicy: string | undefined, container: Partial<Container> = {}): PodSpec {
  const containers = [{ name: 'c', ...container }];
  return { containers, initContainers: containers, ...(restartPolicy !== undefined && { restartPolicy }) };
}

function isAllowed(list: List, from: State, to: State, spec: PodSpec): boolean {
  return checkContainerStateTransition(statusOf(list, from), statusOf(list, to), spec) === undefined;
}

const restart = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
const lists = ['containerStatuses', 'initContainerStatuses'] as const;

describe.each(lists)('checkContainerStateTransition: %s', (list) => {
  it.each<[string | undefined, State, State, boolean]>([
    ['Always', 0, 'running', true],
    ['Never', 0, 'running', false],
    ['Never', 1, 'running', false],
    ['Never', 0, 'waiting', false],
    ['Never', 0, '{}', false],
    ['Never', 0, 1, true],
    ['Never', 0, 'absent', true],
    ['Never', 'running', 'waiting', true],
    ['Never', 'absent', 'running', true],
    ['OnFailure', 0, 'running', false],
    ['OnFailure', 1, 'running', true],
    // A missing or unknown policy is not exactly Always, but restarts all the same.
    [undefined, 0, 'running', true],
    ['Sometimes', 0, 'running', true],
  ])('%s: from %s to %s is allowed: %s', (restartPolicy, from, to, expected) => {
    expect(isAllowed(list, from, to, specOf(restartPolicy))).toBe(expected);
  });

  it.each<[string, Partial<Container>, number, boolean]>([
    ['an own policy OnFailure', { restartPolicy: 'OnFailure' }, 1, true],
    ['an own policy OnFailure, success', { restartPolicy: 'OnFailure' }, 0, false],
    ['an own rule that matches', { restartPolicy: 'Never', restartPolicyRules: [restart] }, 42, true],
    ['an own rule that does not match', { restartPolicy: 'Never', restartPolicyRules: [restart] }, 1, false],
    ['a rule without own policy', { restartPolicyRules: [restart] }, 42, false],
  ])('Never in the pod, but %s in the container (exit code %s)', (_, container, exitCode, expected) => {
    expect(isAllowed(list, exitCode, 'running', specOf('Never', container))).toBe(expected);
  });

  it('is not checked in a pod with the policy Always, whatever policy the container has', () => {
    expect(isAllowed(list, 0, 'running', specOf('Always', { restartPolicy: 'Never' }))).toBe(true);
  });

  it('reads policy and state of the container itself, not of its neighbours', () => {
    const always = { name: 'other', restartPolicy: 'Always' };
    const both = (state: State) =>
      deepFreeze({ [list]: [...statusOf(list, 'running', 'other')[list]!, ...statusOf(list, state)[list]!] });
    const containers = [always, { name: 'c' }];
    const spec: PodSpec = { restartPolicy: 'Never', containers, initContainers: containers };
    expect(checkContainerStateTransition(both(0), both(0), spec)).toBeUndefined();
    expect(checkContainerStateTransition(both(0), both('running'), spec)?.container).toBe('c');
  });

  it('is checked when other containers have terminated, too', () => {
    const both = (state: State) =>
      deepFreeze({ [list]: [...statusOf(list, 0, 'other')[list]!, ...statusOf(list, state)[list]!] });
    const containers = [{ name: 'other' }, { name: 'c' }];
    const spec: PodSpec = { restartPolicy: 'Never', containers, initContainers: containers };
    expect(checkContainerStateTransition(both(0), both('running'), spec)?.container).toBe('c');
  });

  it('is not checked when any container may restart all of them', () => {
    const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } };
    const other = { name: 'other', restartPolicy: 'Never', restartPolicyRules: [rule] };
    const spec = specOf('Never');
    expect(isAllowed(list, 0, 'running', { ...spec, containers: [...spec.containers!, other] })).toBe(true);
    expect(isAllowed(list, 0, 'running', { ...spec, initContainers: [...spec.initContainers!, other] })).toBe(true);
  });
});

describe('checkContainerStateTransition', () => {
  it.each([
    ['containerStatuses', 'terminated container c attempted illegal transition to non-terminated state'],
    ['initContainerStatuses', 'terminated init container c attempted illegal transition to non-terminated state'],
  ] as const)('names the container and says what it is about: %s', (list, reason) => {
    expect(checkContainerStateTransition(statusOf(list, 0), statusOf(list, 'running'), specOf('Never'))).toEqual({
      reason,
      container: 'c',
    });
  });

  it('looks at regular containers first', () => {
    const both = (state: State) => ({
      ...statusOf('containerStatuses', state),
      ...statusOf('initContainerStatuses', state),
    });
    expect(checkContainerStateTransition(both(0), both('running'), specOf('Never'))?.reason).toMatch(
      /^terminated container/,
    );
  });

  it('does not look at ephemeral containers', () => {
    expect(isAllowed('ephemeralContainerStatuses', 0, 'running', specOf('Never'))).toBe(true);
  });

  it('a regular container that is not in the spec follows the pod’s policy', () => {
    const from = statusOf('containerStatuses', 1, 'unknown');
    const to = statusOf('containerStatuses', 'running', 'unknown');
    expect(checkContainerStateTransition(from, to, specOf('Never'))?.container).toBe('unknown');
    expect(checkContainerStateTransition(from, to, specOf('OnFailure'))).toBeUndefined();
  });

  it('a regular container of a pod without a list of containers follows the pod’s policy', () => {
    const [from, to] = [statusOf('containerStatuses', 0), statusOf('containerStatuses', 'running')];
    expect(checkContainerStateTransition(from, to, { restartPolicy: 'Never' })?.container).toBe('c');
  });

  it('exempts a sidecar, which may run again', () => {
    expect(isAllowed('initContainerStatuses', 0, 'running', specOf('Never', { restartPolicy: 'Always' }))).toBe(true);
  });

  it.each([
    ['another name', [{ name: 'other' }]],
    ['no init containers', []],
    ['no list', undefined],
  ])('refuses an init status that is not the spec’s at its position: %s', (_, initContainers) => {
    const status = statusOf('initContainerStatuses', 'running');
    const spec: PodSpec = { restartPolicy: 'Never', ...(initContainers && { initContainers }) };
    expect(checkContainerStateTransition(status, status, spec)).toEqual({
      reason: 'found mismatch between pod spec and status, container: c',
      container: 'c',
    });
    expect(checkContainerStateTransition({}, status, spec)).toBeUndefined();
  });
});
