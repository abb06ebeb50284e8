import { totalmem } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger, settle, silentLogger } from 'kubelet-status-manager/testing';
import {
  createEvictionManager,
  type EvictionOptions,
  type EvictionSources,
} from '../../../src/agent/eviction/create-eviction-manager.ts';
import type { EvictionManager } from '../../../src/agent/eviction/eviction-manager.ts';
import { fileSystemInfo } from '../../../src/node/runtime/runtime-storage.ts';
import { quantityValue } from '../../../src/kube/objects/quantity.ts';
import { TestDirectories } from '../../support/directories.ts';
import { boundedVolumeManager } from '../../../src/agent/volumes/bounded-volume-manager.ts';
import { asBounded } from '../../support/as-bounded.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());
let rootDirectory: string;
let reclaimed: string[];
let updates: { readonly uid: string; readonly gracePeriodSeconds: number | undefined }[];
let sources: EvictionSources;
let pods: ValidPod[];
const pod: ValidPod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'app', resources: { limits: { 'ephemeral-storage': '10' } } }] },
};
beforeEach(() => {
  rootDirectory = directories.create();
  [reclaimed, updates, pods] = [[], [], [pod]];
  sources = {
    nodeName: 'node-a',
    runtime: asBounded({ listPodStats: async () => [] }),
    volumeManager: undefined,
    eviction: undefined,
    statuses: { isPodKnownTerminated: () => true, shouldPodContentBeRemoved: () => false },
    podWorkers: {
      updatePod: (update) => {
        const gracePeriodSeconds = update.killPodOptions?.podTerminationGracePeriodSecondsOverride;
        updates.push({ uid: update.pod?.metadata?.uid ?? '', gracePeriodSeconds });
        update.killPodOptions?.onCompleted?.();
      },
    },
    getActivePods: () => pods,
    containerGC: {
      deleteAllUnusedContainers: async () => void reclaimed.push('containers'),
    } as unknown as EvictionSources['containerGC'],
    imageGC: { deleteUnusedImages: async () => void reclaimed.push('images') } as unknown as EvictionSources['imageGC'],
    podEvicted: () => {},
    eventRecorder: { event: () => {} },
    clock: new FakeClock(),
    logger: silentLogger,
  };
});

describe('pods are measured', () => {
  it('not at all without thresholds and without stats', () => {
    expect(createEvictionManager({ ...sources, runtime: {} })).toBeUndefined();
    expect(createEvictionManager({ ...sources, runtime: {}, eviction: { hard: {} } })).toBeUndefined();
  });

  it('for limits of local storage by the stats of the runtime or of volumes', () => {
    expect(createEvictionManager(sources)).toBeDefined();
    const volumeManager = { getPodVolumeStats: async () => undefined } as unknown as EvictionSources['volumeManager'];
    expect(createEvictionManager({ ...sources, runtime: {}, volumeManager })).toBeDefined();
  });

  it('for thresholds, without any stats', () => {
    const eviction = { hard: { 'memory.available': '1' } };
    expect(createEvictionManager({ ...sources, runtime: {}, eviction })).toBeDefined();
  });
});

it('a pod is evicted for what the runtime and the volumes say together', async () => {
  const { name, namespace, uid } = pod.metadata;
  const fs = { time: '', usedBytes: 6 };
  const runtime = {
    listPodStats: async () => [
      { podRef: { name, namespace, uid }, startTime: '', containers: [{ name: 'app', startTime: '', rootfs: fs }] },
    ],
  };
  expect(await createEvictionManager({ ...sources, runtime: asBounded(runtime) })!.synchronize()).toEqual([]);
  const volumes = new Map([['data', { bytes: 5, inodes: 1 }]]);
  const volumeManager = {
    getPodVolumeStats: async () => ({ time: '', volumes }),
  } as unknown as EvictionSources['volumeManager'];
  expect(
    await createEvictionManager({ ...sources, runtime: asBounded(runtime), volumeManager })!.synchronize(),
  ).toEqual([pod]);
  expect(updates).toEqual([{ uid: 'u1', gracePeriodSeconds: 1 }]);
});

