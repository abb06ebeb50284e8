import { describe, expect, it, onTestFinished } from 'vitest';
import type { ContainerRuntime, RuntimePod } from 'kubelet-status-manager/agent';
import type { RuntimeEventType } from '../../../src/node/runtime/container-runtime.ts';
import { GenericPLEG, type GenericPLEGOptions } from '../../../src/agent/pleg/generic-pleg.ts';
import { hashContainer } from '../../../src/node/runtime/hash-container.ts';
import type { PodLifecycleEvent } from '../../../src/node/sync-loop/pod-lifecycle-event.ts';
import type { RuntimeContainerState } from '../../../src/node/runtime/runtime-pod-status.ts';
import { boundedRuntime } from '../../../src/node/runtime/bounded-runtime.ts';
import { RuntimePodCache } from '../../../src/agent/pleg/runtime-pod-cache.ts';
import { FakeClock, FakeContainerRuntime, recordingLogger, silentLogger } from 'kubelet-status-manager/testing';
import { asBounded } from '../../support/as-bounded.ts';

function podOf(
  uid: string,
  containers: Readonly<Record<string, RuntimeContainerState>>,
  sandboxes?: Readonly<Record<string, boolean>>,
): RuntimePod {
  return {
    uid,
    name: uid,
    namespace: 'default',
    containers: Object.entries(containers).map(([id, state]) => ({ id, name: id, state, createdAtMs: 0 })),
    sandboxes: sandboxes && Object.entries(sandboxes).map(([id, ready]) => ({ id, ready })),
  };
}

function newPLEG(
  options: Partial<Omit<GenericPLEGOptions, 'runtime'>> & {
    readonly runtime?: Pick<ContainerRuntime, keyof GenericPLEGOptions['runtime']>;
    readonly getPod?: ContainerRuntime['getPod'];
    readonly ips?: boolean;
  } = {},
) {
  const clock = new FakeClock();
  const shown: { pods: RuntimePod[] } = { pods: [] };
  const runtime = {
    listPods: async () => shown.pods,
    getPod: options.getPod ?? (async (uid: string) => shown.pods.find((pod) => pod.uid === uid)),
  };
  const cache = new RuntimePodCache({ runPodSandbox: async () => 'sandbox' });
  const events: PodLifecycleEvent[] = [];
  const pleg = new GenericPLEG({
    cache,
    clock,
    logger: silentLogger,
    onEvent: (event) => events.push(event),
    ...options,
    runtime: asBounded(options.runtime ?? runtime),
  });
  const relist = async (pods: RuntimePod[] = shown.pods): Promise<string[]> => {
    shown.pods = pods;
    await pleg.relist();
    return events.splice(0).map(formatEvent);
  };
  return { clock, shown, cache, pleg, relist, events };
}

function formatEvent({ podUID, type, containerID }: PodLifecycleEvent): string {
  return [podUID, type, containerID].filter((part) => part !== undefined).join(' ');
}

describe('TestRelisting', () => {
  it('reports what runs or has exited, then only what changed', async () => {
    const { relist } = newPLEG();
    expect(
      await relist([podOf('1234', { c1: 'exited', c2: 'running', c3: 'unknown' }), podOf('4567', { c1: 'exited' })]),
    ).toEqual(['1234 ContainerDied c1', '1234 ContainerStarted c2', '4567 ContainerDied c1']);
    expect(await relist()).toEqual([]);
    expect(await relist([podOf('1234', { c2: 'exited', c3: 'running' }), podOf('4567', { c4: 'running' })])).toEqual([
      '1234 ContainerRemoved c1',
      '1234 ContainerDied c2',
      '1234 ContainerStarted c3',
      '4567 ContainerRemoved c1',
      '4567 ContainerStarted c4',
    ]);
  });

  it('a container that is only created is not reported before it runs', async () => {
    const { relist } = newPLEG();
    expect(await relist([podOf('1234', { c1: 'created' })])).toEqual([]);
    expect(await relist([podOf('1234', { c1: 'running' })])).toEqual(['1234 ContainerStarted c1']);
  });
});

