import { beforeEach, describe, expect, it } from 'vitest';
import { type AllocationState, type Container, type Pod, type ValidPod, StatusManager } from 'kubelet-status-manager';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import type { PodAdmitAttributes, PodAdmitResult, PodEvent } from 'kubelet-status-manager/agent';
import { AllocationManager, type AllocationManagerOptions } from '../../../src/node/allocation/allocation-manager.ts';
import {
  FakeClock,
  FakePodClient,
  recordingLogger,
  settle,
  silentLogger,
  SyncedPodManager,
} from 'kubelet-status-manager/testing';

type Requests = Readonly<Record<string, string>>;

const podOf = (
  name: string,
  requests: Requests,
  rest: { priority?: number; limits?: Requests; uid?: string } = {},
): ValidPod => ({
  metadata: { uid: rest.uid ?? name, name, namespace: 'ns', generation: 1 },
  spec: {
    ...(rest.priority !== undefined && { priority: rest.priority }),
    containers: [{ name: 'app', resources: { requests, ...(rest.limits && { limits: rest.limits }) } }],
  },
});
const resized = (pod: ValidPod, requests: Requests, generation = 2): ValidPod => ({
  ...pod,
  metadata: { ...pod.metadata, generation },
  spec: { ...pod.spec, containers: [{ name: 'app', resources: { ...pod.spec!.containers![0]!.resources, requests } }] },
});
const admitted: PodAdmitResult = { admit: true };
const deferred: PodAdmitResult = { admit: false, reason: 'Deferred', message: 'no room' };
const infeasible: PodAdmitResult = { admit: false, reason: 'Infeasible', message: 'too large' };

let clock: FakeClock;
let client: FakePodClient;
let statusManager: StatusManager;
let state: AllocationState;
let pods: Map<string, ValidPod>;
let events: PodEvent[];
let synced: string[];
let asked: PodAdmitAttributes[];
let answer: (attributes: PodAdmitAttributes) => PodAdmitResult;
let allReady: boolean;
let manager: AllocationManager;

const managerWith = (options: Partial<AllocationManagerOptions> = {}): AllocationManager =>
  new AllocationManager({
    runtime: { updateContainerResources: async () => {} },
    statusManager,
    allocationState: state,
    admitHandlers: [
      {
        admit: (attributes) => {
          asked.push(attributes);
          return answer(attributes);
        },
      },
    ],
    getActivePods: () => [...pods.values()],
    getPodByUID: (uid) => pods.get(uid),
    allSourcesReady: () => allReady,
    triggerPodSync: ({ metadata }) => void synced.push(metadata.name),
    clock,
    logger: silentLogger,
    eventRecorder: { event: (event) => void events.push(event) },
    ...options,
  });

beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  client = new FakePodClient([], { clock });
  statusManager = new StatusManager({
    client,
    podManager: new SyncedPodManager(client),
    podDeletionSafety: { podCouldHaveRunningContainers: () => true },
    clock,
    logger: silentLogger,
  });
  state = new MemoryState();
  pods = new Map();
  events = [];
  synced = [];
  asked = [];
  answer = () => admitted;
  allReady = true;
  manager = managerWith();
});

const put = (pod: ValidPod): ValidPod => {
  pods.set(pod.metadata.uid, pod);
  return pod;
};
const add = (pod: ValidPod): PodAdmitResult => manager.addPod([...pods.values()], put(pod));
const update = (pod: ValidPod): void => {
  const oldPod = pods.get(pod.metadata.uid);
  manager.podUpdated(oldPod, put(pod));
};
const allocatedCpu = (uid: string) => state.getContainerResourceAllocation(uid, 'app')?.requests?.['cpu'];
const conditions = (uid: string) =>
  statusManager.getPodResizeConditions(uid).map(({ type, reason, message, observedGeneration }) => ({
    type,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    observedGeneration,
  }));
const eventReasons = () => events.map(({ type, reason }) => `${type} ${reason}`);

