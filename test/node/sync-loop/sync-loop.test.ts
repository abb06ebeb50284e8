import { beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import type { PodConfigUpdate } from '../../../src/node/config/pod-config.ts';
import { FakeClock, type RecordingLogger, recordingLogger } from 'kubelet-status-manager/testing';
import { SourcesReady } from '../../../src/node/config/sources-ready.ts';
import { SyncLoopChannels } from '../../../src/node/sync-loop/sync-loop-channels.ts';
import { KubeletSyncLoop, type KubeletSyncLoopOptions } from '../../../src/node/sync-loop/kubelet-sync-loop.ts';

const pod: ValidPod = { metadata: { uid: '1', name: 'web', namespace: 'ns' } };
const add = (source: PodConfigUpdate['source'] = 'api'): PodConfigUpdate => ({ op: 'ADD', source, pods: [pod] });

let clock: FakeClock;
let logger: RecordingLogger;
let handled: string[];
let errors: string[];
let due: ValidPod[];
let loop: KubeletSyncLoop;
let channels: SyncLoopChannels;
let sourcesReady: SourcesReady;
beforeEach(() => {
  clock = new FakeClock();
  logger = recordingLogger();
  handled = [];
  errors = [];
  due = [];
});

function handler(): KubeletSyncLoopOptions['handler'] {
  const record = (what: string) => () => void handled.push(what);
  return {
    getPodsToSync: () => due,
    nextSyncMs: () => (due.length > 0 ? 0 : Infinity),
    handlePodAdditions: record('add'),
    handlePodUpdates: record('update'),
    handlePodRemoves: record('remove'),
    handlePodReconcile: record('reconcile'),
    handlePodSyncs: (pods) => void (pods.length > 0 && handled.push('sync')),
    handlePodLifecycleEvent: ({ type }) => void handled.push(type),
    handleProbeUpdate: (probeType) => void handled.push(probeType),
  };
}

function start({ sources = ['api'], ...options }: Partial<KubeletSyncLoopOptions> & { sources?: string[] } = {}): void {
  channels = new SyncLoopChannels();
  sourcesReady = new SourcesReady(sources);
  loop = new KubeletSyncLoop({
    handler: handler(),
    handlePodCleanups: async () => void handled.push('housekeeping'),
    channels,
    sourcesReady,
    runtimeErrors: () => errors,
    clock,
    logger,
    ...options,
  });
  loop.start();
}

async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await clock.yieldToEventLoop();
}
const advance = (ms: number): Promise<void> => clock.advanceAsync(ms, settle);

describe('TestSyncLoopAbort', () => {
  it('stop ends the loop while it waits, drops what is queued and leaves no timer', async () => {
    start();
    await settle();
    const stopping = loop.stop();
    channels.configUpdated(add());
    await stopping;
    expect(handled).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect(loop.inspect().isRunning).toBe(false);
  });

  it('stop ends the loop while the runtime has errors, and during housekeeping', async () => {
    errors = ['PLEG is not healthy'];
    start();
    await advance(300);
    await loop.stop();
    expect(clock.pendingTimers).toBe(0);

    errors = [];
    let aborted = false;
    start({
      handlePodCleanups: (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason as Error);
          });
        }),
    });
    channels.configUpdated(add());
    await advance(2000);
    await loop.stop();
    expect(aborted).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    expect(logger.warnings).toEqual([]);
  });
});

it('each kind of update goes to its handler; DELETE is an update', async () => {
  start();
  for (const op of ['ADD', 'UPDATE', 'DELETE', 'RECONCILE', 'REMOVE'] as const)
    channels.configUpdated({ op, source: 'api', pods: [pod] });
  await settle();
  expect(handled).toEqual(['add', 'update', 'update', 'reconcile', 'remove']);
  await loop.stop();
});

it('what is due is synced every second, and there is housekeeping every two seconds', async () => {
  due = [pod];
  start();
  channels.configUpdated(add());
  await advance(4000);
  const count = (what: string): number => handled.filter((one) => one === what).length;
  expect([count('sync'), count('housekeeping')]).toEqual([4, 2]);
  await loop.stop();
});