describe.each([1, 3])('TestDetectingContainerDeaths, %i relists before', (relists) => {
  it('testReportMissingContainers', async () => {
    const { relist } = newPLEG();
    for (let i = 0; i < relists; i++) await relist([podOf('1234', { c1: 'running', c2: 'running', c3: 'exited' })]);
    expect(await relist([podOf('1234', { c1: 'running' })])).toEqual([
      '1234 ContainerDied c2',
      '1234 ContainerRemoved c2',
      '1234 ContainerRemoved c3',
    ]);
  });

  it('testReportMissingPods', async () => {
    const { relist } = newPLEG();
    for (let i = 0; i < relists; i++) await relist([podOf('1234', { c2: 'running' })]);
    expect(await relist([])).toEqual(['1234 ContainerDied c2', '1234 ContainerRemoved c2']);
  });
});

it('relists are measured: how long they took, since when the last successful one is, and when that was', async () => {
  const measured: unknown[] = [];
  const { pleg, clock, relist, shown } = newPLEG({ recordMetric: (...of) => void measured.push(of) });
  const epochSeconds = Math.trunc(clock.now() / 1000);
  await relist();
  clock.advance(1500);
  shown.pods = undefined as unknown as RuntimePod[];
  await pleg.relist();
  clock.advance(1000);
  await relist([]);
  expect(measured).toEqual([
    ['pleg_relist_duration_seconds', 0],
    ['pleg_last_seen_seconds', epochSeconds],
    ['pleg_relist_interval_seconds', 1.5],
    ['pleg_relist_duration_seconds', 0],
    ['pleg_relist_interval_seconds', 2.5],
    ['pleg_relist_duration_seconds', 0],
    ['pleg_last_seen_seconds', epochSeconds + 2],
  ]);
});

describe('TestRelistingWithSandboxes', () => {
  it('sandboxes are reported like containers', async () => {
    const { relist } = newPLEG();
    expect(
      await relist([podOf('1234', { c1: 'exited' }, { s1: false, s2: true }), podOf('4567', {}, { s3: false })]),
    ).toEqual(['1234 ContainerDied c1', '1234 ContainerDied s1', '1234 ContainerStarted s2', '4567 ContainerDied s3']);
    expect(await relist()).toEqual([]);
    expect(await relist([podOf('1234', {}, { s2: false }), podOf('4567', {}, { s4: true })])).toEqual([
      '1234 ContainerRemoved c1',
      '1234 ContainerRemoved s1',
      '1234 ContainerDied s2',
      '4567 ContainerRemoved s3',
      '4567 ContainerStarted s4',
    ]);
  });
});

describe('TestRelistWithCache', () => {
  it('the cache has the new status when the event is sent', async () => {
    const seen: unknown[] = [];
    const kit = newPLEG({ onEvent: ({ podUID }) => seen.push(kit.cache.get(podUID)?.containers[0]?.state) });
    await kit.relist([podOf('1234', { c1: 'running' })]);
    await kit.relist([podOf('1234', { c1: 'exited' })]);
    expect(seen).toEqual(['running', 'exited']);
  });

  it('a failed relist changes nothing; the next one reports the changes since the last successful one', async () => {
    const log = recordingLogger();
    let isBroken = false;
    let pods = [podOf('1234', { c1: 'running' })];
    const runtime = {
      listPods: async () => {
        if (isBroken) throw new Error('connection refused');
        return pods;
      },
      getPod: async () => undefined,
    };
    const { cache, relist, clock, pleg } = newPLEG({ runtime, logger: log });
    await relist();
    isBroken = true;
    pods = [];
    clock.advance(1000);
    expect(await relist()).toEqual([]);
    expect(await relist()).toEqual([]);
    expect(cache.get('1234')?.containers).toHaveLength(1);
    isBroken = false;
    expect(await relist()).toEqual(['1234 ContainerDied c1', '1234 ContainerRemoved c1']);
    expect(pleg.unhealthyReason()).toBeUndefined();
    const lines = log.lines.filter(({ level }) => level !== 'debug');
    expect(lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
      ['error', 'GenericPLEG: unable to retrieve pods', expect.objectContaining({ reason: 'connection refused' })],
      [
        'info',
        'GenericPLEG: able to retrieve pods again',
        expect.objectContaining({ failingSince: expect.any(String) }),
      ],
    ]);
  });
});

