import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { createEvictionManager, type EvictionSources } from '../../../src/agent/eviction/create-eviction-manager.ts';
import { fileSystemInfo } from '../../../src/agent/runtime/runtime-storage.ts';
import { TestDirectories } from '../../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());
let rootDirectory: string;
let reclaimed: string[];
let updates: { readonly uid: string }[];
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
    runtime: { listPodStats: async () => [] },
    volumeManager: undefined,
    eviction: undefined,
    podWorkers: {
      isPodKnownTerminated: () => true,
      shouldPodContentBeRemoved: () => false,
      updatePod: (update) => {
        updates.push({ uid: update.pod?.metadata?.uid ?? '' });
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
  expect(await createEvictionManager({ ...sources, runtime })!.synchronize()).toEqual([]);
  const volumes = new Map([['data', { bytes: 5, inodes: 1 }]]);
  const volumeManager = {
    getPodVolumeStats: async () => ({ time: '', volumes }),
  } as unknown as EvictionSources['volumeManager'];
  expect(await createEvictionManager({ ...sources, runtime, volumeManager })!.synchronize()).toEqual([pod]);
  expect(updates).toEqual([{ uid: 'u1' }]);
});

describe.runIf(process.platform === 'linux')('the node', () => {
  it.each([
    ['memory.available', 'MemoryPressure'],
    ['nodefs.available', 'DiskPressure'],
    ['imagefs.available', 'DiskPressure'],
    ['pid.available', 'PIDPressure'],
  ] as const)('is under pressure when less than the threshold is there: %s', async (signal, type) => {
    const imageFs = { time: '', capacityBytes: 1000, availableBytes: 500, inodes: 10, inodesFree: 5 };
    const runtime = { imageFsStats: async () => ({ imageFs }) };
    for (const [threshold, conditions] of [
      ['1', []],
      ['99999Pi', [type]],
    ] as const) {
      const eviction = { hard: { [signal]: threshold }, rootDirectory };
      const manager = createEvictionManager({ ...sources, runtime, eviction })!;
      await manager.synchronize();
      expect(manager.conditions().map((condition) => condition.type)).toEqual(conditions);
    }
  });

  it.each([
    ['its own file system', undefined, ['containers', 'images']],
    ['another one of the same size', 0, ['containers', 'images']],
    ['another one of another size', 1, []],
  ])('frees space on the disk by containers and images if these are on it: %s', async (_, difference, expected) => {
    const { capacityBytes, availableBytes, inodes, inodesFree } = await fileSystemInfo(rootDirectory);
    const same = { time: '', capacityBytes, availableBytes, inodes, inodesFree };
    const imageFs = difference === undefined ? undefined : { ...same, capacityBytes: capacityBytes + difference };
    const runtime = { imageFsStats: async () => ({ imageFs }) };
    const eviction = { hard: { 'nodefs.available': '99999Pi' }, rootDirectory };
    pods = [];
    await createEvictionManager({ ...sources, runtime, eviction })!.synchronize();
    expect(reclaimed).toEqual(expected);
  });
});
