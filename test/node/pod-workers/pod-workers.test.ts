import { beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import type { PodEvent, RuntimePod } from 'kubelet-status-manager/agent';
import type { KillPodOptions, SyncPodType } from '../../../src/node/pod-workers/update-pod-options.ts';
import { killPodNow } from '../../../src/node/pod-workers/kill-pod-now.ts';
import type { PodWorkerInspection } from '../../../src/node/pod-workers/pod-worker-inspection.ts';
import { recordingLogger } from 'kubelet-status-manager/testing';
import {
  createPodWorkers,
  drainAllWorkers,
  emptyStatus,
  newNamedPod,
  type SyncPodRecord,
  type TestWorkers,
} from './recording-pod-syncer.ts';

const deletionTimestamp = '2026-01-02T03:04:05Z';
const podOf = (uid: string, name = uid): ValidPod => newNamedPod(uid, 'ns', name);
const staticPodOf = (uid: string): ValidPod => newNamedPod(uid, 'test1', 'pod1', true);
const runtimePodOf = (uid: string): RuntimePod => ({ uid, name: uid, namespace: 'test', containers: [] });
const withDeletion = (pod: ValidPod, deletionGracePeriodSeconds: number): ValidPod => ({
  ...pod,
  metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds },
});
const withPhase = (pod: ValidPod, phase: string): ValidPod => ({ ...pod, status: { phase } });

const noEvents = { event: () => {} };

let t: TestWorkers;
beforeEach(() => {
  t = createPodWorkers();
});

async function update(updateType: SyncPodType, pod: ValidPod, killPodOptions?: KillPodOptions): Promise<void> {
  t.workers.updatePod({ updateType, pod, killPodOptions });
  await drainAllWorkers(t);
}

function processed(uid: string): SyncPodRecord[] {
  return t.syncer.processed.get(uid) ?? [];
}

const callsOf = (uid: string): string[] => processed(uid).map(({ call }) => call);

function inspect(uid: string): PodWorkerInspection | undefined {
  return t.workers.statuses.inspect().find((worker) => worker.uid === uid);
}

describe('TestUpdatePodParallel', () => {
  it('processes the first update of each pod, and then only the newest of the later ones', async () => {
    for (let i = 0; i < 20; i++) {
      for (let j = i; j < 20; j++) t.workers.updatePod({ updateType: 'create', pod: podOf(`${j}`, `${i}`) });
    }
    await drainAllWorkers(t);
    expect(t.syncer.processed.size).toBe(20);
    for (let i = 0; i < 20; i++) expect(processed(`${i}`).map(({ name }) => name)).toEqual([`${i}`]);
  });

  it('processes one update at a time, and merges updates that arrive during a sync', async () => {
    const release = t.syncer.hold('1');
    await update('create', podOf('1', 'a'));
    for (const name of ['b', 'c', 'd']) await update('update', podOf('1', name));
    expect(processed('1')).toEqual([{ name: 'a', call: 'create' }]);
    expect(t.syncer.signals.get('1')?.aborted).toBe(false);
    expect(inspect('1')).toMatchObject({ isWorking: true, hasPendingUpdate: true });
    release();
    await drainAllWorkers(t);
    expect(processed('1').map(({ name }) => name)).toEqual(['a', 'd']);
    expect(inspect('1')).toMatchObject({ isWorking: false, hasPendingUpdate: false });
  });
});

