import { beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { EvictionManager, type EvictionManagerOptions } from '../../../src/agent/eviction/eviction-manager.ts';
import type { PodUsage } from '../../../src/agent/eviction/pod-usage.ts';
import { type EvictionSignal, type Observation, parseThresholds } from '../../../src/agent/eviction/thresholds.ts';
import type { ObjectEvent, PodEvent } from '../../../src/agent/events/event-recorder.ts';

const mebi = 2 ** 20;

let clock: FakeClock;
let pods: ValidPod[];
let usage: Map<string, PodUsage>;
let observations: Map<EvictionSignal, Observation>;
let evicted: string[];
let terminated: Set<string>;
let events: (ObjectEvent | PodEvent)[];
let options: EvictionManagerOptions;
beforeEach(() => {
  clock = new FakeClock();
  [pods, evicted, events] = [[], [], []];
  usage = new Map();
  observations = new Map();
  terminated = new Set();
  options = {
    nodeName: 'node-a',
    thresholds: parseThresholds({ 'memory.available': '100Mi', 'nodefs.available': '10%' }),
    pressureTransitionPeriodMs: 300_000,
    observe: async () => observations,
    hasDedicatedImageFs: async () => false,
    podUsage: async () => usage,
    getActivePods: () => pods,
    evict: async ({ metadata }, { message, gracePeriodSeconds, isDisruption }) => {
      if (metadata.name === 'critical') return false;
      evicted.push(`${metadata.name} (${gracePeriodSeconds} s${isDisruption ? ', disruption' : ''}): ${message}`);
      return true;
    },
    isTerminated: (uid) => terminated.has(uid),
    reclaimDisk: async () => {},
    eventRecorder: { event: (event) => events.push(event) },
    clock,
    logger: recordingLogger(),
  };
});

interface PodFields {
  readonly priority?: number;
  readonly memory?: string;
  readonly usedMi: number;
  readonly resources?: object;
}
function addPod(name: string, { priority = 0, memory, usedMi, resources }: PodFields): ValidPod {
  const app = { name: 'app', resources: resources ?? (memory ? { requests: { memory } } : {}) };
  const pod: ValidPod = {
    metadata: { name, namespace: 'default', uid: name },
    spec: { priority, containers: [app] },
  };
  pods.push(pod);
  const memoryStats = { time: '', workingSetBytes: usedMi * mebi };
  const [rootfs, logs] = [usedMi * mebi, 0].map((usedBytes) => ({ time: '', usedBytes, inodesUsed: 0 }));
  usage.set(name, {
    volumeBytes: new Map(),
    stats: {
      podRef: { name, namespace: 'default', uid: name },
      startTime: '',
      memory: memoryStats,
      containers: [{ name: 'app', startTime: '', memory: memoryStats, rootfs, logs }],
    },
  });
  return pod;
}
const observe = (signal: EvictionSignal, availableMi: number): void =>
  void observations.set(signal, { available: availableMi * mebi, capacity: 1000 * mebi });
const namesOf = (list: readonly ValidPod[]): string[] => list.map(({ metadata }) => metadata.name);

describe('EvictionManager', () => {
  it('evicts nothing and reports no pressure while no threshold is met', async () => {
    addPod('a', { usedMi: 500 });
    observe('memory.available', 100);
    observe('nodefs.available', 100);
    const manager = new EvictionManager(options);
    expect(await manager.synchronize()).toEqual([]);
    expect(manager.conditions()).toEqual([]);
  });

  it('evicts one pod that exceeds its requests, with the lowest priority and the largest excess', async () => {
    addPod('within', { usedMi: 400, memory: '500Mi' });
    addPod('important', { usedMi: 300, priority: 10 });
    addPod('small', { usedMi: 50, memory: '20Mi' });
    addPod('large', { usedMi: 90, memory: '50Mi' });
    observe('memory.available', 50);
    expect(namesOf(await new EvictionManager(options).synchronize())).toEqual(['large']);
    expect(evicted).toEqual([
      'large (1 s, disruption): The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
        'Container app was using 90Mi, request is 50Mi, has larger consumption of memory. ',
    ]);
    expect(events).toMatchObject([
      { object: { kind: 'Node' }, reason: 'EvictionThresholdMet', message: 'Attempting to reclaim memory' },
    ]);
  });

  it('evicts the next pod in place of a critical one', async () => {
    addPod('critical', { usedMi: 900 });
    addPod('other', { usedMi: 10 });
    observe('memory.available', 50);
    expect(namesOf(await new EvictionManager(options).synchronize())).toEqual(['other']);
  });

  it('frees space on the disk first, and evicts nothing if that is enough', async () => {
    addPod('a', { usedMi: 500 });
    observe('nodefs.available', 99);
    const reclaimDisk = async (): Promise<void> => observe('nodefs.available', 200);
    expect(await new EvictionManager({ ...options, reclaimDisk }).synchronize()).toEqual([]);
    observe('nodefs.available', 99);
    expect(namesOf(await new EvictionManager(options).synchronize())).toEqual(['a']);
    expect(evicted[0]).toContain('low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: 99Mi. ');
  });

  it('evicts all pods that exceed a limit of local storage, without a DisruptionTarget condition', async () => {
    const resources = { limits: { 'ephemeral-storage': '10Mi' } };
    addPod('above', { usedMi: 11, resources });
    addPod('below', { usedMi: 10, resources });
    addPod('also-above', { usedMi: 12, resources });
    addPod('unlimited', { usedMi: 100 });
    const measured: string[][] = [];
    const podUsage = async (list: readonly ValidPod[]) => (measured.push(namesOf(list)), usage);
    const manager = new EvictionManager({ ...options, thresholds: [], podUsage });
    expect(namesOf(await manager.synchronize())).toEqual(['above', 'also-above']);
    expect(evicted[0]).toBe(
      'above (1 s): Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ',
    );
    expect(measured).toEqual([['above', 'below', 'also-above']]);
  });

  it('reports pressure, and refuses pods, until the transition period after the last threshold', async () => {
    const manager = new EvictionManager(options);
    const admit = (pod: ValidPod) => manager.admit({ pod, otherPods: [], operation: 'add' });
    const bestEffort = addPod('best-effort', { usedMi: 1 });
    const burstable = addPod('burstable', { usedMi: 1, memory: '1Mi' });
    const toleration = { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' };
    const tolerating = { ...bestEffort, spec: { ...bestEffort.spec, tolerations: [toleration] } };
    pods = [];
    observe('memory.available', 50);
    await manager.synchronize();
    expect(manager.conditions()).toMatchObject([
      { type: 'MemoryPressure', status: 'True', reason: 'KubeletHasInsufficientMemory' },
    ]);
    const message = 'The node had condition: [MemoryPressure]. ';
    expect(admit(bestEffort)).toEqual({ admit: false, reason: 'Evicted', message });
    expect([admit(burstable), admit(tolerating)]).toEqual([{ admit: true }, { admit: true }]);

    observe('nodefs.available', 50);
    observe('memory.available', 500);
    clock.advance(299_999);
    await manager.synchronize();
    expect(admit(burstable)).toMatchObject({ message: 'The node had condition: [MemoryPressure DiskPressure]. ' });
    clock.advance(1);
    expect(manager.conditions()).toMatchObject([{ type: 'DiskPressure' }]);
    expect(admit({ ...burstable, spec: { ...burstable.spec, priority: 2_000_000_000 } })).toEqual({ admit: true });
  });

  it('waits for the end of an evicted pod before it looks again, at most 30 s', async () => {
    addPod('first', { usedMi: 20 });
    addPod('second', { usedMi: 10 });
    const [first] = pods;
    observe('memory.available', 50);
    const manager = new EvictionManager({
      ...options,
      evict: async (pod) => ((pods = pods.filter((other) => other !== pod)), evicted.push(pod.metadata.name), true),
    });
    manager.start();
    const evictedAfter = async (ms: number): Promise<string[]> => {
      clock.advance(ms);
      await settle();
      return evicted;
    };
    expect(await evictedAfter(10_000)).toEqual(['first']);
    expect(await evictedAfter(10_000)).toEqual(['first']);
    terminated.add(first!.metadata.uid);
    expect(await evictedAfter(10_000)).toEqual(['first', 'second']);
    await manager.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends while a pod is being evicted', async () => {
    addPod('a', { usedMi: 20 });
    observe('memory.available', 50);
    const manager = new EvictionManager({ ...options, evict: () => new Promise(() => {}) });
    manager.start();
    clock.advance(10_000);
    await settle();
    await manager.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

it.each([
  ['memory.available', '10'],
  ['nodefs.available', '100Mi'],
  ['nodefs.inodesFree', '5.5%'],
] as const)('parseThresholds: %s of %s is valid', (signal, value) => {
  expect(parseThresholds({ [signal]: value })).toEqual([{ signal, value }]);
});

it.each([
  ['memory.available', '-1'],
  ['memory.available', 'much'],
  ['nodefs.available', '101%'],
  ['cpu.available', '1'],
])('parseThresholds refuses %s of %s', (signal, value) => {
  expect(() => parseThresholds({ [signal]: value })).toThrow(`eviction.hard.${signal}`);
});

it('parseThresholds ignores 0% and 100%, and puts memory first', () => {
  const hard = {
    'nodefs.available': '10%',
    'imagefs.available': '0%',
    'memory.available': '1Mi',
    'pid.available': '100%',
  };
  expect(parseThresholds(hard).map(({ signal }) => signal)).toEqual(['memory.available', 'nodefs.available']);
});