describe('TestUpdatePodFromAllocation', () => {
  it('returns a pod unchanged if it has no allocation or its allocation matches the spec', () => {
    const pod = podOf('a', { cpu: '1000m' });
    expect(manager.updatePodFromAllocation(pod)).toEqual({ pod, updated: false });
    add(pod);
    const same = podOf('a', { cpu: '1' });
    expect(manager.updatePodFromAllocation(same).pod).toBe(same);
  });

  it('leaves a container that has no allocation as it is', async () => {
    const containers = (cpu: string) => [
      { name: 'new', resources: { requests: { cpu: '7' } } },
      { name: 'app', resources: { requests: { cpu } } },
    ];
    const podWith = (list: object[]): ValidPod => ({ ...podOf('a', {}), spec: { containers: list as Container[] } });
    await state.setPodAllocation(podWith(containers('1').slice(1)));
    expect(manager.hasPodAllocatedResources(podWith(containers('2')))).toBe(true);
    expect(manager.updatePodFromAllocation(podWith(containers('2'))).pod.spec?.containers).toEqual(containers('1'));
    expect(manager.updatePodFromAllocation(podWith(containers('1'))).updated).toBe(false);
    const { metadata } = podOf('a', {});
    expect(manager.updatePodFromAllocation({ metadata })).toEqual({ pod: { metadata }, updated: false });
  });

  it('replaces the resources of all containers by the allocated ones if the spec differs', async () => {
    const containers = (cpu: string) => [{ name: 'app', resources: { requests: { cpu } } }, { name: 'bare' }];
    const initContainers = (cpu: string) => [
      { name: 'init', resources: { requests: { cpu } } },
      { name: 'sidecar', restartPolicy: 'Always', resources: { limits: { cpu } } },
    ];
    const pod = (cpu: string): ValidPod => ({
      metadata: { uid: 'a', name: 'web', namespace: 'ns' },
      spec: { containers: containers(cpu), initContainers: initContainers(cpu), resources: { limits: { cpu } } },
    });
    await state.setPodAllocation(pod('1'));
    const wanted = pod('2');
    expect(manager.updatePodFromAllocation(wanted)).toEqual({ pod: pod('1'), updated: true });
    expect(wanted).toEqual(pod('2'));
  });
});

describe('TestAllocationManagerAddPod', () => {
  it('an admitted pod is allocated the resources in its spec', () => {
    expect(add(podOf('a', { cpu: '1' }))).toEqual(admitted);
    expect(allocatedCpu('a')).toBe('1');
    expect(asked).toMatchObject([{ operation: 'add', otherPods: [] }]);
  });

  it('without a record of an earlier agent, a pod is admitted with the resources of its status', () => {
    const showing = (cpu: string) => ({
      containerStatuses: [
        { name: 'app', allocatedResources: { cpu }, resources: { requests: { cpu } }, state: { running: {} } },
      ],
    });
    add({ ...podOf('a', { cpu: '2' }), status: showing('1') });
    expect(allocatedCpu('a')).toBe('1');
    // What the status manager knows is newer than the pod's own.
    const pod = podOf('b', { cpu: '3' });
    statusManager.setPodStatus(pod, { phase: 'Running', ...showing('2') });
    add({ ...pod, status: showing('1') });
    expect(allocatedCpu('b')).toBe('2');
  });

  it('a pod that is refused is allocated nothing', () => {
    answer = () => ({ admit: false, reason: 'OutOfcpu', message: 'no cpu' });
    expect(add(podOf('a', { cpu: '1' }))).toEqual({ admit: false, reason: 'OutOfcpu', message: 'no cpu' });
    expect(manager.hasPodAllocatedResources(podOf('a', {}))).toBe(false);
  });

  it('after a restart, a pod is admitted with its allocated resources', async () => {
    await state.setPodAllocation(podOf('a', { cpu: '1' }));
    add(podOf('a', { cpu: '2' }));
    expect(asked[0]?.pod.spec?.containers?.[0]?.resources).toEqual({ requests: { cpu: '1' } });
    expect(allocatedCpu('a')).toBe('1');
  });

  it('a handler that throws refuses the pod, and later handlers are not called', () => {
    manager = managerWith({
      admitHandlers: [
        {
          admit: () => {
            throw new Error('broken');
          },
        },
        { admit: () => expect.unreachable() },
      ],
    });
    expect(add(podOf('a', {}))).toEqual({ admit: false, reason: 'UnexpectedAdmissionError', message: 'broken' });
  });
});

