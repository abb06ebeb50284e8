import { beforeEach, describe, expect, it } from 'vitest';
import { BasicPodManager, type Pod, type ValidPod, StatusManager } from 'kubelet-status-manager';
import type { PodAdmitResult, PodEvent } from 'kubelet-status-manager/agent';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import { AllocationManager } from '../../../src/node/allocation/allocation-manager.ts';
import { type RecordingLogger, recordingLogger, silentLogger } from 'kubelet-status-manager/testing';
import { filterOutInactivePods } from '../../../src/node/sync-loop/active-pods.ts';
import { BackOffError } from '../../../src/node/pod-workers/next-sync-delay.ts';
import { PodDispatcher } from '../../../src/node/sync-loop/pod-dispatcher.ts';
import { SyncHandler } from '../../../src/node/sync-loop/sync-handler.ts';
import { createPodWorkers, drainAllWorkers, type TestWorkers } from '../pod-workers/recording-pod-syncer.ts';

const podOf = (uid: string, status: Pod['status'] = {}, metadata: Partial<ValidPod['metadata']> = {}): ValidPod => ({
  metadata: { uid, name: uid, namespace: 'ns', ...metadata },
  spec: { containers: [{ name: 'app' }] },
  status,
});
const mirrorOf = (uid: string, name: string): ValidPod =>
  podOf(uid, {}, { name, annotations: { 'kubernetes.io/config.mirror': 'h', 'kubernetes.io/config.source': 'file' } });
const staticOf = (uid: string, name: string): ValidPod =>
  podOf(uid, {}, { name, annotations: { 'kubernetes.io/config.hash': 'h', 'kubernetes.io/config.source': 'file' } });

let t: TestWorkers;
let podManager: BasicPodManager;
let statusManager: StatusManager<BasicPodManager>;
let logger: RecordingLogger;
let events: PodEvent[];
let areSourcesReady: boolean;
let synced: Set<string>;
let admit: (pod: ValidPod, otherPods: readonly ValidPod[]) => PodAdmitResult;
let died: string[];
let measured: (readonly unknown[])[];
let handler: SyncHandler;
let getActivePods: () => ValidPod[];
beforeEach(() => {
  t = createPodWorkers();
  podManager = new BasicPodManager();
  statusManager = new StatusManager({
    podManager,
    podDeletionSafety: t.workers.statuses,
    clock: t.clock,
    logger: silentLogger,
  });
  logger = recordingLogger();
  events = [];
  areSourcesReady = true;
  synced = new Set();
  admit = () => ({ admit: true });
  died = [];
  measured = [];
  const eventRecorder = { event: (event: PodEvent) => void events.push(event) };
  getActivePods = () =>
    filterOutInactivePods(podManager.getPods(), { statuses: t.workers.statuses, podStatusProvider: statusManager });
  const allocationManager = new AllocationManager({
    ...{ runtime: {}, statusManager, clock: t.clock, logger, eventRecorder },
    allocationState: new MemoryState(),
    admitHandlers: [{ admit: ({ pod, otherPods }) => admit(pod, otherPods) }],
    getActivePods,
    getPodByUID: (uid) => podManager.getPodByUID(uid),
    allSourcesReady: () => areSourcesReady,
    triggerPodSync: (pod) => handler.handlePodSyncs([pod]),
  });
  handler = new SyncHandler({
    ...{ podManager, podWorkers: t.workers, statusManager, allocationManager, logger },
    dispatcher: new PodDispatcher({ podManager, podWorkers: t.workers }),
    getActivePods,
    shouldSync: ({ metadata }) => synced.has(metadata?.uid ?? ''),
    areSourcesReady: () => areSourcesReady,
    onContainerDied: (podUID, containerID) => void died.push(`${podUID} ${containerID}`),
    recordMetric: (...measurement) => void measured.push(measurement),
    eventRecorder,
  });
});

const calls = (uid: string): string[] => (t.syncer.processed.get(uid) ?? []).map(({ call }) => call);
const drain = (): Promise<void> => drainAllWorkers(t);

it('TestSyncPodsStartPod', async () => {
  podManager.setPods([podOf('1')]);
  handler.handlePodSyncs(podManager.getPods());
  await drain();
  expect(calls('1')).toEqual(['sync']);
});

