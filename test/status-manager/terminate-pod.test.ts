import { describe, expect, it } from 'vitest';
import type {
  ContainerState,
  ContainerStatusInput,
  Pod,
  PodStatus,
  PodStatusInput,
} from '../../src/kube/objects/types.ts';
import { getStaticPod, getTestPod, startTime, TestManager, testPodUID } from './fixture.ts';

const unknownTermination: ContainerState = {
  terminated: {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
    startedAt: null,
    finishedAt: null,
  },
};

function terminated(reason: string, exitCode: number): ContainerState {
  return { terminated: { exitCode, reason, startedAt: null, finishedAt: null } };
}

function statesOf(statuses: PodStatus['containerStatuses']): ContainerState[] | undefined {
  return statuses?.map(({ state }) => state);
}

/** Sets the status, then terminates with a pod object that still says Running. */
function terminate(status: PodStatusInput): PodStatus {
  const t = new TestManager();
  const spec = { restartPolicy: 'Always' };
  t.manager.setPodStatus(getTestPod({ spec }), { message: 'first', phase: 'Failed', ...status });
  t.manager.terminatePod(getTestPod({ spec, status: { phase: 'Running', message: 'stale' } }));
  expect(t.status()).toMatchObject({ phase: 'Failed', message: 'first' });
  return t.status();
}

describe('TestTerminatePod', () => {
  it('terminates containers without a termination, keeps those with one, and keeps the cached phase and message', () => {
    const status = terminate({
      initContainerStatuses: [
        { name: 'init-test-1' },
        { name: 'init-test-2', state: terminated('InitTest', 0) },
        { name: 'init-test-3', state: terminated('InitTest', 3) },
      ],
      containerStatuses: [
        { name: 'test-1' },
        { name: 'test-2', state: terminated('Test', 2) },
        { name: 'test-3', state: terminated('Test', 0) },
      ],
    });
    expect(statesOf(status.initContainerStatuses)).toEqual([
      unknownTermination,
      terminated('InitTest', 0),
      terminated('InitTest', 3),
    ]);
    expect(statesOf(status.containerStatuses)).toEqual([
      unknownTermination,
      terminated('Test', 2),
      terminated('Test', 0),
    ]);
  });
});

describe('TestTerminatePodWaiting', () => {
  it('init containers after the last one that ran stay waiting', () => {
    const status = terminate({
      initContainerStatuses: [
        { name: 'init-test-1' },
        { name: 'init-test-2', state: terminated('InitTest', 0) },
        { name: 'init-test-3', state: { waiting: { reason: 'InitTest' } } },
      ],
      containerStatuses: [
        { name: 'test-1' },
        { name: 'test-2', state: terminated('Test', 2) },
        { name: 'test-3', state: { waiting: { reason: 'Test' } } },
      ],
    });
    expect(statesOf(status.initContainerStatuses)).toEqual([
      unknownTermination,
      terminated('InitTest', 0),
      { waiting: { reason: 'InitTest' } },
    ]);
    expect(statesOf(status.containerStatuses)).toEqual([unknownTermination, terminated('Test', 2), unknownTermination]);
  });
});

