import { beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import type { PodEvent, RuntimePod } from 'kubelet-status-manager/agent';
import { recordingLogger } from 'kubelet-status-manager/testing';
import type { SyncPodType } from '../../../src/node/pod-workers/update-pod-options.ts';
import type { PodWorkerInspection } from '../../../src/node/pod-workers/pod-worker-inspection.ts';
import { SyncActionError } from '../../../src/node/pod-workers/sync-action.ts';
import {
  createPodWorkers,
  drainAllWorkers,
  emptyStatus,
  newNamedPod,
  type TestWorkers,
} from './recording-pod-syncer.ts';

const podOf = (uid: string): ValidPod => newNamedPod(uid, 'ns', uid);
const staticPodOf = (uid: string): ValidPod => newNamedPod(uid, 'test1', 'pod1', true);
const runtimePod: RuntimePod = { uid: '1', name: 'orphan', namespace: 'ns', containers: [] };
const day = 86_400_000;

let t: TestWorkers;
beforeEach(() => {
  t = createPodWorkers();
});

async function update(updateType: SyncPodType, pod: ValidPod): Promise<void> {
  t.workers.updatePod({ updateType, pod });
  await drainAllWorkers(t);
}

const callsOf = (uid: string): string[] => (t.syncer.processed.get(uid) ?? []).map(({ call }) => call);

function inspect(uid: string): PodWorkerInspection | undefined {
  return t.workers.statuses.inspect().find((worker) => worker.uid === uid);
}

/** Statuses of the runtime that are read when the test says so. */
function heldReads(options: Parameters<typeof createPodWorkers>[0] = {}) {
  const reads: { readonly signal: AbortSignal; resolve(): void; reject(error: Error): void }[] = [];
  t = createPodWorkers({
    ...options,
    podCache: {
      get: () => undefined,
      lastObservation: () => 0,
      getNewerThan: (_pod, _observation, { signal }) =>
        new Promise((resolve, reject) => reads.push({ signal: signal!, resolve: () => resolve(emptyStatus), reject })),
    },
  });
  return reads;
}

describe('stop', () => {
  it('aborts the syncs in progress and resolves when they have ended', async () => {
    const release = t.syncer.hold('1');
    await update('create', podOf('1'));
    await update('create', podOf('2'));
    let isStopped = false;
    const stopped = t.workers.stop().then(() => (isStopped = true));
    expect(t.syncer.signals.get('1')?.aborted).toBe(true);
    await drainAllWorkers(t);
    expect(isStopped).toBe(false);
    release();
    await stopped;
  });

  it('starts no sync afterwards, neither of a pending nor of a later update', async () => {
    const release = t.syncer.hold('1');
    await update('create', podOf('1'));
    await update('update', podOf('1'));
    const stopped = t.workers.stop();
    release();
    await stopped;
    await update('create', podOf('2'));
    expect([callsOf('1'), callsOf('2')]).toEqual([['create'], []]);
    expect(inspect('2')).toMatchObject({ isWorking: false, hasPendingUpdate: false });
  });
});

describe('a worker', () => {
  it('syncs a pod again at once if its sync says so', async () => {
    t.syncer.syncedAgain.add('1');
    await update('create', podOf('1'));
    expect(callsOf('1')).toEqual(['create', 'sync']);
  });

  it('does not sync a pod that was orphaned before its first sync began', async () => {
    t.workers.updatePod({ updateType: 'create', pod: podOf('1') });
    t.workers.syncKnownPods([]);
    await drainAllWorkers(t);
    expect(callsOf('1')).toEqual([]);
    expect(t.workers.statuses.inspect()).toEqual([]);
  });

  it('asks for no further sync of a finished pod', async () => {
    await update('create', podOf('1'));
    await update('kill', podOf('1'));
    expect(inspect('1')).toMatchObject({ isFinished: true, isWorking: false, hasPendingUpdate: false });
    t.clock.advance(day);
    expect(t.workers.statuses.getWork()).toEqual([]);
  });

  it('has been terminated since its containers stopped, not since its resources were cleaned up', async () => {
    const reads = heldReads();
    await update('create', podOf('1'));
    await update('kill', podOf('1'));
    for (let syncs = 0; syncs < 2; syncs++) {
      reads.shift()!.resolve();
      await drainAllWorkers(t);
    }
    const { state, since } = inspect('1')!;
    expect(state).toBe('terminated');
    t.clock.advance(5_000);
    reads.shift()!.resolve();
    await drainAllWorkers(t);
    expect(inspect('1')).toMatchObject({ isFinished: true, since });
  });

  it('keeps the request of a kill that arrives while a sync finds the pod terminal', async () => {
    const release = t.syncer.hold('1');
    t.syncer.terminal.add('1');
    await update('create', podOf('1'));
    let completed = 0;
    t.workers.updatePod({
      updateType: 'kill',
      pod: podOf('1'),
      killPodOptions: { podTerminationGracePeriodSecondsOverride: 5, onCompleted: () => completed++ },
    });
    release();
    await drainAllWorkers(t);
    expect(t.syncer.processed.get('1')![1]).toEqual({ name: '1', call: 'terminating', gracePeriodSeconds: 5 });
    expect(completed).toBe(1);
  });

  it('starts no container any more as soon as a sync has found the pod terminal', async () => {
    const reads = heldReads();
    t.syncer.terminal.add('1');
    await update('create', podOf('1'));
    reads.shift()!.resolve();
    await drainAllWorkers(t);
    expect(inspect('1')).toMatchObject({ state: 'terminating' });
  });

  it('passes a signal to each call, which a kill aborts', async () => {
    const reads = heldReads();
    await update('create', podOf('1'));
    await update('kill', podOf('1'));
    expect(reads[0]!.signal.aborted).toBe(true);
    reads[0]!.reject(new Error('aborted'));
    await drainAllWorkers(t);
    for (const call of ['terminating', 'terminated']) {
      t.syncer.signals.clear();
      reads.at(-1)!.resolve();
      await drainAllWorkers(t);
      expect(callsOf('1').at(-1)).toBe(call);
      expect(t.syncer.signals.get('1')).toBeInstanceOf(AbortSignal);
    }
  });

  it('a pod that only the runtime knows has never been started, and starts no container while it is killed', async () => {
    t.syncer.hold('1');
    t.workers.updatePod({ updateType: 'kill', runningPod: runtimePod });
    await drainAllWorkers(t);
    expect(inspect('1')).toMatchObject({ hasStarted: false, fullName: 'orphan_ns' });
    expect(t.syncer.signals.get('1')?.aborted).toBe(false);
  });
});

describe('a static pod that waits for another one of its name', () => {
  it('is not working, and is tried again after the back-off period', async () => {
    await update('update', staticPodOf('1'));
    await update('update', staticPodOf('2'));
    expect(inspect('2')).toMatchObject({ isWorking: false, hasStarted: false, hasPendingUpdate: true });
    t.clock.advance(10_000);
    expect(t.workers.statuses.getWork()).toEqual(['2']);
  });

  it('is finished without a start when it is killed', async () => {
    await update('update', staticPodOf('1'));
    await update('update', staticPodOf('2'));
    await update('kill', staticPodOf('2'));
    expect(inspect('2')).toMatchObject({ isFinished: true, isWorking: false, hasPendingUpdate: false });
    t.clock.advance(day);
    expect(t.workers.statuses.getWork()).toEqual(['1']);
  });

  it('starts when those before it have been forgotten', async () => {
    for (const uid of ['1', '2', '3']) await update('update', staticPodOf(uid));
    t.workers.syncKnownPods([staticPodOf('1'), staticPodOf('3')]);
    await update('kill', staticPodOf('1'));
    await update('sync', staticPodOf('3'));
    expect(callsOf('3')).toEqual(['sync']);
  });
});

describe('a failed sync', () => {
  let logger: ReturnType<typeof recordingLogger>;
  beforeEach(() => {
    logger = recordingLogger();
    t = createPodWorkers({ logger });
  });

  const messages = (): unknown[] => logger.lines.map(({ level, message }) => `${level}: ${message}`);

  it('is logged with the pod, its state and the reason, and its end, too', async () => {
    t.syncer.failures.set('1', [new Error('runtime is down')]);
    await update('create', podOf('1'));
    expect(inspect('1')).toMatchObject({ failureReason: 'runtime is down' });
    expect(logger.lines).toMatchObject([
      {
        level: 'error',
        message: 'Failed to sync pod; it will be retried',
        fields: { pod: 'ns/1', podUID: '1', state: 'syncing', reason: 'runtime is down' },
      },
    ]);
    await update('sync', podOf('1'));
    expect(inspect('1')).toMatchObject({ failureReason: undefined, failingSince: undefined });
    expect(logger.lines.at(-1)).toMatchObject({
      level: 'info',
      message: 'The pod can be synced again',
      fields: { pod: 'ns/1', podUID: '1' },
    });
  });

  it('is logged once as long as its reasons stay the same, whatever their messages say', async () => {
    const failure = (wait: string): Error => new SyncActionError('ErrImagePull', `back-off ${wait}`);
    t.syncer.failures.set('1', [failure('10s'), failure('20s'), new Error('x'), new Error('y'), new Error('y')]);
    for (let syncs = 0; syncs < 5; syncs++) await update('sync', podOf('1'));
    expect(logger.lines.map(({ fields }) => fields.reason)).toEqual(['back-off 10s', 'x', 'y']);
  });

  it('is logged at info if a container is in CrashLoopBackOff and nothing else fails', async () => {
    const crashLoop = new SyncActionError('CrashLoopBackOff', 'back-off 10s');
    t.syncer.failures.set('1', [crashLoop]);
    t.syncer.failures.set('2', [new AggregateError([crashLoop, new SyncActionError('ErrImagePull', 'no')])]);
    await update('create', podOf('1'));
    await update('create', podOf('2'));
    expect(messages()).toEqual([
      'info: Failed to sync pod; it will be retried',
      'error: Failed to sync pod; it will be retried',
    ]);
  });

  it('of a pod that only the runtime knows is logged with its name', async () => {
    t.syncer.failures.set('1', [new Error('no')]);
    t.workers.updatePod({ updateType: 'kill', runningPod: runtimePod });
    await drainAllWorkers(t);
    expect(logger.lines).toMatchObject([{ fields: { pod: 'ns/orphan', podUID: '1', state: 'terminating' } }]);
  });

  it('is a failure if it rejects without a reason, too: the pod does not reach its next state', async () => {
    t.syncer.failures.set('1', []);
    await update('create', podOf('1'));
    t.syncer.syncTerminatingPod = () => Promise.reject(undefined);
    await update('kill', podOf('1'));
    expect(inspect('1')).toMatchObject({ state: 'terminating', failureReason: 'rejected without a reason' });
    t.clock.advance(10_000);
    expect(t.workers.statuses.getWork()).toEqual(['1']);
  });

  it('of a sync that a kill aborted is no failure, and records no Event', async () => {
    const events: PodEvent[] = [];
    const reads = heldReads({ logger, eventRecorder: { event: (event) => events.push(event) } });
    await update('create', podOf('1'));
    await update('kill', podOf('1'));
    reads[0]!.reject(new Error('aborted'));
    await drainAllWorkers(t);
    expect(inspect('1')).toMatchObject({ state: 'terminating', failureReason: undefined });
    expect([events, logger.lines]).toEqual([[], []]);
    reads[1]!.reject(new Error('runtime is down'));
    await drainAllWorkers(t);
    expect(events).toMatchObject([{ type: 'Warning', reason: 'FailedSync' }]);
    expect(inspect('1')).toMatchObject({ failureReason: 'runtime is down' });
  });
});