it.each([
  ['failed', podOf('1', { phase: 'Failed' })],
  ['succeeded', podOf('1', { phase: 'Succeeded' })],
  ['deleted', podOf('1', {}, { deletionTimestamp: '2026-01-02T03:04:05Z' })],
])('TestDispatchWorkOfCompletedPod: a pod that is %s has a worker that ends it', async (_, pod) => {
  handler.handlePodAdditions([pod]);
  await drain();
  expect(calls('1')).toEqual(['terminating', 'terminated']);
});

it('TestDispatchWorkOfActivePod', async () => {
  handler.handlePodAdditions([podOf('1'), podOf('2', { phase: 'Running' })]);
  await drain();
  expect([calls('1'), calls('2')]).toEqual([['create'], ['create']]);
});

describe('TestHandlePodRemovesWhenSourcesAreReady', () => {
  it('sources are not ready yet: no pod is killed', async () => {
    areSourcesReady = false;
    handler.handlePodAdditions([podOf('1')]);
    await drain();
    handler.handlePodRemoves([podOf('1')]);
    await drain();
    expect(calls('1')).toEqual(['create']);
  });

  it('sources are ready: unwanted pods are killed', async () => {
    handler.handlePodAdditions([podOf('1')]);
    await drain();
    handler.handlePodRemoves([podOf('1')]);
    await drain();
    expect(calls('1')).toEqual(['create', 'terminating', 'terminated']);
  });
});

it('TestFilterOutInactivePods', async () => {
  const running = { running: { startedAt: '2026-01-02T03:04:05Z' } };
  const deleted = podOf(
    '2',
    { phase: 'Running', containerStatuses: [{ name: 'app', state: running }] },
    { deletionTimestamp: '2026-01-02T03:04:05Z' },
  );
  const pods = [
    podOf('0', { phase: 'Failed' }),
    podOf('1', { phase: 'Succeeded' }),
    deleted,
    podOf('3', { phase: 'Pending' }),
    podOf('4', { phase: 'Running' }),
    podOf('5', { phase: 'Running' }),
    podOf('6', { phase: 'Running' }),
    podOf('7', { phase: 'Failed' }),
  ];
  statusManager.setPodStatus(pods[5]!, { phase: 'Failed' });
  const active = filterOutInactivePods(pods, {
    podStatusProvider: statusManager,
    statuses: {
      isPodKnownTerminated: (uid) => uid === '6',
      isPodTerminationRequested: (uid) => uid === '7',
    },
  });
  expect(active.map(({ metadata }) => metadata?.uid)).toEqual(['2', '3', '4', '7']);
});

it('TestGetPodsToSync', async () => {
  podManager.setPods(['0', '1', '2', '3', '4'].map((uid) => podOf(uid)));
  synced = new Set(['0', '2']);
  const sync = (uid: string, dueInMs: number): Promise<void> => {
    t.syncer.failures.set(uid, [new BackOffError('due later', t.clock.now() + dueInMs)]);
    t.workers.updatePod({ updateType: 'sync', pod: podOf(uid) });
    return drain();
  };
  await sync('2', 0);
  await sync('3', 60_000);
  t.clock.advance(1);
  await sync('4', 60_000);
  expect(handler.nextSyncMs()).toBe(60_000);
  t.clock.advance(59_999);
  expect(handler.getPodsToSync().map(({ metadata }) => metadata?.uid)).toEqual(['0', '2', '3']);
  expect(handler.nextSyncMs()).toBe(t.clock.monotonicMs() + 1);
  podManager.addPod({ ...podOf('0'), spec: { activeDeadlineSeconds: 3600, containers: [{ name: 'app' }] } });
  expect(handler.nextSyncMs()).toBe(-Infinity);
});

it.each([
  ['SysctlForbidden', 'SysctlForbidden'],
  ['OutOfephemeral-storage', 'OutOfephemeral-storage'],
  ['OutOfexample.com/gpu', 'OutOfExtendedResources'],
  ['NodeAffinity', 'Other'],
])('a pod that is rejected with %s is counted as %s: an author cannot add labels', (reason, label) => {
  admit = () => ({ admit: false, reason, message: 'no' });
  handler.handlePodAdditions([podOf('1')]);
  expect(measured).toEqual([['admission_rejections_total', 1, label]]);
});

