import { describe, expect, test } from 'vitest';
import type { Json } from '../../support/kube-http.ts';
import { Random } from '../random.ts';
import { checkHistory, differenceToRuntime, RunLog } from './node-invariants.ts';
import type { RuntimeSnapshot, SeenContainer } from './runtime-snapshot.ts';
import { makeNodePod } from './workload.ts';

const running: SeenContainer = {
  id: 'one',
  podUID: 'uid',
  name: 'app',
  attempt: 0,
  state: 'running',
  createdAt: 1,
};

const snapshot = (containers: readonly SeenContainer[], ready = true): RuntimeSnapshot => ({
  sandboxes: [{ id: 'sandbox', podUID: 'uid', ready }],
  containers,
});

const shown = (state: Json, more: Json = {}): Json => ({
  name: 'app',
  containerID: 'containerd://one',
  restartCount: 0,
  ready: state.running !== undefined,
  state,
  ...more,
});

const pod = (status: Json, { kind = 'fails-twice', ...metadata }: Json = {}): Json => ({
  metadata: { name: 'pod', uid: 'uid', labels: { 'chaos.example.com/kind': kind }, ...metadata },
  spec: { containers: [{ name: 'app' }] },
  status: { phase: 'Running', ...status },
});

const runningPod = pod({ containerStatuses: [shown({ running: {} })] });
const ended = (exitCode: number, containerID = 'containerd://one'): Json => ({
  terminated: { exitCode, containerID },
});

describe('differenceToRuntime', () => {
  test('a pod whose status is what containerd has shows no difference', () => {
    expect(differenceToRuntime(runningPod, snapshot([running]), false)).toBeUndefined();
  });

  test.each<[string, Json, RuntimeSnapshot, string]>([
    [
      'a pod that is being deleted',
      pod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      snapshot([running]),
      'is still there',
    ],
    [
      'a container that runs twice',
      runningPod,
      snapshot([running, { ...running, id: 'two', attempt: 1 }]),
      'app: runs twice',
    ],
    ['another run', runningPod, snapshot([{ ...running, id: 'two' }]), 'app: one is shown as running, but two runs'],
    [
      'another number of restarts',
      runningPod,
      snapshot([{ ...running, attempt: 2 }]),
      'app: 0 restarts are shown of 2',
    ],
    ['a container that does not run', runningPod, snapshot([]), 'app: is ready, but does not run'],
    [
      'a container that runs unseen',
      pod({ containerStatuses: [shown({ waiting: {} })] }),
      snapshot([running]),
      'app: runs, but is shown as {"waiting":{}}',
    ],
    ['a container without a sandbox', runningPod, snapshot([running], false), 'has 0 sandboxes'],
    [
      'another exit code',
      pod({ containerStatuses: [shown(ended(0))] }),
      snapshot([{ ...running, state: 'exited', exitCode: 3 }]),
      'app: ended with 3, but 0 is shown',
    ],
    [
      'the end of an earlier run',
      pod({ containerStatuses: [shown(ended(0, 'containerd://zero'))] }),
      snapshot([{ ...running, state: 'exited', exitCode: 0 }]),
      'app: one has ended, but zero is shown',
    ],
    [
      'a pod that has ended with its sandbox',
      pod({ phase: 'Failed', containerStatuses: [shown(ended(1))] }),
      snapshot([]),
      'is Failed, but has a sandbox',
    ],
    [
      'a pod that stays where it is',
      pod({ phase: 'Pending' }, { kind: 'runs' }),
      snapshot([]),
      'is Pending, which is not the state of runs',
    ],
  ])('%s is a difference', (_, pod, snapshot, difference) => {
    expect(differenceToRuntime(pod, snapshot, false)).toBe(difference);
  });

  test('a pod that may have been evicted may have ended', () => {
    const evicted = pod({ phase: 'Failed', reason: 'Evicted' }, { kind: 'runs' });
    expect(differenceToRuntime(evicted, snapshot([], false), true)).toBeUndefined();
    expect(differenceToRuntime(evicted, snapshot([], false), false)).toBe('is Failed, which is not the state of runs');
  });
});

test('a job whose exit code containerd has lost may have failed', () => {
  const job = (exitCode: number): Json => ({
    ...pod({ phase: 'Failed', containerStatuses: [shown(ended(exitCode))] }, { kind: 'job' }),
    spec: { restartPolicy: 'Never', containers: [{ name: 'app' }] },
  });
  const exited = (exitCode: number): RuntimeSnapshot => snapshot([{ ...running, state: 'exited', exitCode }], false);
  expect(differenceToRuntime(job(255), exited(255), false)).toBeUndefined();
  expect(differenceToRuntime(job(137), exited(137), false)).toBe('is Failed, which is not the state of job');
});

describe('checkHistory', () => {
  const history = (...statuses: Json[]): Parameters<typeof checkHistory>[0] =>
    statuses.map((status, i) => ({
      type: 'MODIFIED',
      resourceVersion: i,
      pod: pod({ containerStatuses: [status] }),
    }));

  test('restarts that only grow and containers that are ready while they run are no violation', () => {
    const states = [shown({ waiting: {} }), shown({ running: {} }), shown({ running: {} }, { restartCount: 1 })];
    expect(checkHistory(history(...states))).toEqual([]);
  });

  test('a restart that is taken back is a violation', () => {
    const found = checkHistory(history(shown({ running: {} }, { restartCount: 2 }), shown({ running: {} })));
    expect(found.map(({ invariant }) => invariant)).toEqual(['restart counts only grow']);
  });

  test('a container that is ready without running is a violation', () => {
    const found = checkHistory(history(shown(ended(1), { ready: true })));
    expect(found.map(({ invariant }) => invariant)).toEqual(['ready containers run']);
  });
});

describe('RunLog', () => {
  test('two running containers of one name are a violation, which is reported once', () => {
    const log = new RunLog();
    const twice = snapshot([running, { ...running, id: 'two', attempt: 1 }]);
    log.add(twice);
    log.add(twice);
    expect(log.violations.map(({ invariant }) => invariant)).toEqual(['no container runs twice']);
    expect(log.runs).toBe(2);
  });

  test('two containers with the number of one run are a violation', () => {
    const log = new RunLog();
    log.add(snapshot([{ ...running, state: 'exited' }]));
    log.add(snapshot([{ ...running, id: 'two' }]));
    expect(log.violations.map(({ invariant }) => invariant)).toEqual(['a run has one container']);
  });
});

test('the same seed makes the same pods', () => {
  const pods = [1, 2].map(() => makeNodePod('pod', new Random('seed')));
  expect(pods[0]).toEqual(pods[1]);
});
