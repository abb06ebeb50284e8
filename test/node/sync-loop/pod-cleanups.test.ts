import { beforeEach, describe, expect, it } from 'vitest';
import { BasicPodManager, type ValidPod, StatusManager } from 'kubelet-status-manager';
import type { RuntimePod } from 'kubelet-status-manager/agent';
import type { PodWorkerInspection } from '../../../src/node/pod-workers/pod-worker-inspection.ts';
import { FakeContainerRuntime, recordingLogger, silentLogger } from 'kubelet-status-manager/testing';
import {
  handlePodCleanups,
  type OrphanedPodsParticipants,
  removeOrphanedPods,
} from '../../../src/node/sync-loop/pod-cleanups.ts';
import {
  createPodWorkers,
  drainAllWorkers,
  type SyncPodRecord,
  type TestWorkers,
} from '../pod-workers/recording-pod-syncer.ts';

const { signal } = new AbortController();
const deletionTimestamp = '2026-01-02T03:04:05Z';
const uid = '1';

const podOf = (annotations: Record<string, string> = {}, metadata: Partial<ValidPod['metadata']> = {}): ValidPod => ({
  metadata: { uid, name: 'pod1', namespace: 'ns1', annotations, ...metadata },
  spec: { containers: [{ name: 'container-1' }] },
});
const simplePod = (): ValidPod => podOf();
const staticPod = (annotations: Record<string, string> = {}): ValidPod =>
  podOf({ 'kubernetes.io/config.source': 'file', ...annotations });
const deletedPod = (): ValidPod => {
  const pod = podOf({}, { deletionTimestamp, deletionGracePeriodSeconds: 2 });
  return { ...pod, spec: { ...pod.spec, terminationGracePeriodSeconds: 2 } };
};
const withPhase = (pod: ValidPod, phase: string): ValidPod => ({ ...pod, status: { phase } });
const runtimePod: RuntimePod = {
  uid,
  name: 'pod1',
  namespace: 'ns1',
  containers: [{ id: 'test://c1', name: 'container-1', state: 'running', createdAtMs: 0 }],
};

let t: TestWorkers;
let podManager: BasicPodManager;
let statusManager: StatusManager<BasicPodManager>;
let runtime: FakeContainerRuntime;
let remaining: string[][];
/** The pods whose folders stay. */
let existingPods: Pick<ReadonlySet<string>, 'has'>;
let measured: Map<string, number>;
let rejected: Set<string>;
beforeEach(() => {
  t = createPodWorkers();
  podManager = new BasicPodManager();
  statusManager = new StatusManager({
    podManager,
    podDeletionSafety: t.workers.statuses,
    clock: t.clock,
    logger: silentLogger,
  });
  runtime = new FakeContainerRuntime({ clock: t.clock });
  remaining = [];
  measured = new Map();
  rejected = new Set();
});

async function cleanUp(): Promise<void> {
  await handlePodCleanups(
    {
      ...{ podManager, podWorkers: t.workers, statusManager, logger: silentLogger },
      dispatcher: { isRejected: (uid) => rejected.has(uid) },
      listPods: (signal) => runtime.listPods({ signal }),
      recordMetric: (name, value, ...labels) => void measured.set([name, ...labels].join(' '), value),
      allocationManager: { removeOrphanedPods: (uids) => void remaining.push([...uids]) },
      podSyncer: { removeOrphanedPods: (uids) => void remaining.push([...uids]) },
      orphanedPodDirs: { cleanUp: (existing) => void (existingPods = existing) },
    },
    signal,
  );
  await drainAllWorkers(t);
}

const update = async (...[options]: Parameters<TestWorkers['workers']['updatePod']>): Promise<void> => {
  t.workers.updatePod(options);
  await drainAllWorkers(t);
};
const records = (): SyncPodRecord[] => t.syncer.processed.get(uid) ?? [];
const calls = (): string[] => records().map(({ call }) => call);
const worker = (): PodWorkerInspection | undefined => t.workers.statuses.inspect().find((pod) => pod.uid === uid);
const unableToTerminate = (times = 1): void =>
  void t.syncer.failures.set(
    uid,
    Array.from({ length: times }, () => new Error('unable to terminate')),
  );