it('TestGetPodsToSyncInvokesPodSyncLoopHandlers', () => {
  podManager.setPods(['0', '1'].map((uid) => podOf(uid)));
  expect(handler.getPodsToSync()).toEqual([]);
  synced.add('0');
  expect(handler.getPodsToSync()).toEqual([podManager.getPodByUID('0')]);
});

describe('TestHandlePodAdditionsInvokesPodAdmitHandlers', () => {
  it('a refused pod becomes Failed and gets no worker; other pods are started', async () => {
    admit = ({ metadata }) =>
      metadata?.name === '1' ? { admit: false, reason: 'Rejected', message: 'Pod is rejected' } : { admit: true };
    handler.handlePodAdditions([podOf('1'), podOf('2')]);
    await drain();
    expect(statusManager.getPodStatus('1')).toMatchObject({
      phase: 'Failed',
      reason: 'Rejected',
      message: 'Pod was rejected: Pod is rejected',
      qosClass: 'BestEffort',
    });
    expect(calls('2')).toEqual(['create']);
    expect(events).toMatchObject([{ type: 'Warning', reason: 'Rejected', message: 'Pod is rejected' }]);
    expect(getActivePods().map(({ metadata }) => metadata?.uid)).toEqual(['2']);

    handler.handlePodUpdates([podOf('1', {}, { labels: { a: 'b' } })]);
    handler.handlePodSyncs([podOf('1')]);
    handler.handlePodReconcile([podOf('1', { phase: 'Failed' })]);
    await drain();
    expect(calls('1')).toEqual([]);
  });

  it('once housekeeping finishes a refused pod that is deleted, what fails is tried again', async () => {
    admit = () => ({ admit: false, reason: 'Rejected', message: 'Pod is rejected' });
    handler.handlePodAdditions([podOf('1')]);
    const deleted = podOf('1', { phase: 'Failed' }, { deletionTimestamp: '2026-01-02T03:04:05Z' });
    handler.handlePodUpdates([deleted]);
    expect(calls('1')).toEqual([]);
    t.syncer.failures.set('1', [new Error('unable to stop'), new Error('unable to stop')]);
    t.workers.updatePod({ updateType: 'kill', pod: deleted });
    for (let tries = 0; tries < 3; tries++) {
      await drain();
      t.clock.advance(10_000);
      handler.handlePodSyncs(handler.getPodsToSync());
    }
    await drain();
    expect(calls('1')).toEqual(['terminating', 'terminating', 'terminating', 'terminated']);
    expect(t.workers.statuses.shouldPodBeFinished('1')).toBe(true);
  });

  it('the oldest pod is admitted first, with the pods that were admitted before it', () => {
    const asked: string[][] = [];
    admit = ({ metadata }, otherPods) => {
      asked.push([metadata?.name ?? '', ...otherPods.map((pod) => pod.metadata?.name ?? '')]);
      return { admit: true };
    };
    const createdAt = (name: string, creationTimestamp: string): ValidPod => podOf(name, {}, { creationTimestamp });
    handler.handlePodAdditions([
      createdAt('young', '2026-01-02T03:04:06Z'),
      createdAt('old', '2026-01-02T03:04:05Z'),
      podOf('static'),
    ]);
    expect(asked).toEqual([['static'], ['old', 'static'], ['young', 'static', 'old']]);
  });

  it('a pod that has ended or is being terminated is not passed to the admit handlers', async () => {
    admit = () => ({ admit: false, reason: 'No', message: 'no' });
    handler.handlePodAdditions([podOf('1', { phase: 'Succeeded' })]);
    await drain();
    expect(calls('1')).toEqual(['terminating', 'terminated']);
  });
});

describe('the end of a pod that the API server does not show', () => {
  it('its running containers are killed, and none is started', async () => {
    statusManager.setPodStatus(podOf('1'), { phase: 'Failed', reason: 'Evicted' });
    handler.handlePodAdditions([podOf('1', { phase: 'Running' })]);
    await drain();
    expect(calls('1')).toEqual(['terminating', 'terminated']);
    // The pod manager has what the API server shows: it decides what is to be written.
    expect(podManager.getPodByUID('1')?.status?.phase).toBe('Running');
  });

  it('a static pod with restart policy Always runs again', async () => {
    const pod = staticOf('1', 'web');
    statusManager.setPodStatus(pod, { phase: 'Failed' });
    handler.handlePodAdditions([pod]);
    await drain();
    expect(calls('1')).toEqual(['create']);
  });
});