it('the first handler that refuses decides, and the refusal is logged', () => {
  const logger = recordingLogger();
  const refusing = (reason: string) => ({ admit: () => ({ admit: false, reason, message: `no ${reason}` }) as const });
  const admitHandlers = [{ admit: () => admitted }, refusing('first'), refusing('second')];
  manager = managerWith({ logger, admitHandlers });
  expect(add(podOf('a', {}))).toEqual({ admit: false, reason: 'first', message: 'no first' });
  expect(logger.lines).toMatchObject([
    {
      level: 'info',
      message: 'Pod admission denied',
      fields: { pod: 'ns/a', operation: 'add', reason: 'first', message: 'no first' },
    },
  ]);
});

it('a handler that refuses without saying why has the reason UnexpectedAdmissionError', () => {
  manager = managerWith({ admitHandlers: [{ admit: () => ({ admit: false }) as never }] });
  expect(add(podOf('a', {}))).toEqual({ admit: false, reason: 'UnexpectedAdmissionError', message: '' });
});

it('a handler that returns an invalid result refuses the pod', () => {
  manager = managerWith({ admitHandlers: [{ admit: () => undefined as never }] });
  expect(add(podOf('a', {}))).toEqual({
    admit: false,
    reason: 'UnexpectedAdmissionError',
    message: 'A pod admit handler did not return a PodAdmitResult',
  });
});

describe('TestNonAllocatedPodsExcludedFromCapacity', () => {
  it('only other pods with an allocation count, with their allocated resources', () => {
    add(podOf('a', { cpu: '1' }));
    put(podOf('b', { cpu: '7' }));
    put(podOf('a', { cpu: '5' }));
    add(podOf('c', { cpu: '1' }));
    expect(asked.at(-1)?.otherPods).toEqual([podOf('a', { cpu: '1' })]);
  });
});