it('a pod is evicted for its volumes alone, if the runtime reports no stats', async () => {
  const volumeManager = {
    getPodVolumeStats: async () => ({ time: '', volumes: new Map([['data', { bytes: 11, inodes: 1 }]]) }),
  } as unknown as EvictionSources['volumeManager'];
  expect(await createEvictionManager({ ...sources, runtime: {}, volumeManager })!.synchronize()).toEqual([pod]);
  // A volume manager that measures nothing.
  const blind = {} as EvictionSources['volumeManager'];
  expect(await createEvictionManager({ ...sources, volumeManager: blind })!.synchronize()).toEqual([]);
});

it('without thresholds, writable layers count as if they were on the main file system', async () => {
  const { name, namespace, uid } = pod.metadata;
  const app = { name: 'app', startTime: '', rootfs: { time: '', usedBytes: 11 } };
  const runtime = {
    imageFsStats: async () => ({ imageFs: { time: '', capacityBytes: 1, inodes: 1 } }),
    listPodStats: async () => [{ podRef: { name, namespace, uid }, startTime: '', containers: [app] }],
  };
  const other = { name: 'other', resources: { limits: { 'ephemeral-storage': '90' } } };
  const limited: ValidPod = { ...pod, spec: { containers: [...pod.spec!.containers!, other] } };
  pods = [limited];
  expect(await createEvictionManager({ ...sources, runtime: asBounded(runtime) })!.synchronize()).toEqual([limited]);
});

it('a volume manager that says nothing of one pod ends neither the evictions of the others nor stop()', async () => {
  const other: ValidPod = { ...pod, metadata: { ...pod.metadata, name: 'other', uid: 'u2' } };
  pods = [pod, other];
  const [clock, logger] = [new FakeClock(), recordingLogger()];
  const volumeManager = boundedVolumeManager(
    {
      ...{ waitForAttachAndMount: async () => {}, waitForUnmount: async () => {} },
      getPodVolumeStats: ({ metadata }) =>
        metadata.uid === 'u1'
          ? new Promise(() => {})
          : Promise.resolve({ time: '', volumes: new Map([['data', { bytes: 11, inodes: 1 }]]) }),
    },
    { clock, signal: new AbortController().signal },
  );
  const manager = createEvictionManager({ ...sources, clock, logger, volumeManager })!;
  manager.start();
  await clock.advanceAsync(20_000, settle);
  expect(updates.map(({ uid }) => uid)).toEqual(['u2']);
  expect(logger.warnings).toMatchObject([
    {
      fields: { podUID: 'u1', reason: 'getPodVolumeStats of the volume manager took over 10000 ms' },
      message: 'Reading the stats of the volumes of pods failed',
    },
  ]);
  await clock.advanceAsync(10_000, settle);
  await manager.stop();
  expect(clock.pendingTimers).toBe(0);
});

it('stop() leaves no timer and no promise of an eviction whose pod does not end', async () => {
  const [clock, logger] = [new FakeClock(), recordingLogger()];
  const podWorkers = { ...sources.podWorkers, updatePod: () => void updates.push({ uid: '', gracePeriodSeconds: 0 }) };
  const volumeManager = asBounded({
    getPodVolumeStats: async () => ({ time: '', volumes: new Map([['data', { bytes: 11, inodes: 1 }]]) }),
  }) as unknown as EvictionSources['volumeManager'];
  const manager = createEvictionManager({ ...sources, clock, logger, volumeManager, podWorkers })!;
  manager.start();
  await clock.advanceAsync(10_000, settle);
  expect(updates).toHaveLength(1);
  await manager.stop();
  expect(clock.pendingTimers).toBe(0);
  expect(logger.warnings).toEqual([]);
});