describe('mirror pods', () => {
  it('a change of a mirror pod updates its static pod, and is ignored without a static pod', async () => {
    handler.handlePodAdditions([mirrorOf('m', 'web')]);
    await drain();
    expect(t.workers.statuses.inspect()).toEqual([]);
    handler.handlePodAdditions([staticOf('s', 'web')]);
    await drain();
    handler.handlePodUpdates([mirrorOf('m', 'web')]);
    await drain();
    handler.handlePodRemoves([mirrorOf('m', 'web')]);
    await drain();
    handler.handlePodAdditions([mirrorOf('m2', 'web')]);
    await drain();
    expect(calls('s')).toEqual(['create', 'update', 'update', 'update']);
    expect(statusManager.podManager.translatePodUID('m2')).toBe('s');
  });
});

describe('events and probes', () => {
  it('an event of the runtime syncs the pod, but for ContainerRemoved; an exit is passed on', async () => {
    handler.handlePodAdditions([podOf('1')]);
    await drain();
    for (const type of ['ContainerStarted', 'ContainerRemoved', 'ContainerDied', 'PodSync'] as const) {
      handler.handlePodLifecycleEvent({ podUID: '1', type, containerID: 'c' });
      await drain();
    }
    handler.handlePodLifecycleEvent({ podUID: 'unknown', type: 'ContainerDied', containerID: 'd' });
    await drain();
    expect(calls('1')).toEqual(['create', 'sync', 'sync', 'sync']);
    expect(calls('unknown')).toEqual([]);
    expect(died).toEqual(['1 c', 'unknown d']);
  });

  it('results of readiness and startup go to the status before the sync; of liveness only failures sync', async () => {
    const container = { name: 'app', containerID: 'test://c', ready: false, started: false };
    statusManager.setPodStatus(podOf('1'), {
      phase: 'Running',
      containerStatuses: [{ ...container, state: { running: {} } }],
    });
    podManager.setPods([podOf('1')]);
    const update = (result: 'success' | 'failure') => ({ podUID: '1', containerID: 'test://c', result });
    handler.handleProbeUpdate('startup', update('success'));
    handler.handleProbeUpdate('readiness', update('success'));
    expect(statusManager.getPodStatus('1')?.containerStatuses).toMatchObject([{ ready: true, started: true }]);
    await drain();
    expect(calls('1')).toEqual(['sync']);
    handler.handleProbeUpdate('readiness', update('failure'));
    expect(statusManager.getPodStatus('1')?.containerStatuses).toMatchObject([{ ready: false }]);
    await drain();
    handler.handleProbeUpdate('liveness', update('success'));
    await drain();
    expect(calls('1')).toEqual(['sync', 'sync']);
    handler.handleProbeUpdate('liveness', update('failure'));
    await drain();
    expect(calls('1')).toEqual(['sync', 'sync', 'sync']);
  });
});

it('HandlePodReconcile: a pod whose Ready condition does not fit its readiness gates is synced', async () => {
  const ready = { type: 'Ready', status: 'True' };
  const pod = podOf('1', { phase: 'Running', conditions: [{ ...ready, lastProbeTime: null }] });
  const gated: ValidPod = { ...pod, spec: { ...pod.spec, readinessGates: [{ conditionType: 'gate' }] } };
  handler.handlePodAdditions([gated]);
  await drain();
  handler.handlePodReconcile([gated]);
  await drain();
  handler.handlePodReconcile([{ ...gated, spec: pod.spec! }]);
  await drain();
  expect(calls('1')).toEqual(['create', 'sync']);
});

it('a pod that cannot be handled is logged, and the others are handled', async () => {
  handler.handlePodAdditions([{ metadata: { name: 'without a UID', namespace: 'ns', uid: '' } }, podOf('1')]);
  await drain();
  expect(calls('1')).toEqual(['create']);
  expect(logger.errors).toMatchObject([{ message: 'Failed to handle a pod', fields: { pod: 'ns/without a UID' } }]);
});