describe('TestRetryPendingResizes', () => {
  const pod = podOf('a', { cpu: '1' });
  beforeEach(() => void add(pod));

  it('a resize that fits is allocated and in progress, and the pod is synced', () => {
    update(resized(pod, { cpu: '2' }));
    expect(allocatedCpu('a')).toBe('2');
    expect(conditions('a')).toEqual([{ type: 'PodResizeInProgress', observedGeneration: 2 }]);
    expect(synced).toEqual(['a']);
    expect(manager.pendingResizes).toEqual([]);
    expect(asked.at(-1)).toMatchObject({ operation: 'resize', otherPods: [] });
    expect(events).toMatchObject([
      {
        type: 'Normal',
        reason: 'ResizeStarted',
        message:
          'Pod resize started: {"containers":[{"name":"app","resources":{"requests":{"cpu":"2"}}}],"generation":2}',
      },
    ]);
  });

  it('a deferred resize stays pending, is reported once, and is accepted when there is room', () => {
    answer = () => deferred;
    update(resized(pod, { cpu: '2' }));
    expect(conditions('a')).toEqual([
      { type: 'PodResizePending', reason: 'Deferred', message: 'no room', observedGeneration: 2 },
    ]);
    manager.retryPendingResizes();
    expect(manager.pendingResizes).toEqual(['a']);
    expect(synced).toEqual(['a']);
    expect(events).toMatchObject([
      {
        type: 'Warning',
        reason: 'ResizeDeferred',
        message:
          'Pod resize Deferred: {"containers":[{"name":"app","resources":{"requests":{"cpu":"2"}}}],"generation":2,"error":"no room"}',
      },
    ]);
    answer = () => admitted;
    manager.retryPendingResizes();
    expect(conditions('a')).toEqual([{ type: 'PodResizeInProgress', observedGeneration: 2 }]);
    expect(allocatedCpu('a')).toBe('2');
  });

  it('a message that has changed is a sync, but no further event, and the pod is queued once', () => {
    answer = () => deferred;
    update(resized(pod, { cpu: '2' }));
    manager.pushPendingResize('a');
    manager.pushPendingResize('unknown');
    expect(manager.pendingResizes).toEqual(['a']);
    answer = () => ({ ...deferred, message: 'still no room' });
    manager.retryPendingResizes();
    expect(synced).toEqual(['a', 'a']);
    expect(eventReasons()).toEqual(['Warning ResizeDeferred']);
  });

  it('an infeasible resize is not retried until the spec changes', () => {
    answer = () => infeasible;
    update(resized(pod, { cpu: '2' }));
    expect(conditions('a')).toMatchObject([{ type: 'PodResizePending', reason: 'Infeasible', message: 'too large' }]);
    expect(manager.pendingResizes).toEqual([]);
    expect(eventReasons()).toEqual(['Warning ResizeInfeasible']);
    answer = () => admitted;
    update(resized(pod, { cpu: '1500m' }, 3));
    expect(conditions('a')).toEqual([{ type: 'PodResizeInProgress', observedGeneration: 3 }]);
  });

  it('a pending resize that is reverted is no longer pending', () => {
    answer = () => deferred;
    update(resized(pod, { cpu: '2' }));
    update(resized(pod, { cpu: '1' }, 3));
    expect(conditions('a')).toEqual([]);
    manager.retryPendingResizes();
    expect(manager.pendingResizes).toEqual([]);
  });

  it('a pod that is gone is no longer pending', () => {
    answer = () => deferred;
    update(resized(pod, { cpu: '2' }));
    pods.clear();
    manager.retryPendingResizes();
    expect(manager.pendingResizes).toEqual([]);
  });

  it('TestRetryPendingResizesMultipleConditions: a second resize while one is in progress', () => {
    update(resized(pod, { cpu: '2' }));
    statusManager.setPodResizeInProgressCondition('a', 'Error', 'no', 2);
    answer = () => deferred;
    update(resized(pod, { cpu: '3' }, 3));
    expect(conditions('a')).toEqual([
      { type: 'PodResizePending', reason: 'Deferred', message: 'no room', observedGeneration: 3 },
      { type: 'PodResizeInProgress', reason: 'Error', message: 'no', observedGeneration: 2 },
    ]);
    answer = () => admitted;
    manager.retryPendingResizes();
    expect(conditions('a')).toEqual([{ type: 'PodResizeInProgress', observedGeneration: 3 }]);
  });

  it('a resize is Infeasible if the runtime cannot resize, and no handler is called', () => {
    manager = managerWith({ runtime: {} });
    asked = [];
    update(resized(pod, { cpu: '2' }));
    expect(conditions('a')).toMatchObject([
      { reason: 'Infeasible', message: expect.stringContaining('cannot change the resources of a running container') },
    ]);
    expect(asked).toEqual([]);
    expect(allocatedCpu('a')).toBe('1');
  });

  it('a resize of pod-level resources is Infeasible if the runtime cannot, and is allocated if it can', () => {
    manager = managerWith({ runtime: { updateContainerResources: async () => {} } });
    update({ ...pod, spec: { ...pod.spec, resources: { limits: { cpu: '4' } } } });
    expect(conditions('a')).toMatchObject([
      { reason: 'Infeasible', message: 'In-place pod-level resources resize is not supported on this node' },
    ]);
    manager = managerWith({
      runtime: { updateContainerResources: async () => {}, updatePodResources: async () => {} },
    });
    manager.pushPendingResize('a');
    manager.retryPendingResizes();
    expect(conditions('a')).toMatchObject([{ type: 'PodResizeInProgress' }]);
    expect(state.getPodLevelResourceAllocation('a')).toEqual({ limits: { cpu: '4' } });
  });

  it('while the checkpoint cannot be written, the resize continues and stays pending; its failure and recovery are logged once', async () => {
    const logger = recordingLogger();
    const failing = new MemoryState();
    const write = failing.setPodAllocation.bind(failing);
    let isFull = true;
    let saved: Pod | undefined;
    failing.setPodAllocation = async (allocated) => {
      await write(allocated);
      if (isFull) throw new Error('disk full');
      saved = allocated;
    };
    await write(pod);
    manager = managerWith({ allocationState: failing, logger });
    update(resized(pod, { cpu: '2' }));
    expect(conditions('a')).toMatchObject([{ type: 'PodResizeInProgress' }]);
    await settle(clock);
    expect(manager.pendingResizes).toEqual(['a']);
    manager.retryPendingResizes();
    await settle(clock);
    expect(manager.pendingResizes).toEqual(['a']);
    isFull = false;
    manager.retryPendingResizes();
    await settle(clock);
    expect(manager.pendingResizes).toEqual([]);
    expect(saved).toEqual(resized(pod, { cpu: '2' }));
    const what = 'Saving the allocated resources of pods';
    const failingSince = '2026-01-02T03:04:05Z';
    expect(logger.lines).toMatchObject([
      { level: 'error', message: `${what} failed`, fields: { podUID: 'a', reason: 'disk full', failingSince } },
      { level: 'info', message: `${what} succeeded again`, fields: { failingSince, failures: 2 } },
    ]);
    expect(conditions('a')).toMatchObject([{ type: 'PodResizeInProgress' }]);
    expect(events.map(({ reason }) => reason)).toEqual(['ResizeStarted']);
  });
});