describe('TestKubelet_HandlePodCleanups', () => {
  it('missing pod is requested for termination with short grace period', async () => {
    runtime.put(runtimePod);
    await cleanUp();
    expect(calls()).toEqual(['terminating runtime pod']);
    expect(worker()).toBeUndefined();
  });

  it('a pod without a worker could have running containers until the runtime has listed its pods', async () => {
    const couldRun = (): boolean => t.workers.statuses.couldHaveRunningContainers(uid);
    const listPods = runtime.listPods.bind(runtime);
    runtime.put(runtimePod);
    runtime.listPods = async () => {
      throw new Error('connection refused');
    };
    await expect(cleanUp()).rejects.toThrow('connection refused');
    expect(couldRun()).toBe(true);
    runtime.listPods = listPods;
    const release = t.syncer.hold(uid);
    await cleanUp();
    expect(couldRun()).toBe(true);
    release();
    await drainAllWorkers(t);
    expect(couldRun()).toBe(false);
  });

  it('a pod whose worker ends it while the runtime lists it is not killed as an orphan', async () => {
    runtime.put(runtimePod);
    await update({ updateType: 'create', pod: simplePod() });
    const release = t.syncer.hold(uid);
    await update({ updateType: 'kill', pod: deletedPod() });
    const listPods = runtime.listPods.bind(runtime);
    runtime.listPods = async (...args) => {
      const listed = await listPods(...args);
      release();
      await drainAllWorkers(t);
      t.workers.syncKnownPods([]);
      return listed;
    };
    await cleanUp();
    expect(calls()).toEqual(['create', 'terminating', 'terminated']);
  });

  it('terminating pod that errored and is not in config is notified by the cleanup', async () => {
    runtime.put(runtimePod);
    await update({ updateType: 'create', pod: simplePod() });
    unableToTerminate(2);
    await update({ updateType: 'kill', pod: deletedPod() });
    const terminating = { name: 'pod1', call: 'terminating', gracePeriodSeconds: 2 };
    expect(records().slice(1)).toEqual([terminating]);
    await cleanUp();
    expect(records().slice(1)).toEqual([terminating, terminating]);
    expect(worker()).toMatchObject({ state: 'terminating', isDeleted: true, isWorking: false });
    await cleanUp();
    expect(records().slice(1)).toEqual([terminating, terminating, terminating, { name: 'pod1', call: 'terminated' }]);
    expect(worker()).toMatchObject({ state: 'terminated', isFinished: true, isDeleted: true });
  });

  it('terminating pod that errored and is not in config or worker is force killed by the cleanup', async () => {
    runtime.put(runtimePod);
    unableToTerminate();
    await cleanUp();
    expect(calls()).toEqual(['terminating runtime pod']);
    expect(worker()).toMatchObject({ state: 'terminating', isDeleted: true, gracePeriodSeconds: 1 });
    await cleanUp();
    expect(calls()).toEqual(['terminating runtime pod', 'terminating runtime pod']);
    expect(worker()).toBeUndefined();
  });

  it('pod is added to worker by sync method', async () => {
    podManager.setPods([simplePod()]);
    await cleanUp();
    expect(calls()).toEqual(['create']);
    expect(worker()).toMatchObject({ state: 'syncing', isDeleted: false });
  });

  it('pod is not added to worker by sync method because it is in a terminal phase', async () => {
    podManager.setPods([withPhase(simplePod(), 'Failed')]);
    await cleanUp();
    expect(worker()).toBeUndefined();
  });

  it('pod is not added to worker by sync method because it has been rejected', async () => {
    podManager.setPods([simplePod()]);
    statusManager.setPodStatus(simplePod(), { phase: 'Failed', reason: 'Test', message: 'rejected' });
    await cleanUp();
    expect(worker()).toBeUndefined();
  });

  it('a rejected pod is not started when its status was dropped, because another pod has its name by now', async () => {
    podManager.setPods([simplePod()]);
    rejected.add(uid);
    await cleanUp();
    expect(worker()).toBeUndefined();
    expect(measured.get('restarted_pods_total')).toBeUndefined();
  });

  it('terminating pod that is known to the config gets no update during pod cleanup', async () => {
    podManager.setPods([deletedPod()]);
    runtime.put(runtimePod);
    await update({ updateType: 'create', pod: simplePod() });
    unableToTerminate();
    await update({ updateType: 'kill', pod: deletedPod() });
    await cleanUp();
    expect(calls()).toEqual(['create', 'terminating']);
    expect(worker()).toMatchObject({ state: 'terminating', isDeleted: true, isWorking: false });
  });

  describe('a static pod that waits for another one of its name', () => {
    beforeEach(async () => {
      await update({ updateType: 'create', pod: { ...staticPod(), metadata: { ...staticPod().metadata, uid: '2' } } });
      await update({ updateType: 'create', pod: staticPod() });
    });
    const other = (): ValidPod => ({ ...staticPod(), metadata: { ...staticPod().metadata, uid: '2' } });

    it('pod that could not start and is not in config is force terminated during pod cleanup', async () => {
      podManager.setPods([other()]);
      runtime.put(runtimePod);
      await cleanUp();
      expect(calls()).toEqual(['terminating runtime pod']);
      expect(worker()).toBeUndefined();
    });

    it('pod that could not start still has a pending update and is tracked in metrics', async () => {
      podManager.setPods([other(), staticPod()]);
      await cleanUp();
      expect(calls()).toEqual([]);
      expect(worker()).toMatchObject({ state: 'syncing', hasStarted: false, hasPendingUpdate: true });
    });

    it('pod that could not start and is not in config is force terminated without runtime during pod cleanup', async () => {
      podManager.setPods([other()]);
      await cleanUp();
      expect(calls()).toEqual([]);
      expect(worker()).toBeUndefined();
    });
  });

  it('pod that is terminating is recreated by config with the same UID', async () => {
    const again = staticPod({ version: '2' });
    podManager.setPods([again]);
    runtime.put(runtimePod);
    await update({ updateType: 'create', pod: staticPod() });
    unableToTerminate();
    t.workers.updatePod({ updateType: 'kill', pod: staticPod() });
    await update({ updateType: 'create', pod: again });
    const expected = [
      { name: 'pod1', call: 'create' },
      { name: 'pod1', call: 'terminating', gracePeriodSeconds: 1 },
    ];
    expect(records()).toEqual(expected);
    await cleanUp();
    expect(records()).toEqual(expected);
    expect(worker()).toMatchObject({ state: 'terminating', isDeleted: false, isRestartRequested: true });
  });

  it('started pod that is not in config is force terminated during pod cleanup', async () => {
    runtime.put(runtimePod);
    await update({ updateType: 'create', pod: staticPod() });
    unableToTerminate();
    await cleanUp();
    expect(calls()).toEqual(['create', 'terminating']);
    expect(worker()).toMatchObject({ state: 'terminating', isDeleted: true });
  });

  it('started pod that is not in config or runtime is force terminated during pod cleanup', async () => {
    await update({ updateType: 'create', pod: staticPod() });
    unableToTerminate();
    await cleanUp();
    expect(calls()).toEqual(['create', 'terminating']);
    await cleanUp();
    expect(calls()).toEqual(['create', 'terminating', 'terminating', 'terminated']);
    expect(worker()).toMatchObject({ state: 'terminated', isFinished: true });
  });

  it('terminated pod is restarted in the same invocation that it is detected', async () => {
    const again = podOf({ version: '2' });
    podManager.setPods([again]);
    await update({ updateType: 'create', pod: simplePod() });
    t.workers.updatePod({ updateType: 'kill', pod: simplePod() });
    await update({ updateType: 'create', pod: again });
    await cleanUp();
    expect(calls()).toEqual(['create', 'terminating', 'terminated', 'create']);
    expect(worker()).toMatchObject({ state: 'syncing', isDeleted: false });
  });
});