describe('TestTerminatePod_DefaultUnknownStatus', () => {
  const waiting = { waiting: {} };
  const running = { running: {} };
  const exited = (exitCode: number) => ({ terminated: { exitCode } });
  type States = readonly (Omit<ContainerStatusInput, 'name'> | ContainerStatusInput['state'])[];

  /** `137` stands for the unknown termination, other numbers for a termination that was there. */
  type Expected = readonly (number | 'waiting')[];

  function statuses(prefix: string, states: States): ContainerStatusInput[] {
    return states.map((state, i) => ({
      name: `${prefix}${i}`,
      ...(state && ('state' in state || 'lastState' in state) ? state : { state: state as ContainerState }),
    }));
  }

  function newPod(initStates: States, states: States): Pod {
    const initContainerStatuses = statuses('init-', initStates);
    const containerStatuses = statuses('', states);
    return getTestPod({
      spec: {
        restartPolicy: 'Never',
        initContainers: initContainerStatuses.map(({ name }) => ({ name: name! })),
        containers: containerStatuses.map(({ name }) => ({ name: name! })),
      },
      status: { phase: 'Running', startTime, initContainerStatuses, containerStatuses },
    });
  }

  function terminatedStatus(pod: Pod): PodStatus {
    const t = new TestManager();
    t.manager.setPodStatus(pod, pod.status!);
    t.manager.terminatePod(pod);
    return t.status();
  }

  function shown(list: PodStatus['containerStatuses']): Expected | undefined {
    return list?.map(({ state: { waiting, running, terminated } }) => {
      expect([waiting, running, terminated].filter((set) => set !== undefined)).toHaveLength(1);
      if (terminated?.exitCode === 137) expect({ terminated }).toEqual(unknownTermination);
      return terminated?.exitCode ?? 'waiting';
    });
  }

  it('leaves a Failed pod without container statuses as it is', () => {
    const pod = getTestPod({ spec: { containers: [{ name: '0' }] }, status: { phase: 'Failed', startTime } });
    expect(terminatedStatus(pod)).toEqual(pod.status);
  });

  it('makes a Running pod Failed, with and without container statuses', () => {
    const pod = getTestPod({ spec: { containers: [{ name: '0' }] }, status: { phase: 'Running', startTime } });
    expect(terminatedStatus(pod)).toEqual({ phase: 'Failed', startTime });
    expect(terminatedStatus(newPod([], [exited(2)])).phase).toBe('Failed');
  });

  it.each<[string, States, States, Expected, Expected]>([
    ['last termination state set', [], [{ lastState: exited(2), state: waiting }], [], [137]],
    ['no previous state', [], [waiting], [], [137]],
    ['uninitialized pod defaults the first init container', [waiting], [waiting], [137], ['waiting']],
    [
      'uninitialized pod defaults only the first init container',
      [waiting, waiting],
      [waiting],
      [137, 'waiting'],
      ['waiting'],
    ],
    [
      'uninitialized pod defaults gaps',
      [waiting, waiting, exited(1), waiting],
      [waiting],
      [137, 137, 1, 'waiting'],
      ['waiting'],
    ],
    ['failed last container is uninitialized', [waiting, waiting, exited(1)], [waiting], [137, 137, 1], ['waiting']],
    ['successful last container is initialized', [waiting, waiting, exited(0)], [waiting], [137, 137, 0], [137]],
    [
      'successful last previous container is initialized, and container state is overwritten',
      [waiting, waiting, { lastState: exited(0), state: waiting }],
      [waiting],
      [137, 137, 137],
      [137],
    ],
    ['running container proves initialization', [waiting], [running], [137], [137]],
    ['evidence of terminated container proves initialization', [waiting], [exited(0)], [137], [0]],
    [
      'evidence of previously terminated container proves initialization',
      [waiting],
      [{ lastState: exited(0) }],
      [137],
      [137],
    ],
  ])('%s', (_, initStates, states, expectedInit, expected) => {
    const pod = newPod(initStates, states);
    const status = terminatedStatus(pod);
    expect(shown(status.initContainerStatuses) ?? []).toEqual(expectedInit);
    expect(shown(status.containerStatuses)).toEqual(expected);
    // The last states stay.
    expect(status.containerStatuses?.map(({ lastState }) => lastState.terminated?.exitCode)).toEqual(
      pod.status?.containerStatuses?.map(({ lastState }) => lastState?.terminated?.exitCode),
    );
  });
});

describe('TestTerminatePod_EnsurePodPhaseIsTerminal', () => {
  it.each([
    ['Pending pod', 'Pending', 'Failed', false],
    ['Running pod', 'Running', 'Failed', false],
    ['Succeeded pod', 'Succeeded', 'Succeeded', false],
    ['Failed pod', 'Failed', 'Failed', false],
    ['Unknown pod', 'Unknown', 'Failed', true],
    ['Unknown phase pod', 'SomeUnknownPhase', 'Failed', true],
  ])('%s', (_, phase, expected, isLogged) => {
    const t = new TestManager();
    t.manager.terminatePod(getTestPod({ status: { phase } }));
    expect(t.status()).toEqual({ phase: expected, startTime });
    expect(t.logged.some(({ level }) => level === 'error')).toBe(isLogged);
  });
});

describe('terminatePod', () => {
  it('leaves the phase of a static pod', () => {
    const t = new TestManager();
    t.manager.terminatePod({ ...getStaticPod().staticPod, status: { phase: 'Running' } });
    expect(t.status().phase).toBe('Running');
  });

  it('accepts a static pod that has no phase yet', () => {
    const t = new TestManager();
    t.manager.terminatePod(getStaticPod().staticPod);
    expect(t.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('marks the pod finished, which stays when a status is set later', () => {
    const t = new TestManager();
    t.manager.terminatePod(getTestPod());
    expect(t.manager.inspect().pods[0]).toMatchObject({ podIsFinished: true, version: 1 });
    t.manager.setPodStatus(getTestPod(), t.newStatus({ phase: 'Failed' }));
    expect(t.manager.inspect().pods[0]).toMatchObject({ podIsFinished: true, version: 2 });
  });

  it('a static pod does not stay finished: it may be started again', () => {
    const t = new TestManager();
    const { staticPod } = getStaticPod();
    t.manager.terminatePod(staticPod);
    expect(t.manager.inspect().pods[0]?.podIsFinished).toBe(true);
    t.manager.setPodStatus(staticPod, t.newStatus());
    expect(t.manager.inspect().pods[0]?.podIsFinished).toBe(false);
  });

  it('stores a new version even when nothing differs', () => {
    const t = new TestManager();
    t.manager.terminatePod(getTestPod());
    expect(t.manager.terminatePod(getTestPod()).changed).toBe(true);
    expect(t.version()).toBe(2);
  });

  it('decides by the pod’s own status whether it is initialized, not by the cached one', () => {
    const spec = { initContainers: [{ name: 'i' }], containers: [{ name: 'c' }], restartPolicy: 'Never' };
    const t = new TestManager();
    const pod = getTestPod({ spec });
    t.manager.setPodStatus(pod, { containerStatuses: [{ name: 'c', state: { running: {} } }] });
    t.manager.terminatePod(pod);
    expect(t.manager.getPodStatus(testPodUID)?.containerStatuses?.[0]?.state).toEqual({ running: { startedAt: null } });
  });
});