it('a pod that is gone before its checkpoint fails is not pending', async () => {
  const pod = podOf('a', { cpu: '1' });
  await state.setPodAllocation(pod);
  let fail = (): void => {};
  const write = state.setPodAllocation.bind(state);
  state.setPodAllocation = async (allocated) => {
    await write(allocated);
    await new Promise((_, reject) => (fail = () => reject(new Error('disk full'))));
  };
  put(pod);
  update(resized(pod, { cpu: '2' }));
  pods.clear();
  fail();
  await settle(clock);
  expect(manager.pendingResizes).toEqual([]);
});

describe('when pending resizes are tried again', () => {
  const pod = podOf('a', { cpu: '1' });
  const other = podOf('b', { cpu: '1' });
  const tries = () => asked.filter(({ operation }) => operation === 'resize').length;
  beforeEach(() => {
    add(pod);
    add(other);
    answer = () => deferred;
    manager.start();
    update(resized(pod, { cpu: '2' }));
  });

  it('they are retried 3 minutes after the last try, until stop', () => {
    clock.advance(179_999);
    expect(tries()).toBe(1);
    clock.advance(1);
    expect(tries()).toBe(2);
    manager.retryPendingResizes();
    clock.advance(179_999);
    expect(tries()).toBe(3);
    manager.stop();
    clock.advance(1_000_000);
    expect(tries()).toBe(3);
  });

  it('they are first retried 30 s after the start, and not before', () => {
    manager.stop();
    manager = managerWith();
    manager.pushPendingResize('a');
    expect(clock.pendingTimers).toBe(0);
    manager.retryPendingResizes();
    expect([tries(), clock.pendingTimers]).toEqual([2, 0]);
    manager.start();
    clock.advance(29_999);
    expect(tries()).toBe(2);
    clock.advance(1);
    expect(tries()).toBe(3);
    clock.advance(180_000);
    expect(tries()).toBe(4);
  });

  it('they are not retried before all sources are ready, but 30 s later', () => {
    allReady = false;
    manager.retryPendingResizes();
    expect(tries()).toBe(1);
    allReady = true;
    clock.advance(30_000);
    expect(tries()).toBe(2);
  });

  it('they are retried when another pod has ended or requests less, and not after other status changes', () => {
    manager.podReconciled(other, { ...other, status: { phase: 'Running' } });
    expect(tries()).toBe(1);
    manager.podReconciled(other, { ...other, status: { phase: 'Succeeded' } });
    expect(tries()).toBe(2);
    const showing = (cpu: string): ValidPod => ({
      ...other,
      status: { containerStatuses: [{ name: 'app', resources: { requests: { cpu } } }] },
    });
    manager.podReconciled(showing('1'), showing('1500m'));
    expect(tries()).toBe(2);
    manager.podReconciled(showing('1'), showing('500m'));
    expect(tries()).toBe(3);
  });

  it('stop() ends the retries, whatever happens then', () => {
    manager.stop();
    manager.retryPendingResizes();
    expect([tries(), clock.pendingTimers]).toEqual([2, 0]);
  });

  it('they are retried after a restart, once all pods were added', async () => {
    manager.stop();
    manager = managerWith();
    manager.podsAdded([resized(pod, { cpu: '2' }), other]);
    expect(manager.pendingResizes).toEqual(['a']);
    expect(tries()).toBe(2);
  });

  it('they are not retried after an update that changes no resources', () => {
    update({ ...pods.get('a')!, metadata: { ...pod.metadata, labels: { a: 'b' } } });
    expect(tries()).toBe(1);
  });

  it('they are not retried for pods that were not known before, that had ended before, or that start as they are', () => {
    manager.podUpdated(undefined, resized(pod, { cpu: '3' }));
    manager.podReconciled(undefined, { ...other, status: { phase: 'Succeeded' } });
    const ended: ValidPod = { ...other, status: { phase: 'Failed' } };
    manager.podReconciled(ended, { ...other, status: { phase: 'Failed' } });
    manager.podsAdded([other]);
    expect(tries()).toBe(1);
  });
});

