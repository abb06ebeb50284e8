import { beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { EvictionManager, type EvictionManagerOptions } from '../../../src/agent/eviction/eviction-manager.ts';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import type { PodUsage } from '../../../src/agent/eviction/pod-usage.ts';
import {
  type EvictionSignal,
  type Observation,
  parseThresholds,
  type ThresholdOptions,
} from '../../../src/agent/eviction/thresholds.ts';
import type { ObjectEvent, PodEvent } from '../../../src/agent/events/event-recorder.ts';

const mebi = 2 ** 20;

let clock: FakeClock;
let pods: ValidPod[];
let usage: Map<string, PodUsage>;
let observations: Map<EvictionSignal, Observation>;
let evicted: string[];
let annotated: unknown[];
let terminated: Set<string>;
let counted: string[];
let events: (ObjectEvent | PodEvent)[];
let options: EvictionManagerOptions;
beforeEach(() => {
  clock = new FakeClock();
  [pods, evicted, annotated, events, counted] = [[], [], [], [], []];
  usage = new Map();
  observations = new Map();
  terminated = new Set();
  options = {
    nodeName: 'node-a',
    thresholds: parseThresholds({ hard: { 'memory.available': '100Mi', 'nodefs.available': '10%' } }),
    pressureTransitionPeriodMs: 300_000,
    maxPodGracePeriodSeconds: 0,
    observe: async () => observations,
    hasDedicatedImageFs: async () => false,
    podUsage: async () => usage,
    getActivePods: () => pods,
    evict: async ({ metadata }, { message, annotations, gracePeriodSeconds, isDisruption }) => {
      if (metadata.name === 'critical') return false;
      annotated.push(annotations);
      evicted.push(`${metadata.name} (${gracePeriodSeconds} s${isDisruption ? ', disruption' : ''}): ${message}`);
      return true;
    },
    isTerminated: (uid) => terminated.has(uid),
    reclaimDisk: async () => {},
    podEvicted: (signal) => void counted.push(signal),
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
    volumeStats: undefined,
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
    expect(counted).toEqual(['memory.available']);
  });

  it('the message about a pod with pod-level resources names its own usage and request first', async () => {
    const pod = addPod('a', { usedMi: 90 });
    pods = [{ ...pod, spec: { ...pod.spec, resources: { requests: { memory: '60Mi' } } } }];
    observe('memory.available', 50);
    await new EvictionManager(options).synchronize();
    expect(evicted[0]).toContain(
      'available: 50Mi. Pod a was using 90Mi, request is 60Mi, has larger consumption of memory. Container app was',
    );
  });

  it.each<[string, PodFields, number, EvictionSignal, Record<string, string> | undefined]>([
    [
      ...(['a container above its request', { usedMi: 90, memory: '50Mi' }, 50, 'memory.available'] as const),
      { offending_containers: 'app', offending_containers_usage: '90Mi', starved_resource: 'memory' },
    ],
    [
      ...(['no container above its request', { usedMi: 40, memory: '50Mi' }, 50, 'memory.available'] as const),
      { offending_containers: '', offending_containers_usage: '', starved_resource: 'memory' },
    ],
    [
      ...(['containers that fill the disk', { usedMi: 7 }, 99, 'nodefs.available'] as const),
      { offending_containers: 'app', offending_containers_usage: '7Mi', starved_resource: 'ephemeral-storage' },
    ],
  ])('the annotations of the Event name %s', async (_, fields, availableMi, signal, annotations) => {
    addPod('a', fields);
    observe(signal, availableMi);
    await new EvictionManager(options).synchronize();
    expect(annotated).toEqual([annotations]);
  });

  it('the annotations of the Event name a pod with pod-level resources, and are absent without its usage', async () => {
    const pod = addPod('a', { usedMi: 90 });
    pods = [{ ...pod, spec: { ...pod.spec, resources: { requests: { memory: '60Mi' } } } }];
    observe('memory.available', 50);
    await new EvictionManager(options).synchronize();
    usage.clear();
    await new EvictionManager(options).synchronize();
    expect(annotated).toEqual([
      {
        offending_pod: 'a',
        offending_pod_usage: '90Mi',
        offending_containers: 'app',
        offending_containers_usage: '90Mi',
        starved_resource: 'memory',
      },
      undefined,
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

  it('frees space on the disk of a node without pods, too', async () => {
    observe('nodefs.available', 99);
    let isReclaimed = false;
    const reclaimDisk = async (): Promise<void> => void (isReclaimed = true);
    expect(await new EvictionManager({ ...options, reclaimDisk }).synchronize()).toEqual([]);
    expect(isReclaimed).toBe(true);
  });

  it('frees no containers and images for the main file system if they are on another one', async () => {
    options = { ...options, hasDedicatedImageFs: async () => true };
    options = {
      ...options,
      thresholds: parseThresholds({ hard: { 'nodefs.available': '10%', 'imagefs.available': '10%' } }),
    };
    addPod('a', { usedMi: 1 });
    let reclaimed = 0;
    const manager = new EvictionManager({ ...options, reclaimDisk: async () => void (reclaimed += 1) });
    observe('nodefs.available', 99);
    expect(namesOf(await manager.synchronize())).toEqual(['a']);
    expect(reclaimed).toBe(0);
    observe('nodefs.available', 200);
    observe('imagefs.available', 99);
    await manager.synchronize();
    expect(reclaimed).toBe(1);
  });

  it('inspect() shows how old the oldest stats of volumes are that it has used', async () => {
    const manager = new EvictionManager(options);
    expect(manager.inspect().oldestVolumeStatsAt).toBeUndefined();
    for (const [name, minute] of [
      ['a', 4],
      ['b', 3],
    ] as const) {
      addPod(name, { usedMi: 1, resources: { limits: { 'ephemeral-storage': '10Mi' } } });
      const volumeStats = { time: `2026-01-02T03:0${minute}:00Z`, volumes: new Map() };
      usage.set(name, { ...usage.get(name)!, volumeStats });
    }
    await manager.synchronize();
    expect(manager.inspect().oldestVolumeStatsAt).toBe('2026-01-02T03:03:00Z');
  });

  it('that no pod can be evicted is logged once, and again after an eviction', async () => {
    const manager = new EvictionManager(options);
    observe('memory.available', 50);
    await manager.synchronize();
    addPod('critical', { usedMi: 900 });
    await manager.synchronize();
    await manager.synchronize();
    const other = addPod('other', { usedMi: 10 });
    await manager.synchronize();
    pods = pods.filter((pod) => pod !== other);
    await manager.synchronize();
    const { warnings } = options.logger as ReturnType<typeof recordingLogger>;
    const about = warnings.filter(({ message }) => message === 'No pod can be evicted');
    expect(about.map(({ fields }) => fields['reason'])).toEqual([
      ...['the node has no pods', 'all pods are critical', 'all pods are critical'],
    ]);
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
    expect(counted).toEqual(['ephemeralpodfs.limit', 'ephemeralpodfs.limit']);
  });

  describe('soft thresholds and minimumReclaim', () => {
    const soft: ThresholdOptions = {
      soft: { 'memory.available': '200Mi' },
      softGracePeriodMs: { 'memory.available': 30_000 },
    };
    /** Looks at once, then after each of these times; returns the names of the evicted pods. */
    async function evictedIn(manager: EvictionManager, ...afterMs: number[]): Promise<string[][]> {
      const rounds = [namesOf(await manager.synchronize())];
      for (const ms of afterMs) {
        clock.advance(ms);
        rounds.push(namesOf(await manager.synchronize()));
      }
      return rounds;
    }

    it('a soft threshold evicts when it was met for its grace period, and is pressure from its beginning', async () => {
      addPod('a', { usedMi: 500 });
      observe('memory.available', 150);
      const manager = new EvictionManager({ ...options, thresholds: parseThresholds(soft) });
      expect(await evictedIn(manager, 29_999)).toEqual([[], []]);
      expect(manager.conditions()).toMatchObject([{ type: 'MemoryPressure' }]);
      expect(manager.inspect().metThresholds).toMatchObject([{ threshold: '200Mi', isEvicting: false }]);
      expect(await evictedIn(manager, 1)).toEqual([[], ['a']]);
    });

    it('its grace period begins again after a round in which it was not met', async () => {
      addPod('a', { usedMi: 500 });
      const manager = new EvictionManager({ ...options, thresholds: parseThresholds(soft) });
      observe('memory.available', 150);
      await evictedIn(manager, 20_000);
      observe('memory.available', 200);
      await evictedIn(manager, 10_000);
      observe('memory.available', 150);
      expect(await evictedIn(manager, 20_000, 10_000)).toEqual([[], [], ['a']]);
    });

    it.each([
      { own: 60, expected: '5 s' },
      { own: 3, expected: '3 s' },
      { own: undefined, expected: '5 s' },
    ])(
      'a pod with the grace period $own gets at most maxPodGracePeriodSeconds: $expected',
      async ({ own, expected }) => {
        const pod = addPod('a', { usedMi: 500 });
        pods = [{ ...pod, spec: { ...pod.spec, terminationGracePeriodSeconds: own } }];
        observe('memory.available', 150);
        const thresholds = parseThresholds({ ...soft, softGracePeriodMs: { 'memory.available': 10_000 } });
        await evictedIn(new EvictionManager({ ...options, thresholds, maxPodGracePeriodSeconds: 5 }), 10_000);
        expect(evicted[0]).toMatch(`a (${expected}, disruption)`);
      },
    );

    it('a hard threshold below the soft one evicts immediately, with 1 s', async () => {
      addPod('a', { usedMi: 500 });
      observe('memory.available', 50);
      const hard = { 'memory.available': '100Mi' };
      const thresholds = parseThresholds({ ...soft, hard });
      const manager = new EvictionManager({ ...options, thresholds, maxPodGracePeriodSeconds: 60 });
      expect(await evictedIn(manager)).toEqual([['a']]);
      expect(evicted[0]).toMatch('a (1 s, disruption)');
      expect(manager.inspect().metThresholds.map(({ isEvicting }) => isEvicting)).toEqual([true, false]);
    });

    it('a threshold that was met stays met until its minimum is reclaimed', async () => {
      for (const name of ['a', 'b', 'c']) addPod(name, { usedMi: 500 });
      const hard = { 'memory.available': '100Mi' };
      const thresholds = parseThresholds({ hard, minimumReclaim: { 'memory.available': '50Mi' } });
      const manager = new EvictionManager({ ...options, thresholds });
      observe('memory.available', 149);
      expect(await evictedIn(manager)).toEqual([[]]);
      observe('memory.available', 99);
      await evictedIn(manager);
      observe('memory.available', 149);
      await evictedIn(manager);
      expect(evicted).toHaveLength(2);
      expect(manager.inspect().metThresholds).toMatchObject([
        { threshold: '100Mi', available: '149Mi', reclaimTarget: '150Mi' },
      ]);
      observe('memory.available', 150);
      await evictedIn(manager);
      observe('memory.available', 149);
      expect(await evictedIn(manager)).toEqual([[]]);
    });

    it('freeing space on the disk is enough only with the minimum', async () => {
      addPod('a', { usedMi: 500 });
      const hard = { 'nodefs.available': '10%' };
      const thresholds = parseThresholds({ hard, minimumReclaim: { 'nodefs.available': '5%' } });
      let freed = 150;
      const reclaimDisk = async (): Promise<void> => observe('nodefs.available', freed);
      observe('nodefs.available', 99);
      const reclaiming = { ...options, thresholds, reclaimDisk };
      expect(await new EvictionManager(reclaiming).synchronize()).toEqual([]);
      freed = 149;
      observe('nodefs.available', 99);
      expect(namesOf(await new EvictionManager(reclaiming).synchronize())).toEqual(['a']);
    });
  });

  it('inspect() and the log say which threshold is met since when, what was observed and what was evicted', async () => {
    addPod('a', { usedMi: 500 });
    const manager = new EvictionManager(options);
    expect(manager.inspect()).toEqual({
      ...{ observedAt: undefined, failure: undefined, metThresholds: [], pressure: [], lastEviction: undefined },
      oldestVolumeStatsAt: undefined,
    });
    observe('memory.available', 500);
    observe('nodefs.available', 90);
    const since = timeFromEpochMs(clock.now());
    await manager.synchronize();
    clock.advance(10_000);
    observe('nodefs.available', 80);
    await manager.synchronize();
    const now = timeFromEpochMs(clock.now());
    const metThreshold = {
      ...{ signal: 'nodefs.available', threshold: '100Mi', reclaimTarget: '100Mi', available: '80Mi' },
      ...{ since, isEvicting: true },
    };
    expect(manager.inspect()).toEqual({
      ...{ observedAt: now, failure: undefined, metThresholds: [metThreshold], pressure: ['DiskPressure'] },
      lastEviction: { pod: 'default/a', podUID: 'a', at: now, message: expect.stringContaining('available: 80Mi') },
    });
    observe('nodefs.available', 100);
    await manager.synchronize();
    expect(manager.inspect()).toMatchObject({ metThresholds: [], pressure: ['DiskPressure'] });
    const { warnings } = options.logger as ReturnType<typeof recordingLogger>;
    const fields = { node: 'node-a', signal: 'nodefs.available', threshold: '100Mi' };
    expect(warnings).toMatchObject([
      { message: 'An eviction threshold is met', fields: { ...fields, available: '90Mi', gracePeriodMs: 0 } },
      { message: 'An eviction threshold is no longer met', fields: { ...fields, available: '100Mi', metMs: 10_000 } },
    ]);
  });

  it('inspect() says why the amounts cannot be observed, and since when', async () => {
    const failing = async (): Promise<never> => Promise.reject(new Error('no /proc'));
    const manager = new EvictionManager({ ...options, observe: failing });
    manager.start();
    clock.advance(10_000);
    await settle();
    expect(manager.inspect().failure).toEqual({ failingSince: timeFromEpochMs(clock.now()), reason: 'no /proc' });
    await manager.stop();
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
    // A resize of such a pod is deferred.
    expect(manager.admit({ pod: bestEffort, otherPods: [], operation: 'resize' })).toEqual(admit(bestEffort));

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
  expect(parseThresholds({ hard: { [signal]: value } })).toMatchObject([{ signal, value }]);
});

it.each([
  ['memory.available', '-1'],
  ['memory.available', 'much'],
  ['nodefs.available', '101%'],
  ['cpu.available', '1'],
])('parseThresholds refuses %s of %s', (signal, value) => {
  expect(() => parseThresholds({ hard: { [signal]: value } })).toThrow(`eviction.hard.${signal}`);
});

it.each<[string, ThresholdOptions]>([
  ['softGracePeriodMs.memory.available', { soft: { 'memory.available': '1Mi' } }],
  ['softGracePeriodMs.memory.available', { softGracePeriodMs: { 'memory.available': -1 } }],
  ['softGracePeriodMs.cpu', { softGracePeriodMs: { cpu: 1 } as object }],
  ['soft.memory.available', { soft: { 'memory.available': 'much' }, softGracePeriodMs: { 'memory.available': 1 } }],
  ['minimumReclaim.pid.available', { minimumReclaim: { 'pid.available': '-1' } }],
])('parseThresholds names eviction.%s if it is invalid or missing', (path, thresholds) => {
  expect(() => parseThresholds(thresholds)).toThrow(`eviction.${path}`);
});

it('parseThresholds ignores 0% and 100%, and puts memory first', () => {
  const hard = {
    'nodefs.available': '10%',
    'imagefs.available': '0%',
    'memory.available': '1Mi',
    'pid.available': '100%',
  };
  expect(parseThresholds({ hard }).map(({ signal }) => signal)).toEqual(['memory.available', 'nodefs.available']);
});