describe('TestUpdatePod', () => {
  it('a new pod is recorded and started', async () => {
    await update('create', podOf('1', 'running-pod'));
    expect(inspect('1')).toMatchObject({ fullName: 'running-pod_ns', state: 'syncing', hasStarted: true });
    expect(t.workers.statuses.isPodKnownTerminated('1')).toBe(false);
  });

  it('a new pod is recorded and started unless it is a duplicate of an existing terminating pod UID', async () => {
    await update('create', podOf('1'));
    const release = t.syncer.hold('1');
    await update('kill', podOf('1'));
    await update('create', podOf('1'));
    release();
    await drainAllWorkers(t);
    expect(inspect('1')).toMatchObject({ state: 'terminated', isFinished: true, isRestartRequested: true });
    expect(callsOf('1')).toEqual(['create', 'terminating', 'terminated']);
    expect(t.workers.statuses.isPodKnownTerminated('1')).toBe(true);
  });

  it('a new pod is recorded and started and running pod is ignored', async () => {
    t.workers.updatePod({ updateType: 'create', pod: podOf('1'), runningPod: runtimePodOf('1') });
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual(['create']);
  });

  it('a running pod is terminated when an update contains a deletionTimestamp', async () => {
    await update('create', podOf('1'));
    await update('update', withDeletion(podOf('1'), 15));
    expect(inspect('1')).toMatchObject({ isFinished: true, isDeleted: true, isEvicted: false });
    expect(processed('1')[1]).toEqual({ name: '1', call: 'terminating', gracePeriodSeconds: 15 });
    expect(t.workers.statuses.isPodKnownTerminated('1')).toBe(true);
  });

  it('a running pod is terminated when an eviction is requested', async () => {
    await update('create', podOf('1'));
    await update('kill', podOf('1'), { evict: true });
    expect(inspect('1')).toMatchObject({ isFinished: true, isDeleted: false, isEvicted: true });
    expect(processed('1')[1]).toEqual({ name: '1', call: 'terminating', gracePeriodSeconds: 30 });
    expect(t.workers.statuses.shouldPodContentBeRemoved('1')).toBe(true);
  });

  it('a pod that is terminal and has never started must be terminated if the runtime does not have a cached terminal state', async () => {
    await update('create', withPhase(podOf('1'), 'Succeeded'));
    expect(callsOf('1')).toEqual(['terminating', 'terminated']);
    expect(inspect('1')).toMatchObject({ isFinished: true });
  });

  it('a pod that is terminal and has never started advances to finished if the runtime has a cached terminal state', async () => {
    t.cached.set('1', { sandboxes: [], containers: [{ id: 'c', name: 'c', state: 'exited', createdAtMs: 0 }] });
    t.workers.updatePod({ updateType: 'create', pod: withPhase(podOf('1'), 'Succeeded') });
    expect(inspect('1')).toMatchObject({ state: 'terminated', isFinished: false, hasPendingUpdate: true });
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual(['terminated']);
    expect(inspect('1')).toMatchObject({ isFinished: true, isRestartRequested: false });
  });

  it.each([
    ['a container', { sandboxes: [], containers: [{ id: 'c', name: 'c', state: 'running', createdAtMs: 0 } as const] }],
    ['a sandbox', { sandboxes: [{ id: 's', ready: true }], containers: [] }],
  ])('a pod with a terminal phase of which %s still runs is terminated, not finished', async (_, status) => {
    t.cached.set('1', status);
    await update('create', withPhase(podOf('1'), 'Failed'));
    expect(callsOf('1')).toEqual(['terminating', 'terminated']);
  });

  it('a pod that had ended when it became known stays ended, whatever phase its source shows after that', async () => {
    const release = t.syncer.hold('1');
    await update('create', withPhase(podOf('1'), 'Failed'));
    await update('update', withPhase(podOf('1'), 'Running'));
    release();
    await drainAllWorkers(t);
    expect(t.syncer.phases.get('1')).toEqual(['Failed', 'Failed']);
  });

  it('an orphaned running pod we have not seen is marked terminating and advances to finished and then is removed', async () => {
    t.workers.updatePod({ updateType: 'kill', runningPod: runtimePodOf('1') });
    expect(inspect('1')).toMatchObject({ state: 'terminating', gracePeriodSeconds: 1, isDeleted: true });
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual(['terminating runtime pod']);
    expect(inspect('1')).toBeUndefined();
    expect(t.workers.statuses.isPodKnownTerminated('1')).toBe(false);
  });

  it('an orphaned running pod with a non-kill update type does nothing', async () => {
    const logger = recordingLogger();
    t = createPodWorkers({ logger });
    t.workers.updatePod({ updateType: 'create', runningPod: runtimePodOf('1') });
    await drainAllWorkers(t);
    expect([t.workers.statuses.inspect(), callsOf('1')]).toEqual([[], []]);
    expect(logger.lines).toEqual([
      {
        level: 'info',
        message: 'Ignoring update: a pod that only the runtime knows can only be killed',
        fields: { pod: 'test/1', podUID: '1', updateType: 'create' },
      },
    ]);
  });

  it('refuses an update without a pod', () => {
    expect(() => t.workers.updatePod({ updateType: 'kill' })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', path: 'pod', message: 'Expected `pod` or `runningPod`' }),
    );
  });
});

describe('TestUpdatePodForRuntimePod', () => {
  it('kills a pod that was found in the runtime with its known pod object', async () => {
    await update('create', podOf('1'));
    t.workers.updatePod({ updateType: 'kill', runningPod: runtimePodOf('1') });
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual(['create', 'terminating', 'terminated']);
    expect(inspect('1')).toMatchObject({ isDeleted: true, isFinished: true });
  });
});

