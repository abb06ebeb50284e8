import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createInformerPodManager } from '../../src/kube/informer/index.ts';
import { resolveTransportOptions } from '../../src/kube/http/transport-options.ts';
import { fileJournal } from '../../src/status-manager/journal/file-journal.ts';
import type { Journal } from '../../src/status-manager/journal/journal.ts';
import type { Logger } from '../../src/shared/logger.ts';
import { StatusManager } from '../../src/status-manager/status-manager.ts';
import { resolveClock, resolveLogger, resolveRandom } from '../../src/shared/ports.ts';
import { resolveMetrics } from '../../src/status-manager/metrics.ts';
import { Subscribers } from '../../src/shared/subscribers.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { FakeTransport } from '../kube/informer/fake-transport.ts';
import { pod as apiPod } from '../kube/informer/pods.ts';
import { getTestPod, startTime, TestManager, testPodUID } from '../status-manager/fixture.ts';
import { RecordingMetrics } from '../../src/testing/recording-metrics.ts';
import { silentLogger } from '../../src/testing/recording-logger.ts';

const fail = (): never => {
  throw new Error('out of order');
};
const throwingLogger: Logger = { trace: fail, debug: fail, info: fail, warn: fail, error: fail };

describe('a logger that throws', () => {
  it('does not stop the informer, make stop() reject or cause an unhandled rejection', async () => {
    const api = new FakeTransport();
    const clock = new FakeClock();
    const pods = createInformerPodManager({
      client: { transport: api },
      nodeName: 'n',
      clock,
      random: () => 0,
      logger: throwingLogger,
    });
    pods.start();
    api.last(1).list('10', [apiPod('a', '7')]);
    await pods.whenSynced();
    await clock.yieldToEventLoop();
    // Each failure is logged.
    api.last(2).fail(500);
    await clock.advanceAsync(1_000);
    api.last(3).open().event('ADDED', apiPod('b', '11'));
    await clock.yieldToEventLoop();
    expect(pods.getPods().map(({ metadata }) => metadata?.uid)).toEqual(['uid-a', 'uid-b']);
    await pods.stop();
  });

  it('does not stop notifications of Subscribers, even when a listener also throws', () => {
    const subscribers = new Subscribers<{ hear(news: number): void }>(throwingLogger);
    const heard: number[] = [];
    const unsubscribe = subscribers.add({ hear: fail });
    subscribers.add({ hear: (news) => heard.push(news) });
    expect(() => subscribers.notify((listener) => listener.hear(1))).toThrow('out of order');
    unsubscribe();
    subscribers.notify((listener) => listener.hear(2));
    expect(heard).toEqual([2]);
  });

  it('does not prevent a damaged journal from opening', async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'ports-'));
    try {
      await writeFile(path.join(dir, 'pod-status.journal'), 'damaged\n');
      let isLogged = false;
      const warn = (): never => {
        isLogged = true;
        return fail();
      };
      const journal = await fileJournal(dir, {
        logger: { ...throwingLogger, warn, error: warn },
        clock: new FakeClock(),
      });
      expect(isLogged).toBe(true);
      await journal.close();
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it('does not affect the transport either', () => {
    expect(() => resolveTransportOptions({ logger: throwingLogger }).logger.warn({}, '')).not.toThrow();
  });
});

describe('a journal that throws or rejects', () => {
  it('is logged, and setters, removals and stop() do not fail', async () => {
    const journal: Journal = {
      recovered: [],
      accepted: fail,
      settled: fail,
      close: () => Promise.reject(new Error('out of order')),
    };
    const t = new TestManager([getTestPod()], { journal });
    expect(t.manager.setPodStatus(getTestPod(), { message: 'a' }).changed).toBe(true);
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    t.manager.removeOrphanedStatuses([]);
    await t.manager.stop();
    const methods = t.logged.filter(({ level }) => level === 'error').map(({ fields }) => fields);
    for (const method of ['journal.accepted', 'journal.settled', 'journal.close'])
      expect(methods).toContainEqual(expect.objectContaining({ method, reason: 'out of order' }));
  });
});

