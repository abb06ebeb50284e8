import { pressureConditions } from '../../../src/node/registration/node-conditions.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { EvictionManager, type EvictionManagerOptions } from '../../../src/agent/eviction/eviction-manager.ts';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import type { PodUsage } from '../../../src/agent/eviction/pod-usage.ts';
import {
  thresholdAmount,
  type EvictionSignal,
  type Observation,
  parseThresholds,
  type ThresholdOptions,
  thresholdsMet,
} from '../../../src/agent/eviction/thresholds.ts';
import type { ObjectEvent, PodEvent } from '../../../src/node/events/event-recorder.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

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
      {
        ...{ object: { kind: 'Node', name: 'node-a' }, type: 'Warning' },
        ...{ reason: 'EvictionThresholdMet', message: 'Attempting to reclaim memory' },
      },
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

  it('evicts a pod although no space on the disk can be freed, and logs why', async () => {
    addPod('a', { usedMi: 500 });
    observe('nodefs.available', 99);
    const reclaimDisk = () => Promise.reject(new Error('images are in use'));
    expect(namesOf(await new EvictionManager({ ...options, reclaimDisk }).synchronize())).toEqual(['a']);
    const { warnings } = options.logger as ReturnType<typeof recordingLogger>;
    expect(warnings.at(-1)).toMatchObject({
      message: 'Failed to free space on the disk',
      fields: { reason: 'images are in use' },
    });
  });

  it('frees no space on the disk when memory is low', async () => {
    addPod('a', { usedMi: 500 });
    observe('memory.available', 50);
    let isReclaimed = false;
    const manager = new EvictionManager({ ...options, reclaimDisk: async () => void (isReclaimed = true) });
    expect(namesOf(await manager.synchronize())).toEqual(['a']);
    expect(isReclaimed).toBe(false);
  });

  it('ranks by what is on the file system that is full if containers write to another one', async () => {
    addPod('layers', { usedMi: 500 });
    addPod('logs', { usedMi: 1 });
    const [app] = usage.get('logs')!.stats!.containers;
    const logs = { ...app!, logs: { time: '', usedBytes: 10 * mebi } };
    usage.set('logs', { volumeStats: undefined, stats: { ...usage.get('logs')!.stats!, containers: [logs] } });
    observe('nodefs.available', 99);
    const evictedWith = async (isDedicated: boolean): Promise<string[]> =>
      namesOf(await new EvictionManager({ ...options, hasDedicatedImageFs: async () => isDedicated }).synchronize());
    expect(await evictedWith(true)).toEqual(['logs']);
    expect(await evictedWith(false)).toEqual(['layers']);
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

  it('that no pod can be evicted is logged again when it happens under new pressure', async () => {
    const manager = new EvictionManager(options);
    for (const availableMi of [50, 500, 50]) {
      observe('memory.available', availableMi);
      await manager.synchronize();
    }
    const { warnings } = options.logger as ReturnType<typeof recordingLogger>;
    const about = warnings.filter(({ message }) => message === 'No pod can be evicted');
    expect(about).toMatchObject(
      Array.from({ length: 2 }, () => ({ fields: { node: 'node-a', signal: 'memory.available', resource: 'memory' } })),
    );
  });

  it('evicts for limits first, and for pressure only if no pod exceeds a limit', async () => {
    addPod('above', { usedMi: 11, resources: { limits: { 'ephemeral-storage': '10Mi' } } });
    addPod('large', { usedMi: 500 });
    observe('memory.available', 50);
    const manager = new EvictionManager(options);
    expect(namesOf(await manager.synchronize())).toEqual(['above']);
    expect([counted, events]).toEqual([['ephemeralpodfs.limit'], []]);
    pods = pods.slice(1);
    expect(namesOf(await manager.synchronize())).toEqual(['large']);
  });

  it('a critical pod that exceeds a limit is not evicted', async () => {
    addPod('critical', { usedMi: 11, resources: { limits: { 'ephemeral-storage': '10Mi' } } });
    const manager = new EvictionManager({ ...options, thresholds: [] });
    expect(await manager.synchronize()).toEqual([]);
    expect(counted).toEqual([]);
    expect(manager.inspect().lastEviction).toBeUndefined();
  });

  it('the writable layers of containers on another file system do not count towards their limits', async () => {
    const resources = { limits: { 'ephemeral-storage': '10Mi' } };
    const pod = addPod('a', { usedMi: 11, resources });
    const other = { name: 'other', resources: { limits: { 'ephemeral-storage': '90Mi' } } };
    pods = [{ ...pod, spec: { ...pod.spec, containers: [...pod.spec!.containers!, other] } }];
    const evictedWith = async (isDedicated: boolean): Promise<readonly ValidPod[]> =>
      new EvictionManager({ ...options, hasDedicatedImageFs: async () => isDedicated }).synchronize();
    expect(await evictedWith(true)).toEqual([]);
    expect(await evictedWith(false)).toEqual(pods);
    expect(counted).toEqual(['ephemeralcontainerfs.limit']);
  });

  it('measures nothing while no threshold is met and no pod has a limit, and observes nothing without thresholds', async () => {
    addPod('a', { usedMi: 11 });
    observe('memory.available', 500);
    const podUsage = async () => expect.unreachable();
    expect(await new EvictionManager({ ...options, podUsage }).synchronize()).toEqual([]);
    const observing = { ...options, podUsage, thresholds: [], observe: async () => expect.unreachable() };
    const manager = new EvictionManager(observing);
    expect(await manager.synchronize()).toEqual([]);
    expect(manager.inspect().observedAt).toBeUndefined();
  });

  it('measures all pods under pressure', async () => {
    addPod('a', { usedMi: 1 });
    observe('memory.available', 50);
    const measured: string[][] = [];
    const podUsage = async (list: readonly ValidPod[]) => (measured.push(namesOf(list)), usage);
    await new EvictionManager({ ...options, podUsage }).synchronize();
    expect(measured).toEqual([['a']]);
  });

  it('each threshold has its own beginning, in inspect() and in the log', async () => {
    const manager = new EvictionManager(options);
    observe('memory.available', 50);
    await manager.synchronize();
    const first = timeFromEpochMs(clock.now());
    clock.advance(10_000);
    observe('nodefs.available', 50);
    await manager.synchronize();
    expect(manager.inspect().metThresholds).toMatchObject([
      { signal: 'memory.available', since: first },
      { signal: 'nodefs.available', since: timeFromEpochMs(clock.now()) },
    ]);
    const { warnings } = options.logger as ReturnType<typeof recordingLogger>;
    const begun = warnings.filter(({ message }) => message === 'An eviction threshold is met');
    expect(begun.map(({ fields }) => fields['signal'])).toEqual(['memory.available', 'nodefs.available']);
  });

  it('memory is the most urgent, even by a soft threshold', async () => {
    addPod('a', { usedMi: 500 });
    observe('nodefs.available', 50);
    observe('memory.available', 50);
    const thresholds = parseThresholds({
      hard: { 'nodefs.available': '10%' },
      soft: { 'memory.available': '100Mi' },
      softGracePeriodMs: { 'memory.available': 0 },
    });
    await new EvictionManager({ ...options, thresholds }).synchronize();
    expect(counted).toEqual(['memory.available']);
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

    it('a soft threshold whose grace period has not passed is no longer met as soon as it is above', async () => {
      const minimumReclaim = { 'memory.available': '50Mi' };
      const manager = new EvictionManager({ ...options, thresholds: parseThresholds({ ...soft, minimumReclaim }) });
      observe('memory.available', 150);
      await evictedIn(manager);
      observe('memory.available', 200);
      await evictedIn(manager);
      expect(manager.inspect().metThresholds).toEqual([]);
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
    clock.advance(5000);
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
    const lines = linesAtInfo(options.logger as ReturnType<typeof recordingLogger>).filter(({ message }) =>
      message.includes('threshold'),
    );
    const fields = { node: 'node-a', signal: 'nodefs.available', threshold: '100Mi' };
    expect(lines).toMatchObject([
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

  it('a check that has failed is made again after 10 s, and its recovery is logged', async () => {
    let isBroken = true;
    const manager = new EvictionManager({
      ...options,
      observe: async () => {
        if (isBroken) throw new Error('no /proc');
        return observations;
      },
    });
    manager.start();
    clock.advance(10_000);
    await settle();
    isBroken = false;
    clock.advance(10_000);
    await settle();
    expect(manager.inspect()).toMatchObject({ failure: undefined, observedAt: timeFromEpochMs(clock.now()) });
    const { warnings, lines } = options.logger as ReturnType<typeof recordingLogger>;
    expect(warnings[0]!.message).toBe('Checking whether pods must be evicted failed');
    expect(lines.at(-1)!.message).toBe('Checking whether pods must be evicted succeeded again');
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
    for (const pod of [burstable, tolerating])
      expect(admit(pod)).toMatchObject({ message: 'The node had condition: [DiskPressure]. ' });
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

  it('looks again after 30 s although an evicted pod has not ended', async () => {
    addPod('first', { usedMi: 20 });
    observe('memory.available', 50);
    const manager = new EvictionManager(options);
    manager.start();
    const evictionsAfter = async (ms: number): Promise<number> => {
      for (let passed = 0; passed < ms; passed += 10_000) {
        clock.advance(10_000);
        await settle();
      }
      return evicted.length;
    };
    expect(await evictionsAfter(30_000)).toBe(1);
    expect(await evictionsAfter(10_000)).toBe(2);
    await manager.stop();
  });

  it('waits for the end of all pods that it has evicted for their limits', async () => {
    const resources = { limits: { 'ephemeral-storage': '10Mi' } };
    for (const name of ['a', 'b']) addPod(name, { usedMi: 11, resources });
    const manager = new EvictionManager({ ...options, thresholds: [] });
    manager.start();
    const evictionsAfter10s = async (): Promise<number> => {
      clock.advance(10_000);
      await settle();
      return evicted.length;
    };
    expect(await evictionsAfter10s()).toBe(2);
    terminated.add('a');
    expect(await evictionsAfter10s()).toBe(2);
    terminated.add('b');
    expect(await evictionsAfter10s()).toBe(4);
    await manager.stop();
  });

  it('counts a pod that ends too slowly as evicted, and logs why', async () => {
    addPod('slow', { usedMi: 20 });
    observe('memory.available', 50);
    const evict = () => Promise.reject(new Error('timeout waiting to kill pod'));
    const manager = new EvictionManager({ ...options, evict });
    expect(namesOf(await manager.synchronize())).toEqual(['slow']);
    expect(counted).toEqual(['memory.available']);
    expect(manager.inspect().lastEviction).toMatchObject({ pod: 'default/slow' });
    const { warnings } = options.logger as ReturnType<typeof recordingLogger>;
    expect(warnings).toContainEqual(
      expect.objectContaining({
        message: 'An evicted pod ends too slowly',
        fields: expect.objectContaining({ pod: 'default/slow', reason: 'timeout waiting to kill pod' }),
      }),
    );
  });

  it('evicts no pod after stop()', async () => {
    addPod('a', { usedMi: 20 });
    observe('memory.available', 50);
    const manager: EvictionManager = new EvictionManager({
      ...options,
      podUsage: async () => {
        await manager.stop();
        return usage;
      },
    });
    await expect(manager.synchronize()).rejects.toThrow('aborted');
    expect(evicted).toEqual([]);
  });

  it('stop() aborts the observation in progress, which is not logged as a failure', async () => {
    const manager = new EvictionManager({
      ...options,
      observe: (signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cancelled')))),
    });
    manager.start();
    clock.advance(10_000);
    await settle();
    await manager.stop();
    expect(manager.inspect().failure).toBeUndefined();
    expect((options.logger as ReturnType<typeof recordingLogger>).warnings).toEqual([]);
  });

  it('ends while a pod is being evicted', async () => {
    addPod('a', { usedMi: 20 });
    observe('memory.available', 50);
    const evict: EvictionManagerOptions['evict'] = (_, __, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    const manager = new EvictionManager({ ...options, evict });
    manager.start();
    clock.advance(10_000);
    await settle();
    await manager.stop();
    expect(clock.pendingTimers).toBe(0);
    expect((options.logger as ReturnType<typeof recordingLogger>).warnings).toMatchObject([
      { message: 'An eviction threshold is met' },
    ]);
  });
});

it('the conditions of a node have the reasons and messages of the kubelet', () => {
  expect(pressureConditions('True', new Set(['PIDPressure', 'DiskPressure', 'MemoryPressure']))).toEqual([
    {
      ...{ type: 'MemoryPressure', status: 'True', reason: 'KubeletHasInsufficientMemory' },
      message: 'kubelet has insufficient memory available',
    },
    {
      ...{ type: 'DiskPressure', status: 'True', reason: 'KubeletHasDiskPressure' },
      message: 'kubelet has disk pressure',
    },
    {
      ...{ type: 'PIDPressure', status: 'True', reason: 'KubeletHasInsufficientPID' },
      message: 'kubelet has insufficient PID available',
    },
  ]);
});

it.each([
  ['100', 5, 100],
  ['1Ki', 5, 1024],
  ['33%', 10, 3],
  ['5.5%', 1000, 55],
  ['5.55%', 10_000, 555],
  ['100%', 7, 7],
])('a threshold of %s of a capacity of %d is %d', (value, capacity, amount) => {
  expect(thresholdAmount(value, capacity)).toBe(amount);
});

it('a threshold is met below it, and not without an observation', () => {
  const thresholds = parseThresholds({ hard: { 'memory.available': '10', 'pid.available': '10' } });
  const metAt = (available: number): string[] =>
    thresholdsMet(thresholds, new Map([['pid.available', { available, capacity: 100 }]])).map(({ signal }) => signal);
  expect([metAt(9), metAt(10)]).toEqual([['pid.available'], []]);
});

it.each([
  ['memory.available', '10'],
  ['nodefs.available', '100Mi'],
  ['nodefs.inodesFree', '5.5%'],
] as const)('parseThresholds: %s of %s is valid', (signal, value) => {
  expect(parseThresholds({ hard: { [signal]: value } })).toMatchObject([{ signal, value }]);
});

it.each([
  ['memory.available', '-1', 'a quantity or a percentage: 100Mi, 10%'],
  ['memory.available', 'much', 'a quantity or a percentage: 100Mi, 10%'],
  ['memory.available', 100, 'a quantity or a percentage: 100Mi, 10%'],
  ['nodefs.available', '101%', 'a quantity or a percentage: 100Mi, 10%'],
  ['nodefs.available', 'x10%', 'a quantity or a percentage: 100Mi, 10%'],
  ['nodefs.available', '10%x', 'a quantity or a percentage: 100Mi, 10%'],
  ['nodefs.available', '1.%', 'a quantity or a percentage: 100Mi, 10%'],
  [
    ...(['cpu.available', '1'] as const),
    'one of memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available',
  ],
])('parseThresholds refuses %s of %s', (signal, value, expected) => {
  const parse = (): unknown => parseThresholds({ hard: { [signal]: value } });
  const path = `eviction.hard.${signal}`;
  expect(parse).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }));
  expect(parse).toThrow(`to be ${expected}`);
});

it.each<[string, ThresholdOptions, string]>([
  [
    'softGracePeriodMs.memory.available',
    { soft: { 'memory.available': '1Mi' } },
    'given, as there is a soft threshold',
  ],
  ['softGracePeriodMs.memory.available', { softGracePeriodMs: { 'memory.available': -1 } }, 'a number ≥ 0'],
  ['softGracePeriodMs.memory.available', { softGracePeriodMs: { 'memory.available': Number.NaN } }, 'a number ≥ 0'],
  ['softGracePeriodMs.memory.available', { softGracePeriodMs: { 'memory.available': Infinity } }, 'a number ≥ 0'],
  ['softGracePeriodMs.cpu', { softGracePeriodMs: { cpu: 1 } as object }, 'one of memory.available, '],
  [
    'soft.memory.available',
    { soft: { 'memory.available': 'much' }, softGracePeriodMs: { 'memory.available': 1 } },
    'a quantity or a percentage: ',
  ],
  ['minimumReclaim.pid.available', { minimumReclaim: { 'pid.available': '-1' } }, 'a quantity or a percentage: '],
])('parseThresholds names eviction.%s if it is invalid or missing', (path, thresholds, expected) => {
  expect(() => parseThresholds(thresholds)).toThrow(`Expected \`eviction.${path}\` to be ${expected}`);
});

it('parseThresholds puts hard thresholds first, each with its grace period and minimum reclaim', () => {
  const thresholds = parseThresholds({
    hard: { 'nodefs.available': '10%' },
    soft: { 'nodefs.available': '20%', 'memory.available': '1Gi' },
    softGracePeriodMs: { 'nodefs.available': 60_000, 'memory.available': 0, 'pid.available': 1 },
    minimumReclaim: { 'nodefs.available': '5%' },
  });
  expect(thresholds).toEqual([
    { signal: 'nodefs.available', value: '10%', gracePeriodMs: 0, minimumReclaim: '5%' },
    { signal: 'memory.available', value: '1Gi', gracePeriodMs: 0, minimumReclaim: '0' },
    { signal: 'nodefs.available', value: '20%', gracePeriodMs: 60_000, minimumReclaim: '5%' },
  ]);
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