describe('TestUpdatePodForTerminatedRuntimePod', () => {
  it('does nothing for a pod that is terminated', async () => {
    const release = t.syncer.hold('1');
    t.cached.set('1', emptyStatus);
    await update('create', withPhase(podOf('1'), 'Succeeded'));
    expect(inspect('1')).toMatchObject({ state: 'terminated', isFinished: false });
    t.workers.updatePod({ updateType: 'kill', runningPod: runtimePodOf('1') });
    expect(inspect('1')).toMatchObject({ hasPendingUpdate: false });
    release();
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual(['terminated']);
    expect(inspect('1')).toMatchObject({ isFinished: true });
  });
});

describe('TestUpdatePodDoesNotForgetSyncPodKill', () => {
  it('a kill is not lost when an update follows it', async () => {
    for (const updateType of ['create', 'kill', 'update'] as const)
      t.workers.updatePod({ updateType, pod: podOf('1') });
    await drainAllWorkers(t);
    expect(processed('1')).toEqual([
      { name: '1', call: 'terminating', gracePeriodSeconds: 30 },
      { name: '1', call: 'terminated' },
    ]);
  });
});

describe('TestTerminalPhaseTransition', () => {
  it('a pod whose sync says that it is terminal is terminated', async () => {
    await update('update', podOf('1'));
    await update('update', podOf('1'));
    expect(t.workers.statuses.isPodTerminationRequested('1')).toBe(false);
    t.syncer.terminal.add('1');
    await update('update', podOf('1'));
    expect(t.workers.statuses.isPodKnownTerminated('1')).toBe(true);
    // Nobody asked for another grace period than the pod's own.
    expect(processed('1').at(-2)).toEqual({ name: '1', call: 'terminating' });
  });
});

describe('TestStaticPodExclusion', () => {
  it('one static pod runs under a full name at a time; waiting pods start in their order', async () => {
    await update('update', newNamedPod('1-normal', 'test1', 'pod1'));
    await update('update', staticPodOf('2-static'));
    expect([callsOf('1-normal'), callsOf('2-static')]).toEqual([['update'], ['update']]);

    await update('update', staticPodOf('3-static'));
    await update('update', staticPodOf('4-static'));
    expect([callsOf('3-static'), callsOf('4-static')]).toEqual([[], []]);
    expectStaticPods(['2-static'], ['3-static', '4-static']);
    // Those that wait are tried again, as those that run are.
    t.clock.advance(60_000);
    expect(t.workers.statuses.getWork().sort()).toEqual(['1-normal', '2-static', '3-static', '4-static']);

    await update('update', staticPodOf('3-static'));
    expectStaticPods(['2-static'], ['3-static', '4-static']);

    // One that waits is removed: it never ran, so that nothing has to be terminated.
    await update('kill', staticPodOf('3-static'));
    expect(inspect('3-static')).toMatchObject({ state: 'terminated', isFinished: true });
    expect(callsOf('3-static')).toEqual([]);
    expectStaticPods(['2-static'], ['4-static']);

    await update('kill', staticPodOf('2-static'));
    expect(callsOf('2-static')).toEqual(['update', 'terminating', 'terminated']);
    expectStaticPods([], ['4-static']);

    await update('sync', staticPodOf('4-static'));
    expect(callsOf('4-static')).toEqual(['sync']);
    expectStaticPods(['4-static'], []);

    const uids = ['1-normal', '2-static', '3-static', '4-static'];
    expect(syncKnown(uids)).toEqual({
      '1-normal': 'syncing, config',
      '2-static': 'terminated, config, static',
      '3-static': 'terminated',
      '4-static': 'syncing, config, static',
    });
    expect(Object.keys(syncKnown(['1-normal', '2-static', '4-static']))).not.toContain('3-static');
  });

  it('a pod that is killed while it waits does not keep those behind it from starting', async () => {
    await update('update', staticPodOf('4-static'));
    await update('update', staticPodOf('5-static'));
    // Its worker has not had a turn when the next one comes.
    t.workers.updatePod({ updateType: 'kill', pod: staticPodOf('5-static') });
    t.workers.updatePod({ updateType: 'update', pod: staticPodOf('6-static') });
    t.workers.updatePod({ updateType: 'kill', pod: staticPodOf('4-static') });
    await drainAllWorkers(t);
    await update('sync', staticPodOf('6-static'));
    expect(callsOf('6-static')).toEqual(['sync']);
    expect(callsOf('5-static')).toEqual([]);
  });

  it('the first of several waiting pods starts, regardless of the processing order', async () => {
    await update('update', staticPodOf('6-static'));
    for (const uid of ['7-static', '8-static', '9-static']) await update('update', staticPodOf(uid));
    await update('kill', staticPodOf('6-static'));
    await update('create', staticPodOf('6-static'));
    await update('sync', staticPodOf('8-static'));
    expect(inspect('6-static')).toMatchObject({ isRestartRequested: true });
    expectStaticPods([], ['7-static', '8-static', '9-static']);
    expect(['7-static', '8-static', '9-static'].flatMap(callsOf)).toEqual([]);

    await update('kill', staticPodOf('7-static'));
    await update('sync', staticPodOf('8-static'));
    expect(callsOf('8-static')).toEqual(['sync']);
    // 6 may start again, and 7 and 9 are forgotten: nobody wants them.
    expect(Object.keys(syncKnown(['8-static']))).toEqual(['8-static']);
  });

  it('isPodForMirrorPodTerminatingByFullName is true from the request to terminate until the pod is terminated', async () => {
    await update('update', staticPodOf('1'));
    expect(t.workers.statuses.isPodForMirrorPodTerminatingByFullName('pod1_test1')).toBe(false);
    // A pod that is not static has the name, too.
    await update('update', newNamedPod('2', 'test1', 'pod1'));
    t.syncer.hold('2');
    await update('kill', newNamedPod('2', 'test1', 'pod1'));
    expect(t.workers.statuses.isPodForMirrorPodTerminatingByFullName('pod1_test1')).toBe(false);
    const release = t.syncer.hold('1');
    await update('kill', staticPodOf('1'));
    expect(t.workers.statuses.isPodForMirrorPodTerminatingByFullName('pod1_test1')).toBe(true);
    expect(t.workers.statuses.isPodForMirrorPodTerminatingByFullName('pod2_test1')).toBe(false);
    release();
    await drainAllWorkers(t);
    expect(t.workers.statuses.isPodForMirrorPodTerminatingByFullName('pod1_test1')).toBe(false);
  });
});