it('TestHandlePodCleanups', async () => {
  runtime.put({ ...runtimePod, uid: '12345678', name: 'foo', namespace: 'new' });
  await cleanUp();
  expect([...t.syncer.processed]).toEqual([['12345678', [{ name: 'foo', call: 'terminating runtime pod' }]]]);
});

it('TestPurgingObsoleteStatusMapEntries', async () => {
  const pods = ['1234', '4567'].map((podUID) => podOf({}, { uid: podUID, name: podUID }));
  podManager.setPods(pods);
  for (const pod of pods) statusManager.setPodStatus(pod, { phase: 'Pending' });
  await cleanUp();
  expect(statusManager.getPodStatus('4567')).toBeDefined();
  podManager.setPods([]);
  await cleanUp();
  // Their workers have ended and are forgotten in the next round.
  await cleanUp();
  expect(statusManager.getPodStatus('4567')).toBeUndefined();
});

it('TestFilterTerminalPodsToDelete: a refused pod that is deleted is finished, so that its object can be deleted', async () => {
  podManager.setPods([withPhase(deletedPod(), 'Failed')]);
  await cleanUp();
  expect(calls()).toEqual(['terminating', 'terminated']);
  expect(worker()).toMatchObject({ isFinished: true });
});

it('allocations of pods that are gone are removed', async () => {
  podManager.setPods([simplePod()]);
  const gone = podOf({}, { uid: '2', name: 'gone' });
  t.workers.updatePod({ updateType: 'create', pod: simplePod() });
  await update({ updateType: 'create', pod: gone });
  await cleanUp();
  expect(remaining).toEqual([['1'], ['1']]);
});