it('pods are synced at the first full second at which one is due, and nothing wakes the loop in another one', async () => {
  const looks: number[] = [];
  const next = [12_300, Infinity];
  start({
    quietHousekeepingPeriodMs: () => 60_000,
    handler: {
      ...handler(),
      getPodsToSync: () => (looks.push(clock.monotonicMs() - startMs), due),
      nextSyncMs: () => startMs + next.shift()!,
    },
  });
  const startMs = clock.monotonicMs();
  channels.syncDue(startMs + 9000);
  channels.syncDue(startMs + 2500);
  channels.syncDue(startMs + 4000);
  await advance(50_000);
  expect(looks).toEqual([3000, 13_000]);
  const { lastIterationAt } = loop.inspect();
  await advance(1000);
  expect(loop.inspect().lastIterationAt).toBe(lastIterationAt);
  channels.syncDue(0);
  next.push(Infinity);
  await advance(1000);
  expect(looks).toEqual([3000, 13_000, 52_000]);
  await loop.stop();
  channels.syncDue(0);
  expect(clock.pendingTimers).toBe(0);
});

it('pods with a deadline are looked at every second from their addition on', async () => {
  const looks: number[] = [];
  const startMs = clock.monotonicMs();
  let hasDeadline = false;
  start({
    handler: {
      ...handler(),
      getPodsToSync: () => (looks.push(clock.monotonicMs() - startMs), []),
      handlePodAdditions: () => void (hasDeadline = true),
      handlePodRemoves: () => void (hasDeadline = false),
      nextSyncMs: () => (hasDeadline ? -Infinity : Infinity),
    },
  });
  await advance(1500);
  channels.configUpdated(add());
  await advance(2000);
  channels.configUpdated({ op: 'REMOVE', source: 'api', pods: [pod] });
  await advance(5000);
  expect(looks).toEqual([2000, 3000, 4000]);
  await loop.stop();
});

it('a quiet loop cleans up every quietHousekeepingPeriodMs; after input or a failure, it does in two seconds', async () => {
  const housekeeping = (): number => handled.filter((what) => what === 'housekeeping').length;
  let failure: Error | undefined;
  const handlePodCleanups = async (): Promise<void> => {
    handled.push('housekeeping');
    if (failure) throw failure;
  };
  start({ quietHousekeepingPeriodMs: () => 10_000, handlePodCleanups });
  channels.configUpdated(add());
  await advance(2000);
  expect(housekeeping()).toBe(1);
  await advance(8000);
  expect(housekeeping()).toBe(1);
  await advance(2000);
  expect(housekeeping()).toBe(2);
  channels.lifecycleEvent({ podUID: '1', type: 'PodSync' });
  failure = new Error('connection refused');
  await advance(2000);
  expect(housekeeping()).toBe(3);
  failure = undefined;
  await advance(2000);
  expect(housekeeping()).toBe(4);
  await advance(2000);
  expect(housekeeping()).toBe(4);
  await loop.stop();
});

it('housekeeping and the ticker get their turn between many events', async () => {
  due = [pod];
  start();
  channels.configUpdated(add());
  await settle();
  clock.advance(2000);
  for (let i = 0; i < 100; i++) {
    channels.configUpdated({ op: 'RECONCILE', source: 'api', pods: [pod] });
    channels.lifecycleEvent({ podUID: String(i), type: 'ContainerDied', containerID: 'c' });
    channels.probeUpdated('readiness', { podUID: '1', containerID: 'c', result: 'success' });
  }
  for (let turns = 0; turns < 400; turns++) await clock.yieldToEventLoop();
  expect(handled.indexOf('housekeeping')).toBeLessThan(7);
  expect(handled.indexOf('sync')).toBeLessThan(7);
  expect(handled).toHaveLength(303);
  await loop.stop();
});

it('events of one pod that follow each other are handled together, those of the next pod in a later turn', async () => {
  start();
  channels.lifecycleEvent({ podUID: '1', type: 'ContainerStarted', containerID: 'sandbox' });
  channels.lifecycleEvent({ podUID: '1', type: 'ContainerDied', containerID: 'c' });
  channels.lifecycleEvent({ podUID: '2', type: 'PodSync' });
  await clock.yieldToEventLoop();
  expect(handled).toEqual(['ContainerStarted', 'ContainerDied']);
  await settle();
  expect(handled).toEqual(['ContainerStarted', 'ContainerDied', 'PodSync']);
  await loop.stop();
});

it('housekeeping that does not end keeps nothing else from being handled, and is not begun again', async () => {
  due = [pod];
  let release = (): void => {};
  start({
    handlePodCleanups: () => {
      handled.push('housekeeping');
      return new Promise((resolve) => (release = resolve));
    },
  });
  channels.configUpdated(add());
  await advance(10_000);
  channels.lifecycleEvent({ podUID: '1', type: 'PodSync' });
  await settle();
  const count = (name: string): number => handled.filter((what) => what === name).length;
  expect([count('housekeeping'), count('sync'), count('PodSync')]).toEqual([1, 10, 1]);
  release();
  await settle();
  expect(count('housekeeping')).toBe(2);
  release();
  await loop.stop();
});