describe('TestSyncKnownPods', () => {
  it('reports what may be done with a pod by the state of its worker, and with unknown pods once all sources are ready', async () => {
    const { workers } = t;
    for (let i = 0; i < 4; i++) await update('update', podOf(`${i}`));
    expect(workers.statuses.couldHaveRunningContainers('abc')).toBe(true);
    expect(workers.statuses.shouldPodContentBeRemoved('abc')).toBe(false);
    expect(workers.statuses.shouldPodRuntimeBeRemoved('abc')).toBe(false);
    expect(workers.statuses.shouldPodBeFinished('abc')).toBe(false);

    await update('kill', withDeletion(podOf('0'), 30));
    await update('kill', podOf('1'));
    expect(['0', '1', '2'].map((uid) => workers.statuses.isPodTerminationRequested(uid))).toEqual([true, true, false]);
    expect(['0', '1', '2'].map((uid) => workers.statuses.couldHaveRunningContainers(uid))).toEqual([
      false,
      false,
      true,
    ]);
    expect(['0', '1', '2'].map((uid) => workers.statuses.shouldPodRuntimeBeRemoved(uid))).toEqual([true, true, false]);
    expect(['0', '1', '2'].map((uid) => workers.statuses.shouldPodContentBeRemoved(uid))).toEqual([true, false, false]);
    expect(['0', '2'].map((uid) => workers.statuses.shouldPodBeFinished(uid))).toEqual([true, false]);

    expect(Object.keys(syncKnown(['2', '3']))).toEqual(['2', '3']);
    expect(workers.statuses.shouldPodBeFinished('2')).toBe(false);
    expect([podOf('2'), podOf('abc'), {}].map((pod) => workers.statuses.podCouldHaveRunningContainers(pod))).toEqual([
      true,
      false,
      false,
    ]);
    expect(workers.statuses.isPodTerminationRequested('2')).toBe(false);
    expect(workers.statuses.couldHaveRunningContainers('abc')).toBe(false);
    expect(workers.statuses.shouldPodContentBeRemoved('abc')).toBe(true);
    expect(workers.statuses.shouldPodBeFinished('abc')).toBe(true);

    // Pods that nobody wants any more are terminated, and forgotten after that.
    expect(syncKnown([])).toEqual({ '2': 'terminating, orphan, config', '3': 'terminating, orphan, config' });
    await drainAllWorkers(t);
    expect(processed('2').at(-2)).toEqual({ name: '2', call: 'terminating', gracePeriodSeconds: 30 });
    expect(syncKnown([])).toEqual({});
    expect(workers.statuses.inspect()).toEqual([]);
  });

  it('a pod of the runtime alone stays known while it is being killed', async () => {
    t.syncer.hold('1');
    t.workers.updatePod({ updateType: 'kill', runningPod: runtimePodOf('1') });
    expect(syncKnown([])).toEqual({ '1': 'terminating, orphan' });
    await drainAllWorkers(t);
    expect(t.workers.statuses.couldHaveRunningContainers('1')).toBe(true);
  });

  it('the sync of an orphaned pod is aborted', async () => {
    t.syncer.hold('1');
    await update('create', podOf('1'));
    syncKnown([]);
    expect(t.syncer.signals.get('1')?.aborted).toBe(true);
  });

  it('an orphan whose termination failed is tried again by each call', async () => {
    await update('update', podOf('1'));
    t.syncer.failures.set('1', [new Error('runtime is down')]);
    syncKnown([]);
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual(['update', 'terminating']);
    syncKnown([]);
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual(['update', 'terminating', 'terminating', 'terminated']);
  });

  it('an orphan that is being terminated keeps its grace period', async () => {
    await update('update', podOf('1'));
    t.syncer.failures.set('1', [new Error('runtime is down')]);
    await update('kill', podOf('1'), { podTerminationGracePeriodSecondsOverride: 5 });
    syncKnown([]);
    expect(inspect('1')).toMatchObject({ state: 'terminating', gracePeriodSeconds: 5 });
  });

  it('a pod that was created again with the same UID starts after its worker has been removed', async () => {
    await update('create', podOf('1'));
    const release = t.syncer.hold('1');
    await update('kill', podOf('1'));
    await update('create', podOf('1'));
    // Not before it has finished.
    expect(syncKnown(['1'])).toEqual({ '1': 'terminating, config' });
    release();
    await drainAllWorkers(t);
    expect(syncKnown(['1'])).toEqual({});
    await update('create', podOf('1'));
    expect(callsOf('1').at(-1)).toBe('create');
    expect(inspect('1')).toMatchObject({ state: 'syncing' });
  });
});