it('TestRemoveCacheEntry', async () => {
  const { relist, cache } = newPLEG();
  await relist([podOf('1234', { c1: 'running' })]);
  await relist([]);
  expect(cache.get('1234')).toMatchObject({ containers: [], sandboxes: [] });
});

it('TestHealthy', async () => {
  const { pleg, clock, relist } = newPLEG();
  expect(pleg.unhealthyReason()).toBe('pleg has yet to be successful');
  clock.advance(600_000);
  expect(pleg.unhealthyReason()).toBe('pleg has yet to be successful');
  await relist();
  clock.advance(60_000);
  expect(pleg.unhealthyReason()).toBeUndefined();
  clock.advance(180_000);
  expect(pleg.unhealthyReason()).toBe('pleg was last seen active 240 s ago; threshold is 180 s');
});

describe('TestReinspect', () => {
  const pod = podOf('test-pod', { c1: 'running' });

  it('RequestReinspect a pod not previously listed, success', async () => {
    const { pleg, relist } = newPLEG();
    await relist([pod]);
    pleg.requestReinspect('test-pod');
    expect(await relist()).toEqual(['test-pod PodSync']);
    expect(await relist()).toEqual([]);
  });

  it('RequestReinspect a pod not previously listed, failure', async () => {
    let isBroken = false;
    const runtime = {
      listPods: async () => {
        if (isBroken) throw new Error('fail');
        return [pod];
      },
      getPod: async () => undefined,
    };
    const { pleg, relist } = newPLEG({ runtime });
    await relist();
    isBroken = true;
    pleg.requestReinspect('test-pod');
    expect(await relist()).toEqual([]);
    isBroken = false;
    expect(await relist()).toEqual(['test-pod PodSync']);
  });

  it('RequestReinspect of a pod already listed for reinspection, success', async () => {
    const { pleg, relist } = newPLEG();
    await relist([pod]);
    pleg.requestReinspect('test-pod');
    pleg.requestReinspect('test-pod');
    expect(await relist()).toEqual(['test-pod PodSync']);
  });

  it("Don't request reinspection", async () => {
    const { relist } = newPLEG();
    await relist([pod]);
    expect(await relist()).toEqual([]);
  });

  it('Pod deleted, should clear reinspect', async () => {
    const { pleg, relist } = newPLEG();
    await relist([podOf('test-pod', {})]);
    pleg.requestReinspect('test-pod');
    expect(await relist([])).toEqual(['test-pod PodSync']);
    expect(await relist([podOf('test-pod', {})])).toEqual([]);
  });
});

it('a changed health of devices is an event, once', async () => {
  const { relist } = newPLEG();
  const withHealth = (health: string): RuntimePod => {
    const listed = podOf('test-pod', { app: 'running' });
    const allocatedResourcesStatus = [{ name: 'example.com/gpu', resources: [{ resourceID: 'gpu-1', health }] }];
    return {
      ...listed,
      containers: listed.containers.map((container) => ({ ...container, allocatedResourcesStatus })),
    };
  };
  await relist([podOf('other-pod', { app: 'running' })]);
  // That the runtime reports nothing of devices is no change.
  expect(await relist([podOf('other-pod', { app: 'running' })])).toEqual([]);
  await relist([withHealth('Healthy')]);
  expect(await relist([withHealth('Healthy')])).toEqual([]);
  expect(await relist([withHealth('Unhealthy')])).toEqual(['test-pod PodSync']);
  expect(await relist([withHealth('Unhealthy')])).toEqual([]);
});