describe('TestSortPendingResizes', () => {
  it('sorts by increase, priority, QoS class, and waiting time', () => {
    const limits = { cpu: '1', memory: '1Gi' };
    const guaranteed = { cpu: '1', memory: '1Gi' };
    const all = [
      podOf('late', { cpu: '1' }),
      podOf('early', { cpu: '1' }),
      podOf('guaranteed', guaranteed, { limits }),
      podOf('important', { cpu: '1' }, { priority: 100 }),
      podOf('shrinking', { cpu: '1' }),
      podOf('never-tried', { cpu: '1' }),
    ];
    for (const pod of all) add(pod);
    for (const pod of all) {
      const cpu = pod.metadata?.name === 'shrinking' ? '500m' : '2';
      const { resources } = pod.spec!.containers![0]!;
      const more = { ...resources?.requests, cpu };
      const larger = resized(pod, more);
      put(
        pod.metadata?.name === 'guaranteed'
          ? {
              ...larger,
              spec: { containers: [{ name: 'app', resources: { requests: more, limits: { ...limits, cpu } } }] },
            }
          : larger,
      );
    }
    statusManager.setPodResizePendingCondition('early', 'Deferred', '', 2);
    clock.advance(1000);
    statusManager.setPodResizePendingCondition('late', 'Deferred', '', 2);
    for (const { metadata } of all) manager.pushPendingResize(metadata.uid);
    expect(manager.pendingResizes).toEqual(['shrinking', 'important', 'guaranteed', 'early', 'late', 'never-tried']);
  });
});

describe('TestIsResizeIncreasingRequests', () => {
  it.each<[string, Requests, Requests, boolean]>([
    ['cpu request up, memory down', { cpu: '1', memory: '2Gi' }, { cpu: '2', memory: '1Gi' }, true],
    ['both down', { cpu: '2', memory: '2Gi' }, { cpu: '1', memory: '1Gi' }, false],
    ['memory request up', { cpu: '1', memory: '1Gi' }, { cpu: '1', memory: '2Gi' }, true],
    ['a request removed', { cpu: '1' }, {}, false],
    ['a request added', {}, { cpu: '1m' }, true],
  ])('%s', (_, before, after, increasing) => {
    for (const name of ['steady', 'a']) add(podOf(name, name === 'a' ? before : { cpu: '2' }));
    put(resized(podOf('a', before), after));
    put(resized(podOf('steady', { cpu: '2' }), { cpu: '3' }));
    manager.pushPendingResize('steady');
    manager.pushPendingResize('a');
    // What does not ask for more comes first; else the order of arrival stays.
    expect(manager.pendingResizes[0]).toBe(increasing ? 'steady' : 'a');
  });
});

it('forgets pods', () => {
  for (const name of ['a', 'b', 'c']) add(podOf(name, { cpu: '1' }));
  manager.removePod('a');
  expect(['a', 'b', 'c'].map(allocatedCpu)).toEqual([undefined, '1', '1']);
  manager.removeOrphanedPods(new Set(['c']));
  expect(['a', 'b', 'c'].map(allocatedCpu)).toEqual([undefined, undefined, '1']);
});