it('pods that are added wait until they are prepared, and so do later updates of the sources, but nothing else', async () => {
  due = [pod];
  let prepared = (): void => {};
  start({ prepareAdditions: () => new Promise((resolve) => (prepared = resolve)) });
  channels.syncDue(0);
  channels.configUpdated(add());
  channels.configUpdated({ op: 'UPDATE', source: 'api', pods: [pod] });
  await advance(1000);
  channels.lifecycleEvent({ podUID: '1', type: 'PodSync' });
  await settle();
  expect(handled).toEqual(['sync', 'PodSync']);
  prepared();
  await settle();
  expect(handled).toEqual(['sync', 'PodSync', 'add', 'update']);
  await loop.stop();
});

describe('sources that are not ready', () => {
  it('housekeeping waits until all sources are handled; inspect() lists the pending ones, and no failure is reported', async () => {
    const firsts: string[] = [];
    start({ sources: ['file', 'api'], onFirstUpdate: ({ source }) => void firsts.push(source) });
    channels.configUpdated({ op: 'ADD', source: 'file', pods: [] });
    channels.configUpdated({ op: 'UPDATE', source: 'file', pods: [] });
    await advance(9000);
    expect(sourcesReady.allReady()).toBe(false);
    expect(logger.warnings).toEqual([]);
    await advance(30_000);
    expect(logger.warnings).toEqual([]);
    expect(loop.inspect()).toMatchObject({ waitingForSources: ['api'] });
    expect(loop.inspect()).not.toHaveProperty('housekeepingFailingSince');
    expect(handled).not.toContain('housekeeping');
    channels.configUpdated(add());
    await advance(2000);
    expect(handled).toContain('housekeeping');
    expect(firsts).toEqual(['file', 'api']);
    await loop.stop();
  });
});

describe('runtime errors', () => {
  it('nothing is handled; the loop looks again after 100 ms, then after twice as long each time, at most after 5 s', async () => {
    const looks: number[] = [];
    start({
      runtimeErrors: () => {
        looks.push(clock.monotonicMs());
        return ['PLEG is not healthy'];
      },
    });
    channels.configUpdated(add());
    await advance(20_000);
    expect(looks.slice(1).map((ms, i) => ms - looks[i]!)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    expect(handled).toEqual([]);
    await loop.stop();
  });

  it('the delay is reset to 100 ms after a check without errors, and the log has failingSince', async () => {
    start({ sources: [] });
    await advance(20_000);
    errors = ['PLEG is not healthy: pleg was last seen active 200 s ago'];
    channels.configUpdated(add());
    await advance(3000);
    // The update woke the loop, which looks at the runtime before it handles anything.
    expect(logger.warnings).toMatchObject([
      { message: 'Syncing pods failed', fields: { reason: errors[0], failingSince: '2000-01-01T00:00:20Z' } },
    ]);
    expect(loop.inspect()).toMatchObject({ runtimeErrors: errors, failingSince: '2000-01-01T00:00:20Z' });
    errors = [];
    await advance(5000);
    expect(handled).toContain('add');
    expect(loop.inspect()).not.toHaveProperty('failingSince');
    await loop.stop();
  });
});

it('a handler that throws is logged, and the loop continues', async () => {
  let fails = true;
  start({
    handler: {
      ...handler(),
      handlePodAdditions: () => {
        if (fails) throw new Error('broken');
        handled.push('add');
      },
    },
  });
  channels.configUpdated(add());
  await settle();
  expect(logger.errors).toMatchObject([{ message: 'Sync loop handler failed', fields: { reason: 'broken' } }]);
  fails = false;
  channels.configUpdated(add());
  await settle();
  expect(handled).toEqual(['add']);
  await loop.stop();
});

it('failed housekeeping is logged once and retried', async () => {
  let fails = true;
  start({
    handlePodCleanups: async () => {
      if (fails) throw new Error('connection refused');
      handled.push('housekeeping');
    },
  });
  channels.configUpdated(add());
  await advance(10_000);
  expect(logger.warnings).toMatchObject([
    { message: 'Housekeeping failed', fields: { reason: 'connection refused', failures: 1 } },
  ]);
  fails = false;
  await advance(2000);
  expect(handled).toContain('housekeeping');
  await loop.stop();
});