describe('a clock', () => {
  it('is used as it is, and takes turns of the event loop from the system clock if it has none', async () => {
    const whole = new FakeClock();
    expect(resolveClock(whole)).toBe(whole);
    const { now, monotonicMs, afterFunc } = new RealTime();
    await expect(resolveClock({ now, monotonicMs, afterFunc }).yieldToEventLoop()).resolves.toBeUndefined();
  });

  it('without `now` is refused', () => {
    expect(() => resolveClock({ monotonicMs: () => 0 } as never)).toThrow(/`clock`.*missing: now, afterFunc/);
  });
});

describe('random that throws or leaves [0, 1)', () => {
  it.each<[string, () => number]>([
    ['throws', fail],
    ['NaN', () => Number.NaN],
    ['1', () => 1],
    ['text', () => '0.5' as never],
  ])('%s: Math.random is used instead, because a back-off of NaN ms would never end or never wait', (_, random) => {
    const value = resolveRandom(random, resolveLogger(silentLogger))();
    expect(value).toBeGreaterThanOrEqual(0);
    expect(value).toBeLessThan(1);
  });
});

describe('a port without a method that a later release added', () => {
  it('is accepted, and the missing method does nothing', async () => {
    const logged: string[] = [];
    const requests: string[] = [];
    const { now, monotonicMs, afterFunc } = new RealTime();
    const manager = new StatusManager({
      podCouldHaveRunningContainers: () => false,
      logger: { error: (_fields, message) => void logged.push(message) },
      metrics: { incOutcomes: (outcome) => void requests.push(outcome) },
      clock: { now, monotonicMs, afterFunc },
      podStartupLatency: { recordStatusUpdated: () => {} },
      client: { getPod: async () => getTestPod(), patchPodStatus: async () => getTestPod(), deletePod: async () => {} },
    });
    manager.setPodStatus(getTestPod(), { message: 'a' });
    manager.subscribe({ onPodUpdated: fail });
    manager.setPodStatus(getTestPod(), { message: 'b' });
    expect((await manager.syncBatch(true)).tried).toBe(1);
    expect([logged, requests]).toEqual([['A listener threw'], ['superseded', 'written']]);
    await manager.stop();
  });

  it('is rejected when it has none of the methods, or one that is not a function', () => {
    expect(() => resolveLogger({})).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path: 'logger' }));
    expect(() => resolveLogger({ warn: 'loud' } as never)).toThrow(expect.objectContaining({ path: 'logger.warn' }));
    expect(() => resolveMetrics(new Map() as never, throwingLogger)).toThrow(
      expect.objectContaining({ path: 'metrics' }),
    );
  });

  it('metrics of the caller keep their `this`', () => {
    const metrics = new RecordingMetrics();
    resolveMetrics(metrics, throwingLogger).setInProgressResizes(3);
    expect(metrics.inProgressResizes).toBe(3);
  });
});

describe('podCouldHaveRunningContainers', () => {
  const deleted = getTestPod({ metadata: { deletionTimestamp: startTime } });

  it.each<[string, () => unknown, string]>([
    [
      'a promise that rejects',
      () => Promise.reject(new Error('no runtime')),
      'Expected a boolean, got a promise: the method must be synchronous',
    ],
    [
      'a promise of false',
      () => Promise.resolve(false),
      'Expected a boolean, got a promise: the method must be synchronous',
    ],
    ['nothing', () => undefined, 'Expected a boolean, got undefined'],
    ['null', () => null, 'Expected a boolean, got null'],
    ['a number', () => 0, 'Expected a boolean, got number'],
    ['an exception', fail, 'out of order'],
  ])('%s: containers could be running, and it is logged', async (_, answer, reason) => {
    const t = new TestManager([deleted], { podCouldHaveRunningContainers: answer as () => boolean });
    t.manager.terminatePod(deleted);
    expect(await t.takeActions()).toEqual(['get', 'patch']);
    expect(t.logged.filter(({ level }) => level === 'error').map(({ fields }) => fields)).toContainEqual(
      expect.objectContaining({ podUID: testPodUID, reason }),
    );
  });
});

class RealTime {
  readonly now = (): number => 0;
  readonly monotonicMs = (): number => 0;
  readonly afterFunc = (): { stop(): void } => ({ stop: () => {} });
}