describe('Test_removeTerminatedWorker', () => {
  it('waiting to start worker because of another started pod with the same fullname', async () => {
    await update('update', staticPodOf('1'));
    await update('update', staticPodOf('2'));
    expect(Object.keys(syncKnown(['1', '2']))).toEqual(['1', '2']);
  });

  it('orphaned not started worker', async () => {
    await update('update', staticPodOf('1'));
    await update('update', staticPodOf('2'));
    expect(Object.keys(syncKnown(['1']))).toEqual(['1']);
  });

  it('orphaned terminating worker with pendingUpdate', async () => {
    await update('update', podOf('1', 'a'));
    const release = t.syncer.hold('1');
    await update('kill', podOf('1', 'b'));
    await update('update', podOf('1', 'c'));
    expect(Object.keys(syncKnown([]))).toEqual(['1']);
    release();
    await drainAllWorkers(t);
    // The pending update is kept.
    expect(processed('1').map(({ name, call }) => `${name} ${call}`)).toEqual([
      'a update',
      'b terminating',
      'c terminated',
    ]);
  });
});

describe('TestKillPodNowFunc', () => {
  it('resolves when the pod has no running containers', async () => {
    const pod = podOf('1');
    const killed = killPodNow(pod, {
      signal: new AbortController().signal,
      podWorkers: t.workers,
      clock: t.clock,
      eventRecorder: noEvents,
      podTerminationGracePeriodSecondsOverride: 0,
      podStatusFn: (status) => ({ ...status, phase: 'Failed' }),
    });
    await drainAllWorkers(t);
    await killed;
    expect(processed('1')).toEqual([
      { name: '1', call: 'terminating', gracePeriodSeconds: 1 },
      { name: '1', call: 'terminated' },
    ]);
    expect(t.clock.pendingTimers).toBe(0);
  });

  it('rejects after one and a half times the grace period', async () => {
    const events: PodEvent[] = [];
    t.syncer.hold('1');
    const killed = killPodNow(podOf('1'), {
      signal: new AbortController().signal,
      podWorkers: t.workers,
      clock: t.clock,
      eventRecorder: { event: (event) => events.push(event) },
    });
    t.clock.advance(44_999);
    expect(events).toEqual([]);
    t.clock.advance(1);
    await expect(killed).rejects.toThrow('timeout waiting to kill pod');
    expect(events).toMatchObject([
      {
        type: 'Warning',
        reason: 'ExceededGracePeriod',
        message: 'Container runtime did not kill the pod within specified grace period.',
      },
    ]);
  });

  it('waits for at least ten seconds, also for a pod without a spec', async () => {
    t.syncer.hold('1');
    const killed = killPodNow(
      { metadata: podOf('1').metadata },
      { podWorkers: t.workers, clock: t.clock, eventRecorder: noEvents, signal: new AbortController().signal },
    );
    t.clock.advance(9_999);
    expect(t.clock.pendingTimers).toBe(1);
    t.clock.advance(1);
    await expect(killed).rejects.toThrow('timeout waiting to kill pod');
  });
});