describe.runIf(process.platform === 'linux')('the node', () => {
  it('compares percentages with all of its memory and processes', async () => {
    pods = [];
    const manager = createEvictionManager({
      ...sources,
      eviction: { hard: { 'memory.available': '99.9%', 'pid.available': '99.99998%' }, rootDirectory },
    })!;
    await manager.synchronize();
    const [memory, pids] = manager.inspect().metThresholds;
    expect(quantityValue(memory!.threshold)! / totalmem()).toBeCloseTo(0.999, 2);
    expect(Number(pids!.threshold)).toBeGreaterThan(Number(pids!.available));
  });

  /** A file system that has less than every threshold, so that pods are evicted. */
  const full = { 'nodefs.available': '99999Pi' };
  const managerWith = (eviction: EvictionOptions, runtime: EvictionSources['runtime'] = {}): EvictionManager =>
    createEvictionManager({ ...sources, runtime, eviction: { rootDirectory, ...eviction } })!;

  it('evicts a pod of which neither the runtime nor the volumes say anything before one that uses little', async () => {
    const { name, namespace, uid } = pod.metadata;
    const app = { name: 'app', startTime: '', rootfs: { time: '', usedBytes: 9 } };
    const runtime = {
      listPodStats: async () => [{ podRef: { name, namespace, uid }, startTime: '', containers: [app] }],
    };
    const unknown: ValidPod = { metadata: { name: 'unknown', namespace, uid: 'u2' }, spec: { containers: [] } };
    pods = [pod, unknown];
    expect(await managerWith({ hard: full }, asBounded(runtime)).synchronize()).toEqual([unknown]);
  });

  it('gives a pod 1 s for a hard threshold, and for a soft one what `maxPodGracePeriodSeconds` says, by default 0', async () => {
    const soft = { soft: full, softGracePeriodMs: { 'nodefs.available': 1 } };
    const signals: string[] = [];
    const clock = new FakeClock();
    sources = { ...sources, clock, podEvicted: (signal) => void signals.push(signal) };
    for (const eviction of [{ hard: full }, soft, { ...soft, maxPodGracePeriodSeconds: 7 }]) {
      const manager = managerWith(eviction);
      if ((await manager.synchronize()).length > 0) continue;
      clock.advance(1);
      await manager.synchronize();
    }
    expect(updates.map(({ gracePeriodSeconds }) => gracePeriodSeconds)).toEqual([1, 0, 7]);
    expect(signals).toEqual(Array.from({ length: 3 }, () => 'nodefs.available'));
  });

  it('reports pressure for 5 min after a threshold was met, or as long as `pressureTransitionPeriodMs` says', async () => {
    for (const pressureTransitionPeriodMs of [undefined, 1000]) {
      const clock = new FakeClock();
      sources = { ...sources, clock };
      const manager = managerWith({ hard: full, pressureTransitionPeriodMs });
      await manager.synchronize();
      clock.advance((pressureTransitionPeriodMs ?? 300_000) - 1);
      expect(manager.conditions()).toHaveLength(1);
      clock.advance(1);
      expect(manager.conditions()).toEqual([]);
    }
  });

  it.each([
    ['imagefs.available', '501', '501', '500'],
    ['imagefs.available', '60%', '600', '500'],
    ['imagefs.inodesFree', '60%', '6', '5'],
    ['imagefs.available', '50%', undefined, undefined],
    ['imagefs.inodesFree', '5', undefined, undefined],
  ] as const)('compares %s with %s of what the runtime reports', async (signal, value, threshold, available) => {
    const imageFs = { time: '', capacityBytes: 1000, availableBytes: 500, inodes: 10, inodesFree: 5 };
    pods = [];
    const manager = managerWith({ hard: { [signal]: value } }, asBounded({ imageFsStats: async () => ({ imageFs }) }));
    await manager.synchronize();
    expect(manager.inspect().metThresholds).toMatchObject(threshold === undefined ? [] : [{ threshold, available }]);
  });

  it('is not under pressure of a file system of images that the runtime does not report', async () => {
    for (const runtime of [{}, { imageFsStats: async () => ({}) }]) {
      const manager = managerWith({ hard: { 'imagefs.available': '99999Pi' } }, asBounded(runtime));
      await manager.synchronize();
      expect(manager.conditions()).toEqual([]);
    }
  });

  it.each([
    ['not while an evicted pod runs', false, false, false],
    ['when it has ended', true, false, true],
    ['when it has only content that can be removed', false, true, true],
  ])('looks again after an eviction: %s', async (_, isKnownTerminated, isRemovable, looksAgain) => {
    const clock = new FakeClock();
    const evicted = new Promise((resolve) => {
      sources = { ...sources, clock, podEvicted: resolve };
    });
    const states = { isPodKnownTerminated: () => isKnownTerminated, shouldPodContentBeRemoved: () => isRemovable };
    sources = { ...sources, statuses: states };
    const manager = managerWith({ hard: full });
    manager.start();
    clock.advance(10_000);
    await evicted;
    await settle();
    const { observedAt } = manager.inspect();
    clock.advance(10_000);
    await manager.stop();
    expect(manager.inspect().observedAt !== observedAt).toBe(looksAgain);
  });

  it.each([
    ['memory.available', 'MemoryPressure'],
    ['nodefs.available', 'DiskPressure'],
    ['nodefs.inodesFree', 'DiskPressure'],
    ['imagefs.available', 'DiskPressure'],
    ['imagefs.inodesFree', 'DiskPressure'],
    ['pid.available', 'PIDPressure'],
  ] as const)('is under pressure when less than the threshold is there: %s', async (signal, type) => {
    const imageFs = { time: '', capacityBytes: 1000, availableBytes: 500, inodes: 10, inodesFree: 5 };
    const runtime = { imageFsStats: async () => ({ imageFs }) };
    const { inodes } = await fileSystemInfo(systemFiles, rootDirectory);
    const hasAmount = signal !== 'nodefs.inodesFree' || inodes !== undefined;
    for (const [threshold, conditions] of [
      ['1', []],
      ['99999Pi', hasAmount ? [type] : []],
    ] as const) {
      const eviction = { hard: { [signal]: threshold }, rootDirectory };
      const manager = createEvictionManager({ ...sources, runtime: asBounded(runtime), eviction })!;
      await manager.synchronize();
      expect(manager.conditions().map((condition) => condition.type)).toEqual(conditions);
    }
  });

  it.each([
    ['its own file system', undefined, 0, ['containers', 'images']],
    ['another one of the same size', 0, 0, ['containers', 'images']],
    ['another one of another size', 1, 0, []],
    ['another one with another number of inodes', 0, 1, []],
  ])(
    'frees space on the disk by containers and images if these are on it: %s',
    async (_, difference, more, expected) => {
      const { capacityBytes, availableBytes, inodes, inodesFree } = await fileSystemInfo(systemFiles, rootDirectory);
      const same = { time: '', capacityBytes, availableBytes, inodes, inodesFree };
      const others = {
        capacityBytes: capacityBytes + (difference ?? 0),
        ...(more > 0 && { inodes: (inodes ?? 0) + more }),
      };
      const imageFs = difference === undefined ? undefined : { ...same, ...others };
      const runtime = { imageFsStats: async () => ({ imageFs }) };
      const eviction = { hard: { 'nodefs.available': '99999Pi' }, rootDirectory };
      pods = [];
      await createEvictionManager({ ...sources, runtime: asBounded(runtime), eviction })!.synchronize();
      expect(reclaimed).toEqual(expected);
    },
  );

  it('frees space by containers alone without a collection of images', async () => {
    pods = [];
    sources = { ...sources, imageGC: undefined };
    await managerWith({ hard: full }).synchronize();
    expect(reclaimed).toEqual(['containers']);
  });
});