describe('TestRelistIPChange', () => {
  const withIP = (state: RuntimeContainerState, ready: boolean, ip?: string): RuntimePod => ({
    ...podOf('test-pod', { c1: state }),
    sandboxes: [{ id: 's1', ready, ...(ip !== undefined && { network: { ip } }) }],
  });

  it('test-0: a pod that has ended keeps its address', async () => {
    const { relist, cache } = newPLEG();
    await relist([withIP('running', true, '192.168.1.5')]);
    expect(cache.get('test-pod')?.ips).toEqual(['192.168.1.5']);
    await relist([withIP('exited', false)]);
    expect(cache.get('test-pod')?.ips).toEqual(['192.168.1.5']);
    await relist([withIP('exited', true)]);
    expect(cache.get('test-pod')?.ips).toEqual([]);
  });
});

describe('TestWorkerLoop', () => {
  it('relists immediately, and again a period after each relist', async () => {
    const kit = newPLEG();
    kit.shown.pods = [podOf('1234', { c1: 'running' })];
    kit.pleg.start();
    await kit.clock.advanceAsync(0);
    expect(kit.events.splice(0).map(formatEvent)).toEqual(['1234 ContainerStarted c1']);
    kit.shown.pods = [];
    await kit.clock.advanceAsync(999);
    expect(kit.events).toEqual([]);
    await kit.clock.advanceAsync(1);
    expect(kit.events).toHaveLength(2);
    await kit.pleg.stop();
    expect(kit.clock.pendingTimers).toBe(0);
  });

  it('an event of the runtime is seen without waiting for the next relist', async () => {
    const clock = new FakeClock();
    const runtime = new FakeContainerRuntime({ clock });
    const kit = newPLEG({ runtime, clock });
    kit.pleg.start();
    await clock.advanceAsync(0);
    const container = { name: 'app', image: 'app' };
    const pod = { metadata: { uid: '1234', name: 'p', namespace: 'n' }, spec: { containers: [container] } };
    const id = await runtime.createContainer({ pod, container, attempt: 0, hash: hashContainer(container) });
    await runtime.startContainer(id);
    await clock.advanceAsync(0);
    expect(kit.events.map(formatEvent)).toEqual([`1234 ContainerStarted ${id}`]);
    await kit.pleg.stop();
    runtime.exit(id);
    await clock.advanceAsync(5000);
    expect(kit.events).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('inspect()', () => {
  it('shows when the pods were last listed, how many run, and why they cannot be listed', async () => {
    let isBroken = false;
    const pods = [podOf('1', { c1: 'running', c2: 'exited' }), podOf('2', { c3: 'exited' })];
    const runtime = {
      listPods: async () => {
        if (isBroken) throw new Error('connection refused');
        return pods;
      },
      getPod: async () => undefined,
    };
    const { pleg, clock, relist } = newPLEG({ runtime });
    expect(pleg.inspect()).toEqual({
      ...{ relistedAt: undefined, relistPeriodMs: 1000, failure: undefined, runningPods: 0, containers: {} },
    });
    clock.advance(5000);
    await relist();
    isBroken = true;
    clock.advance(5000);
    await relist();
    expect(pleg.inspect()).toEqual({
      relistedAt: '2000-01-01T00:00:05Z',
      relistPeriodMs: 1000,
      failure: { failingSince: '2000-01-01T00:00:10Z', reason: 'connection refused' },
      runningPods: 1,
      containers: { running: 1, exited: 2 },
    });
  });

  it('is healthy for three minutes after the begin of the last list, and says the last error then', async () => {
    let isBroken = false;
    const runtime = {
      listPods: async () => {
        if (isBroken) throw new Error('connection refused');
        return [];
      },
      getPod: async () => undefined,
    };
    const { pleg, clock, relist } = newPLEG({ runtime });
    await relist();
    isBroken = true;
    clock.advance(180_000);
    await relist();
    expect(pleg.unhealthyReason()).toBeUndefined();
    clock.advance(1);
    expect(pleg.unhealthyReason()).toBe(
      'pleg was last seen active 180.001 s ago; threshold is 180 s: connection refused',
    );
  });
});

it('the durations of relists and the time between two of them are recorded in seconds', async () => {
  const recorded: Partial<Record<string, number[]>> = {};
  const clock = new FakeClock();
  clock.advance(7000);
  let isBroken = false;
  const runtime = {
    listPods: async () => {
      clock.advance(1500);
      if (isBroken) throw new Error('connection refused');
      return [];
    },
    getPod: async () => {
      clock.advance(500);
      return undefined;
    },
  };
  const recordMetric: GenericPLEGOptions['recordMetric'] = (...[name, value]) => {
    (recorded[name] ??= []).push(value);
  };
  const { pleg, relist } = newPLEG({ runtime, clock, recordMetric });
  await relist();
  clock.advance(1000);
  await relist();
  isBroken = true;
  await relist();
  expect(recorded).toMatchObject({
    pleg_relist_duration_seconds: [1.5, 1.5, 1.5],
    pleg_relist_interval_seconds: [2.5, 1.5],
  });
  pleg.start();
  pleg.requestRelist('1');
  await pleg.relist();
  expect(recorded['pleg_pod_relist_duration_seconds']).toEqual([0.5]);
  await pleg.stop();
});

describe('start and stop', () => {
  async function started(options: Partial<Pick<ContainerRuntime, keyof GenericPLEGOptions['runtime']>> = {}) {
    const calls: string[] = [];
    const runtime = {
      listPods: async () => {
        calls.push('listPods');
        return [];
      },
      getPod: async (uid: string) => void calls.push(`getPod ${uid}`),
      subscribe: () => {
        calls.push('subscribe');
        return () => void calls.push('unsubscribe');
      },
      ...options,
    };
    const log = recordingLogger();
    const { pleg, clock, cache } = newPLEG({ runtime, logger: log });
    pleg.start();
    await clock.advanceAsync(0);
    return { pleg, clock, cache, calls, log };
  }

  it('start() again does nothing, and stop() unsubscribes; then it can be started again', async () => {
    const { pleg, clock, calls } = await started();
    pleg.start();
    await clock.advanceAsync(0);
    expect(calls.splice(0)).toEqual(['subscribe', 'listPods']);
    await pleg.stop();
    pleg.requestRelist('1');
    await clock.advanceAsync(5000);
    expect(calls.splice(0)).toEqual(['unsubscribe']);
    pleg.start();
    await clock.advanceAsync(1000);
    expect(calls).toEqual(['subscribe', 'listPods', 'listPods']);
    await pleg.stop();
    await pleg.stop();
  });

  it('stop() aborts the calls in progress, which is no failure, and drops the pods that wait', async () => {
    const aborted: string[] = [];
    const untilAborted = (name: string) => (signal: AbortSignal | undefined) =>
      new Promise<never>((_, reject) =>
        signal!.addEventListener('abort', () => {
          aborted.push(name);
          reject(new Error('cancelled'));
        }),
      );
    const list = await started({ listPods: ({ signal } = {}) => untilAborted('listPods')(signal) });
    list.pleg.requestRelist('1');
    await list.pleg.stop();
    expect([aborted.splice(0), list.calls, list.log.lines]).toEqual([['listPods'], ['subscribe', 'unsubscribe'], []]);
    const get = await started({ getPod: (_, { signal } = {}) => untilAborted('getPod')(signal) });
    get.pleg.requestRelist('1');
    await get.clock.advanceAsync(0);
    await get.pleg.stop();
    expect([aborted, get.log.lines]).toEqual([['getPod'], []]);
  });

  it('a worker that needs the status of its pod now gets it without a relist of all pods', async () => {
    const { pleg, clock, cache, calls } = await started();
    calls.splice(0);
    const pod = { metadata: { uid: '1234', name: 'p', namespace: 'n' } };
    await cache.getNewerThan(pod, cache.lastObservation(), { observeNow: true });
    expect(calls.splice(0)).toEqual(['getPod 1234']);
    const waiting = cache.getNewerThan(pod, cache.lastObservation());
    await clock.advanceAsync(999);
    expect(calls).toEqual([]);
    await clock.advanceAsync(1);
    await waiting;
    expect(calls).toEqual(['listPods']);
    await pleg.stop();
  });

  it('a getPod that hangs is logged with the time since when', async () => {
    const { pleg, clock, log } = await started({ getPod: () => new Promise(() => {}) });
    await clock.advanceAsync(500);
    pleg.requestRelist('1');
    await clock.advanceAsync(30_000);
    expect(log.errors.map(({ fields }) => fields)).toMatchObject([
      { reason: 'getPod has not returned for 30000 ms', failingSince: '2000-01-01T00:00:00Z' },
    ]);
  });
});

it('a pod that was only asked about does not wait for the time when it appears', async () => {
  const { pleg, relist } = newPLEG();
  pleg.requestReinspect('test-pod');
  expect(await relist([])).toEqual([]);
  expect(await relist([podOf('test-pod', {})])).toEqual(['test-pod PodSync']);
});

it('a pod that is to be inspected again and has changed has the events of the change only', async () => {
  const { pleg, relist } = newPLEG();
  await relist([podOf('test-pod', { c1: 'running' })]);
  pleg.requestReinspect('test-pod');
  expect(await relist([podOf('test-pod', { c1: 'exited' })])).toEqual(['test-pod ContainerDied c1']);
});

it('pods that wait for a relist are inspected at the same time', async () => {
  const calls: { readonly uid: string; readonly respond: () => void }[] = [];
  const kit = newPLEG({
    getPod: (uid) => new Promise((resolve) => calls.push({ uid, respond: () => resolve(undefined) })),
  });
  kit.pleg.start();
  await kit.clock.advanceAsync(0);
  for (const uid of ['1', '2', '3', '2']) kit.pleg.requestRelist(uid);
  await kit.clock.advanceAsync(0);
  expect(calls.map(({ uid }) => uid)).toEqual(['1', '2', '3']);
  kit.pleg.requestRelist('1');
  await kit.clock.advanceAsync(0);
  expect(calls).toHaveLength(3);
  for (const { respond } of calls) respond();
  await kit.clock.advanceAsync(0);
  expect(calls.map(({ uid }) => uid)).toEqual(['1', '2', '3', '1']);
  calls[3]!.respond();
  await kit.pleg.stop();
});

it('a pod whose inspection the runtime does not answer delays neither that of another pod nor the relist of all', async () => {
  const shown = { pods: [podOf('1', { c1: 'running' }), podOf('2', { c2: 'running' })] };
  const { pleg, clock, events } = newPLEG({
    runtime: {
      listPods: async () => shown.pods,
      getPod: (uid, { signal } = {}) =>
        new Promise((resolve, reject) => {
          signal!.addEventListener('abort', () => reject(new Error('cancelled')));
          if (uid === '2') resolve(shown.pods[1]);
        }),
    },
  });
  pleg.start();
  await clock.advanceAsync(0);
  pleg.requestRelist('1');
  await clock.advanceAsync(0);
  events.splice(0);
  shown.pods = [podOf('1', { c1: 'running' }), podOf('2', { c2: 'exited' })];
  pleg.requestRelist('2');
  await clock.advanceAsync(0);
  expect(events.splice(0).map(formatEvent)).toEqual(['2 ContainerDied c2']);
  shown.pods = [podOf('1', { c1: 'exited' }), podOf('2', { c2: 'exited' })];
  await clock.advanceAsync(1000);
  expect(events.map(formatEvent)).toEqual(['1 ContainerDied c1']);
  await pleg.stop();
});

it('a relist that began earlier and ends later neither sends an event nor brings an older status back', async () => {
  let respond = (_pods: RuntimePod[]): void => {};
  const { pleg, clock, cache, events } = newPLEG({
    runtime: {
      listPods: () => new Promise((resolve) => (respond = resolve)),
      getPod: async (uid) => podOf(uid, { c1: 'exited' }),
    },
  });
  pleg.start();
  pleg.requestRelist('1');
  await clock.advanceAsync(0);
  respond([podOf('1', { c1: 'running' })]);
  await clock.advanceAsync(0);
  expect(events.map(formatEvent)).toEqual(['1 ContainerDied c1']);
  expect(cache.counts().containers).toEqual({ exited: 1 });
  await pleg.stop();
});

it('inspects any number of pods at the same time without a warning of Node.js', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const { pleg, clock } = newPLEG({ getPod: async () => undefined });
  pleg.start();
  await clock.advanceAsync(0);
  for (let i = 0; i < 20; i++) pleg.requestRelist(String(i));
  await clock.advanceAsync(0);
  expect(warnings).toEqual([]);
  await pleg.stop();
});

it('a container that is started and a container or sandbox that ends make its pod be inspected, and nothing else does', async () => {
  const inspected: string[] = [];
  let emit: Parameters<NonNullable<ContainerRuntime['subscribe']>>[0];
  const { pleg, clock } = newPLEG({
    runtime: {
      listPods: async () => [],
      getPod: async (uid: string) => void inspected.push(uid),
      subscribe: (listener) => {
        emit = listener;
        return () => {};
      },
    },
  });
  pleg.start();
  await clock.advanceAsync(0);
  const inspects = async (type: RuntimeEventType, containerID?: string): Promise<boolean> => {
    emit({ podUID: '1', type, containerID });
    await clock.advanceAsync(0);
    return inspected.splice(0).length > 0;
  };
  const types = ['created', 'started', 'stopped', 'deleted'] as const;
  const rows: [RuntimeEventType, ofContainer: boolean, ofSandbox: boolean][] = [];
  for (const type of types) rows.push([type, await inspects(type, 'c'), await inspects(type)]);
  expect(rows).toEqual([
    ['created', false, false],
    ['started', true, false],
    ['stopped', true, true],
    ['deleted', false, false],
  ]);
  await pleg.stop();
});

describe('a runtime whose events are complete', () => {
  async function start({ getPod = async () => undefined }: { readonly getPod?: ContainerRuntime['getPod'] } = {}) {
    const relistedAtS: number[] = [];
    const clock = new FakeClock();
    let listener: Parameters<NonNullable<ContainerRuntime['subscribe']>>;
    const runtime: Pick<ContainerRuntime, keyof GenericPLEGOptions['runtime']> = {
      listPods: async () => {
        relistedAtS.push(clock.monotonicMs() / 1000);
        return [];
      },
      getPod,
      subscribe: (...listeners) => {
        listener = listeners;
        return () => {};
      },
    };
    const { pleg, cache } = newPLEG({ runtime, clock });
    pleg.start();
    await clock.advanceAsync(0);
    const relistsUntil = async (seconds: number): Promise<number[]> => {
      await clock.advanceAsync(seconds * 1000 - clock.monotonicMs());
      return relistedAtS.splice(0);
    };
    const [onEvent, onComplete] = listener!;
    return { pleg, cache, onEvent, onComplete: onComplete!, relistsUntil };
  }

  it('is relisted once more after a second, then every 10 s, until the events end', async () => {
    const { pleg, onComplete, relistsUntil } = await start();
    expect(await relistsUntil(2)).toEqual([0, 1, 2]);
    onComplete(true);
    expect(pleg.inspect().relistPeriodMs).toBe(1000);
    expect(await relistsUntil(27)).toEqual([3, 13, 23]);
    expect(pleg.inspect().relistPeriodMs).toBe(10_000);
    onComplete(true);
    expect(await relistsUntil(40)).toEqual([28, 38]);
    onComplete(false);
    expect(await relistsUntil(42.5)).toEqual([40, 41, 42]);
    await pleg.stop();
  });

  it('is relisted within a second of the last relist when a worker waits for a newer status', async () => {
    const { pleg, cache, onComplete, relistsUntil } = await start();
    onComplete(true);
    await relistsUntil(1);
    const pod = { metadata: { uid: '1234', name: 'p', namespace: 'n' } };
    const waits = [cache.getNewerThan(pod, cache.lastObservation())];
    expect(await relistsUntil(8)).toEqual([2]);
    waits.push(cache.getNewerThan(pod, cache.lastObservation()));
    expect(await relistsUntil(17)).toEqual([8]);
    await Promise.all(waits);
    await pleg.stop();
  });

  it('is relisted when the pod of an event cannot be inspected', async () => {
    const { pleg, onEvent, onComplete, relistsUntil } = await start({
      getPod: () => Promise.reject(new Error('busy')),
    });
    onComplete(true);
    expect(await relistsUntil(5)).toEqual([0, 1]);
    onEvent({ type: 'stopped', podUID: '1234' });
    expect(await relistsUntil(14)).toEqual([5]);
    await pleg.stop();
  });
});

describe('failures of ports', () => {
  it('a listener that throws does not stop the relists', async () => {
    const log = recordingLogger();
    const seen: string[] = [];
    const { relist } = newPLEG({
      logger: log,
      onEvent: (event) => {
        seen.push(formatEvent(event));
        throw new Error('broken listener');
      },
    });
    await relist([podOf('1234', { c1: 'running', c2: 'running' })]);
    expect(seen).toEqual(['1234 ContainerStarted c1', '1234 ContainerStarted c2']);
    expect(log.lines.map(({ fields }) => fields)).toEqual([
      { reason: 'broken listener' },
      { reason: 'broken listener' },
    ]);
  });

  it('a runtime that never responds is given up after two minutes, and makes the PLEG unhealthy', async () => {
    const log = recordingLogger();
    const runtime = { listPods: () => new Promise<never>(() => {}), getPod: async () => undefined };
    const clock = new FakeClock();
    const bounded = boundedRuntime(runtime as never, {
      ...{ clock, requestTimeoutMs: 120_000, signal: new AbortController().signal },
    });
    const { pleg } = newPLEG({ runtime: bounded, clock, logger: log });
    pleg.start();
    await clock.advanceAsync(120_000);
    const failingSince = '2000-01-01T00:00:00Z';
    expect(log.errors.map(({ fields }) => fields)).toMatchObject([
      { reason: 'listPods has not returned for 30000 ms', failingSince },
      { reason: 'listPods of the runtime took over 120000 ms', failingSince },
    ]);
    // The Ready condition says what is wrong, not only since when.
    expect(pleg.unhealthyReason()).toBe('pleg has yet to be successful: listPods of the runtime took over 120000 ms');
    await pleg.stop();
    expect(log.lines).toHaveLength(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('periodic relists continue if subscribe throws', async () => {
    const runtime = {
      listPods: async () => [podOf('1234', { c1: 'running' })],
      getPod: async () => undefined,
      subscribe: () => {
        throw new Error('no events today');
      },
    };
    const { pleg, clock, events } = newPLEG({ runtime });
    pleg.start();
    await clock.advanceAsync(0);
    expect(events.map(formatEvent)).toEqual(['1234 ContainerStarted c1']);
    await pleg.stop();
  });
});