describe('the grace period', () => {
  it.each([
    ['use termination grace period from the spec when no overrides', undefined, undefined, 30],
    ['use pod DeletionGracePeriodSeconds when set', 5, undefined, 5],
    ['use grace period override when set', 5, 2, 2],
    ['use 1 when pod DeletionGracePeriodSeconds is zero', 0, undefined, 1],
    ['use 1 when grace period override is zero', 5, 0, 1],
  ])('Test_calculateEffectiveGracePeriod: %s', async (_, deletion, override, expected) => {
    const pod = deletion === undefined ? podOf('1') : withDeletion(podOf('1'), deletion);
    await update('kill', pod, { podTerminationGracePeriodSecondsOverride: override });
    expect(processed('1')[0]).toMatchObject({ call: 'terminating', gracePeriodSeconds: expected });
  });

  it('is never extended, and a shorter one takes effect while the pod is being terminated', async () => {
    await update('create', podOf('1'));
    const release = t.syncer.hold('1');
    await update('update', withDeletion(podOf('1'), 20));
    await update('update', withDeletion(podOf('1'), 60));
    expect(inspect('1')).toMatchObject({ gracePeriodSeconds: 20 });
    expect(t.syncer.signals.get('1')?.aborted).toBe(false);
    await update('update', withDeletion(podOf('1'), 5));
    expect(inspect('1')).toMatchObject({ gracePeriodSeconds: 5 });
    expect(t.syncer.signals.get('1')?.aborted).toBe(true);
    t.syncer.failures.set('1', [new Error('aborted')]);
    release();
    await drainAllWorkers(t);
    expect(processed('1').slice(1)).toEqual([
      { name: '1', call: 'terminating', gracePeriodSeconds: 20 },
      { name: '1', call: 'terminating', gracePeriodSeconds: 5 },
      { name: '1', call: 'terminated' },
    ]);
  });

  it('a sync in progress is aborted when the pod must be terminated', async () => {
    t.syncer.hold('1');
    await update('create', podOf('1'));
    expect(t.syncer.signals.get('1')?.aborted).toBe(false);
    await update('kill', podOf('1'));
    expect(t.syncer.signals.get('1')?.aborted).toBe(true);
  });
});

describe('killPodOptions', () => {
  const completions = (): { readonly onCompleted: () => void; count: number } => {
    const seen = { count: 0, onCompleted: () => void seen.count++ };
    return seen;
  };

  it('onCompleted is called when an update does not kill the pod', async () => {
    const completed = completions();
    await update('create', podOf('1'), completed);
    expect(completed.count).toBe(1);
    await update('update', podOf('1'), {});
    expect(callsOf('1')).toEqual(['create', 'update']);
  });

  it('onCompleted is called when the pod has already been terminated, and when it is finished', async () => {
    t.cached.set('1', emptyStatus);
    const release = t.syncer.hold('1');
    await update('create', withPhase(podOf('1'), 'Succeeded'));
    const [terminated, finished] = [completions(), completions()];
    await update('kill', podOf('1'), {});
    await update('kill', podOf('1'), terminated);
    expect([terminated.count, inspect('1')!.isFinished]).toEqual([1, false]);
    release();
    await drainAllWorkers(t);
    expect(inspect('1')).toMatchObject({ isFinished: true });
    const calls = callsOf('1');
    await update('kill', podOf('1'), finished);
    await update('kill', podOf('1'), {});
    await update('update', podOf('1'));
    expect(finished.count).toBe(1);
    expect(callsOf('1')).toEqual(calls);
    expect(inspect('1')).toMatchObject({ hasPendingUpdate: false, isWorking: false });
  });

  it('the latest podStatusFn is used, also if a later kill has none', async () => {
    const used: unknown[] = [];
    t.syncer.syncTerminatingPod = async (_pod, _status, _gracePeriod, podStatusFn) => void used.push(podStatusFn);
    const [first, second] = [(status: object) => status, (status: object) => status];
    for (const podStatusFn of [first, second, undefined])
      t.workers.updatePod({ updateType: 'kill', pod: podOf('1'), killPodOptions: { podStatusFn } });
    await drainAllWorkers(t);
    expect(used).toEqual([second]);
    expect(used[0]).toBe(second);
  });
});