it('a runtime that cannot list its pods: nothing is killed, and the next call tries again', async () => {
  runtime.put(runtimePod);
  runtime.fail({ method: 'listPods' }, 'connection refused');
  await expect(cleanUp()).rejects.toThrow('connection refused');
  expect(calls()).toEqual([]);
  await cleanUp();
  expect(calls()).toEqual(['terminating runtime pod']);
});

it('exited containers that only the runtime knows are left to the garbage collection', async () => {
  runtime.put({ ...runtimePod, containers: [{ ...runtimePod.containers[0]!, state: 'exited', exitCode: 0 }] });
  await cleanUp();
  expect(calls()).toEqual([]);
});

describe('the counts of pods', () => {
  /** Those that are not 0, without the gauges of pods. */
  const working = () => [...measured].filter(([name, value]) => value > 0 && name.startsWith('working_pods'));

  it('are by source and by what the API server or the runtime shows', async () => {
    podManager.setPods([
      podOf({}, { uid: 'a', name: 'a' }),
      withPhase(podOf({}, { uid: 'ended', name: 'ended' }), 'Succeeded'),
      podOf({ 'kubernetes.io/config.source': 'file' }, { uid: 's', name: 's' }),
      podOf({ 'kubernetes.io/config.mirror': 'hash' }, { uid: 'mirror', name: 's' }),
    ]);
    await update({ updateType: 'create', pod: podOf({}, { uid: 'a', name: 'a' }) });
    runtime.put(runtimePod);
    await cleanUp();
    expect(Object.fromEntries(measured)).toMatchObject({
      ...{ 'desired_pods ': 2, 'desired_pods true': 1, 'active_pods ': 1, 'active_pods true': 1, mirror_pods: 1 },
      ...{ 'restarted_pods_total ': 0, 'restarted_pods_total true': 1, orphaned_runtime_pods_total: 1 },
    });
    expect(working()).toEqual([
      ['working_pods sync desired ', 1],
      ['working_pods sync desired true', 1],
      ['working_pods terminating runtime_only unknown', 1],
    ]);
  });

  it('are by the state of their workers, and all combinations are shown from the first time on', async () => {
    const pod = podOf({}, { uid: 'a', name: 'a' });
    await update({ updateType: 'create', pod });
    const release = t.syncer.hold('a');
    t.workers.updatePod({ updateType: 'kill', pod });
    await cleanUp();
    expect(working()).toEqual([['working_pods terminating orphan ', 1]]);
    release();
    await drainAllWorkers(t);
    podManager.setPods([pod]);
    await cleanUp();
    expect(working()).toEqual([['working_pods terminated desired ', 1]]);
    expect([...measured.keys()].filter((name) => name.startsWith('working_pods'))).toHaveLength(15);
  });
});

