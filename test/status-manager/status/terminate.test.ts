import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { hasPodInitialized, terminatedPodStatus } from '../../../src/status-manager/status/terminate.ts';
import type { ContainerStatusInput, Pod, PodStatus, PodStatusInput } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

const waiting = { waiting: {} };
const running = { running: {} };
const exited = (exitCode: number) => ({ terminated: { exitCode } });

function statusOf(input: PodStatusInput): PodStatus {
  return deepFreeze(canonicalPodStatus(input, { strict: true }));
}

function podWithInit(...restartPolicies: (string | undefined)[]): Pod {
  return {
    spec: {
      initContainers: restartPolicies.map((restartPolicy, i) => ({ name: `i${i}`, restartPolicy })),
      containers: [{ name: 'c' }],
    },
  };
}

describe('hasPodInitialized', () => {
  it('a pod without init containers has', () => {
    expect(hasPodInitialized({}, {})).toBe(true);
    expect(
      hasPodInitialized(
        { spec: { initContainers: [] } },
        statusOf({ containerStatuses: [{ name: 'c', state: waiting }] }),
      ),
    ).toBe(true);
  });

  it.each<[string, Omit<ContainerStatusInput, 'name'>, boolean]>([
    ['waiting', { state: waiting }, false],
    ['running', { state: running }, true],
    ['terminated', { state: exited(1) }, true],
    ['without a state', {}, true],
    ['waiting after a termination', { state: waiting, lastState: exited(1) }, true],
  ])('a regular container that is %s', (_, container, expected) => {
    expect(
      hasPodInitialized(podWithInit(undefined), statusOf({ containerStatuses: [{ name: 'c', ...container }] })),
    ).toBe(expected);
  });

  it.each<[string, string | undefined, Omit<ContainerStatusInput, 'name'>, boolean]>([
    ['waiting', undefined, { state: waiting }, false],
    ['running', undefined, { state: running }, false],
    ['failed', undefined, { state: exited(1) }, false],
    ['succeeded', undefined, { state: exited(0) }, true],
    ['running again after success', undefined, { state: running, lastState: exited(0) }, true],
    ['waiting after failure', undefined, { state: waiting, lastState: exited(1) }, false],
    ['a sidecar, running, not started', 'Always', { state: running }, false],
    ['a sidecar, running, started false', 'Always', { state: running, started: false }, false],
    ['a sidecar, running and started', 'Always', { state: running, started: true }, true],
    ['a sidecar, started, terminated', 'Always', { state: exited(0), started: true }, false],
  ])('the last init container is %s', (_, restartPolicy, container, expected) => {
    const status = statusOf({ initContainerStatuses: [{ name: 'i0', ...container }] });
    expect(hasPodInitialized(podWithInit(restartPolicy), status)).toBe(expected);
  });

  it('only the last init status counts, at its own position in the spec', () => {
    const done = { state: exited(0) };
    const pod = podWithInit(undefined, undefined);
    const initialized = (...initContainerStatuses: ContainerStatusInput[]) =>
      hasPodInitialized(pod, statusOf({ initContainerStatuses }));
    expect(initialized({ name: 'i0', ...done }, { name: 'i1', state: waiting })).toBe(false);
    expect(initialized({ name: 'i0', state: waiting }, { name: 'i1', ...done })).toBe(true);
    // Fewer statuses than the spec has containers.
    expect(initialized({ name: 'i0', ...done })).toBe(true);
    expect(initialized({ name: 'i1', ...done })).toBe(false);
    expect(initialized({ name: 'i0', ...done }, { name: 'i1', ...done }, { name: 'i2', ...done })).toBe(false);
    expect(initialized()).toBe(false);
  });
});

describe('terminatedPodStatus', () => {
  function terminate(pod: Pod, status: PodStatusInput, isStatic = false): PodStatus {
    return terminatedPodStatus(deepFreeze(pod), statusOf(status), statusOf(status), isStatic);
  }

  it('replaces the complete state and nothing else', () => {
    const container = {
      name: 'c',
      state: { waiting: { reason: 'r' }, 'x-new': 1 },
      lastState: exited(3),
      ready: true,
      started: true,
      restartCount: 2,
      containerID: 'id',
    };
    const before = statusOf({ containerStatuses: [container] }).containerStatuses![0]!;
    const after = terminate({}, { containerStatuses: [container] }).containerStatuses![0]!;
    expect(after).toEqual({
      ...before,
      state: {
        terminated: {
          exitCode: 137,
          reason: 'ContainerStatusUnknown',
          message: 'The container could not be located when the pod was terminated',
          startedAt: null,
          finishedAt: null,
        },
      },
    });
  });

  it.each<[string, ContainerStatusInput['state'][], number[]]>([
    ['all waiting: the first', [waiting, waiting], [0]],
    ['one that ran, and those before it', [waiting, running, waiting], [0, 1]],
    ['none', [], []],
    ['one without a state counts', [waiting, {}], [0, 1]],
  ])('init containers: %s', (_, states, expected) => {
    const initContainerStatuses = states.map((state, i) => ({ name: `i${i}`, state }));
    const after = terminate(podWithInit(undefined, undefined, undefined), { initContainerStatuses });
    const terminated = (after.initContainerStatuses ?? []).flatMap(({ state }, i) => (state.terminated ? [i] : []));
    expect(terminated).toEqual(expected);
  });

  it('keeps the termination that a container has', () => {
    const [containers, initContainers] = [[{ name: 'c', state: exited(3) }], [{ name: 'i0', state: exited(0) }]];
    const status = statusOf({ containerStatuses: containers, initContainerStatuses: initContainers });
    const after = terminate(podWithInit(undefined), {
      containerStatuses: containers,
      initContainerStatuses: initContainers,
    });
    expect(after.containerStatuses).toEqual(status.containerStatuses);
    expect(after.initContainerStatuses).toEqual(status.initContainerStatuses);
  });

  it('counts an init container that waits after a termination as one that ran', () => {
    const after = terminate(podWithInit(undefined, undefined), {
      initContainerStatuses: [
        { name: 'i0', state: exited(0) },
        { name: 'i1', state: waiting, lastState: exited(1) },
      ],
    });
    expect(after.initContainerStatuses?.map(({ state }) => state.terminated?.exitCode)).toEqual([0, 137]);
  });

  it('terminates init containers also of a pod that has not initialised, and leaves its regular ones', () => {
    const after = terminate(podWithInit(undefined), {
      initContainerStatuses: [{ name: 'i0', state: waiting }],
      containerStatuses: [{ name: 'c', state: waiting }],
    });
    expect(after.initContainerStatuses?.[0]?.state.terminated?.exitCode).toBe(137);
    expect(after.containerStatuses?.[0]?.state).toEqual(waiting);
  });

  it('does not touch ephemeral containers', () => {
    const after = terminate({}, { ephemeralContainerStatuses: [{ name: 'e', state: running }] });
    expect(after.ephemeralContainerStatuses?.[0]?.state.running).toBeDefined();
  });

  it.each([
    ['Running', false, 'Failed'],
    [undefined, false, 'Failed'],
    ['Succeeded', false, 'Succeeded'],
    ['Running', true, 'Running'],
    [undefined, true, undefined],
  ])('phase %s, static %s: %s', (phase, isStatic, expected) => {
    expect(terminate({}, { phase }, isStatic).phase).toBe(expected);
  });
});