describe('terminations', () => {
  it('has the pods whose containers are being stopped, with the end of their grace period and the last error', async () => {
    t.syncer.failures.set('1', [new Error('stopContainer took over 122000 ms')]);
    t.cached.set('4', emptyStatus);
    t.syncer.hold('4');
    await update('kill', podOf('1'), { podTerminationGracePeriodSecondsOverride: 5 });
    await update('create', podOf('2'));
    await update('create', withPhase(podOf('4'), 'Succeeded'));
    t.clock.advance(1_000);
    expect(t.workers.statuses.terminations()).toEqual([
      {
        podUID: '1',
        since: '2000-01-01T00:00:00Z',
        gracePeriodSeconds: 5,
        gracePeriodEndsAt: '2000-01-01T00:00:05Z',
        hasRunningContainers: true,
        lastError: 'stopContainer took over 122000 ms',
      },
    ]);
  });

  it('says that only the sandbox is left, if no container runs any more', async () => {
    t.syncer.failures.set('1', [new Error('rpc error: failed to destroy network for sandbox')]);
    t.cached.set('1', emptyStatus);
    await update('kill', podOf('1'));
    expect(t.workers.statuses.terminations()).toMatchObject([{ podUID: '1', hasRunningContainers: false }]);
  });

  it('counts a grace period of which nothing is known yet as one second', async () => {
    const release = t.syncer.hold('1');
    t.syncer.terminal.add('1');
    await update('create', podOf('1'));
    release();
    t.syncer.hold('1');
    await drainAllWorkers(t);
    expect(t.workers.statuses.terminations()).toEqual([
      {
        podUID: '1',
        since: '2000-01-01T00:00:00Z',
        gracePeriodSeconds: 1,
        gracePeriodEndsAt: '2000-01-01T00:00:01Z',
        hasRunningContainers: true,
        lastError: undefined,
      },
    ]);
    // An update that determines it does not shorten it.
    await update('update', podOf('1'));
    expect(t.syncer.signals.get('1')?.aborted).toBe(false);
  });
});

describe('the state of a worker', () => {
  it('the content of a deleted pod is removed only when it is terminated', async () => {
    await update('create', podOf('1'));
    const release = t.syncer.hold('1');
    await update('update', withDeletion(podOf('1'), 5));
    expect(t.workers.statuses.shouldPodContentBeRemoved('1')).toBe(false);
    release();
    await drainAllWorkers(t);
    expect(t.workers.statuses.shouldPodContentBeRemoved('1')).toBe(true);
  });
});

describe('the status that a sync gets', () => {
  /** The cache's observations, and what the workers asked of it. */
  function observedWorkers() {
    const asked: number[] = [];
    const observedNow: number[] = [];
    const relisted: string[] = [];
    let lastObservation = 7;
    t = createPodWorkers({
      podCache: {
        get: () => undefined,
        lastObservation: () => lastObservation,
        getNewerThan: async (_pod, observation, { observeNow = false }) => {
          asked.push(observation);
          if (observeNow) observedNow.push(observation);
          return emptyStatus;
        },
      },
      requestRelist: (uid) => {
        relisted.push(uid);
        lastObservation++;
      },
    });
    return { asked, observedNow, relisted, observe: () => lastObservation++ };
  }

  it('is of an observation that began after the sync before it had ended', async () => {
    const { asked, observe } = observedWorkers();
    const release = t.syncer.hold('1');
    await update('create', podOf('1'));
    observe();
    release();
    await drainAllWorkers(t);
    await update('sync', podOf('1'));
    expect(asked).toEqual([0, 8]);
  });

  it('is waited for by a sync, but observed now, once, for a pod that is to end', async () => {
    const { asked, observedNow } = observedWorkers();
    await update('create', podOf('1'));
    await update('sync', podOf('1'));
    await update('kill', podOf('1'));
    await drainAllWorkers(t);
    expect(asked).toEqual([0, 7, 7, 7]);
    expect(observedNow).toEqual([7]);
  });

  it('is newer than a sync that failed, too', async () => {
    const { asked } = observedWorkers();
    t.syncer.failures.set('1', [new Error('no')]);
    await update('create', podOf('1'));
    await update('sync', podOf('1'));
    expect(asked).toEqual([0, 7]);
  });

  it('is requested immediately after a sync that changed something, and after the pod was stopped', async () => {
    const { asked, relisted } = observedWorkers();
    await update('create', podOf('1'));
    expect(relisted).toEqual([]);
    t.syncer.changing.add('1');
    await update('sync', podOf('1'));
    expect(relisted).toEqual(['1']);
    t.syncer.changing.delete('1');
    await update('kill', podOf('1'));
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual(['create', 'sync', 'terminating', 'terminated']);
    expect(relisted).toEqual(['1', '1']);
    // The relist of a sync counts for the next one: it begins after the sync has ended.
    expect(asked).toEqual([0, 7, 7, 8]);
  });
});