describe('folders of pods', () => {
  it('are kept while the pod exists, has a worker, or runs', async () => {
    podManager.setPods([withPhase(podOf({}, { uid: 'ended' }), 'Succeeded')]);
    runtime.put(runtimePod);
    await cleanUp();
    // Only the runtime knew it, so it is being killed.
    const kept = ['1', 'ended', 'gone'].filter((podUID) => existingPods.has(podUID));
    expect(kept).toEqual(['1', 'ended']);
    await drainAllWorkers(t);
  });

  it('are kept if the pod is added while folders are being removed', async () => {
    await cleanUp();
    expect(existingPods.has('later')).toBe(false);
    await update({ updateType: 'create', pod: podOf({}, { uid: 'later' }) });
    expect(existingPods.has('later')).toBe(true);
  });

  it('are kept while containers of an evicted pod could be running', async () => {
    await cleanUp();
    const evicted = podOf({}, { uid: 'evicted' });
    await update({ updateType: 'create', pod: evicted });
    const release = t.syncer.hold('evicted');
    await update({ updateType: 'kill', pod: evicted, killPodOptions: { evict: true } });
    expect(t.workers.statuses.shouldPodContentBeRemoved('evicted')).toBe(true);
    expect(existingPods.has('evicted')).toBe(true);
    release();
    await drainAllWorkers(t);
    expect(existingPods.has('evicted')).toBe(false);
  });
});

it('a pod that is added while the runtime lists its pods is not killed as an orphan', async () => {
  const listPods = runtime.listPods.bind(runtime);
  runtime.listPods = async (...args) => {
    podManager.setPods([simplePod()]);
    t.workers.updatePod({ updateType: 'create', pod: simplePod() });
    runtime.put(runtimePod);
    return listPods(...args);
  };
  await cleanUp();
  expect(calls()).toEqual(['create']);
});

describe('removeOrphanedPods', () => {
  const remaining = { desired: new Set<string>(), existing: new Set<string>() };
  const mirrorPod = podOf({ 'kubernetes.io/config.mirror': 'hash' }, { uid: 'mirror', name: 'gone' });
  const remove = (options: Partial<OrphanedPodsParticipants>): void =>
    removeOrphanedPods(
      { ...remaining, orphanedMirrorPods: [mirrorPod] },
      {
        ...{ podWorkers: t.workers, statusManager, logger: silentLogger },
        allocationManager: { removeOrphanedPods: () => {} },
        podSyncer: { removeOrphanedPods: () => {} },
        ...options,
      },
    );

  it('a participant that fails keeps no other one from it; that is logged', () => {
    const logger = recordingLogger();
    const deleted: unknown[] = [];
    const mirrorPods = { deleteOrphans: (orphans: Iterable<ValidPod>) => void deleted.push(...orphans) };
    const allocationManager = {
      removeOrphanedPods() {
        throw new Error('disk is full');
      },
    };
    remove({ allocationManager, mirrorPods, logger });
    expect(deleted).toEqual([mirrorPod]);
    expect(logger.lines).toMatchObject([
      { message: 'Failed to remove what is left of orphaned pods', fields: { reason: 'disk is full' } },
    ]);
  });

  it('an agent may have no mirror pods and no folders', () => {
    const logger = recordingLogger();
    remove({ logger });
    expect(logger.lines).toEqual([]);
  });

  it('a mirror pod waits until its static pod has ended', async () => {
    const release = t.syncer.hold(uid);
    await update({ updateType: 'create', pod: staticPod() });
    t.workers.updatePod({ updateType: 'kill', pod: staticPod() });
    const asked: unknown[] = [];
    remove({ mirrorPods: { deleteOrphans: (_, isTerminating) => void asked.push(isTerminating('pod1_ns1')) } });
    expect(asked).toEqual([true]);
    release();
  });
});