describe('failures', () => {
  it('a pod that is killed while its status is read is not synced again', async () => {
    const reads: (() => void)[] = [];
    t = createPodWorkers({
      podCache: {
        get: () => undefined,
        lastObservation: () => 0,
        getNewerThan: () => new Promise((resolve) => reads.push(() => resolve(emptyStatus))),
      },
    });
    await update('create', podOf('1'));
    await update('kill', podOf('1'));
    reads.shift()!();
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual([]);
    reads.shift()!();
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual(['terminating']);
  });

  it('if the runtime status cannot be read, the pod is not synced, an event is recorded, and the sync is retried', async () => {
    const events: PodEvent[] = [];
    t = createPodWorkers({
      podCache: {
        get: () => undefined,
        lastObservation: () => 0,
        getNewerThan: () => Promise.reject(new Error('runtime is down')),
      },
      eventRecorder: { event: (event) => events.push(event) },
    });
    await update('create', podOf('1'));
    expect(callsOf('1')).toEqual([]);
    expect(events).toMatchObject([{ reason: 'FailedSync', message: 'error determining status: runtime is down' }]);
    t.clock.advance(9_999);
    expect(t.workers.statuses.getWork()).toEqual([]);
    t.clock.advance(1);
    expect(t.workers.statuses.getWork()).toEqual(['1']);
  });
});

describe('getWork', () => {
  it('the sync loop is told when a pod is due, and nextWorkMs() is the time of the first one', async () => {
    const startMs = t.clock.monotonicMs();
    expect(t.workers.statuses.nextWorkMs()).toBe(Infinity);
    t.syncer.failures.set('a', [new Error('due after 10 s')]);
    await update('create', podOf('b'));
    await update('create', podOf('a'));
    expect(t.dueTimes.map((dueMs) => dueMs - startMs)).toEqual([60_000, 10_000]);
    expect(t.workers.statuses.nextWorkMs()).toBe(startMs + 10_000);
  });

  it('returns each pod once, when it is due, and not while it only was to be due before its last sync', async () => {
    t.syncer.failures.set('a', [new Error('due after 10 s')]);
    await update('create', podOf('a'));
    await update('create', podOf('b'));
    t.clock.advance(5000);
    await update('sync', podOf('a'));
    t.clock.advance(54_999);
    expect(t.workers.statuses.getWork()).toEqual([]);
    t.clock.advance(1);
    expect(t.workers.statuses.getWork()).toEqual(['b']);
    t.clock.advance(5000);
    expect(t.workers.statuses.getWork()).toEqual(['a']);
    t.clock.advance(3_600_000);
    expect(t.workers.statuses.getWork()).toEqual([]);
  });
});

function syncKnown(uids: readonly string[]): Record<string, string> {
  const known = t.workers.syncKnownPods(uids.map((uid) => podOf(uid)));
  t.workers.statuses.podsSynced();
  return Object.fromEntries(
    [...known].map(([uid, { state, isOrphan, hasConfig, isStatic }]) => [
      uid,
      [state, isOrphan && 'orphan', hasConfig && 'config', isStatic && 'static'].filter(Boolean).join(', '),
    ]),
  );
}

/** The static pods that have started, and those that wait for their turn. */
function expectStaticPods(started: readonly string[], waiting: readonly string[]): void {
  const pods = t.workers.statuses.inspect().filter(({ uid, isFinished }) => uid.endsWith('-static') && !isFinished);
  const uidsOf = (hasStarted: boolean): string[] =>
    pods.filter((pod) => pod.hasStarted === hasStarted).map(({ uid }) => uid);
  expect({ started: uidsOf(true), waiting: uidsOf(false) }).toEqual({ started, waiting });
}
