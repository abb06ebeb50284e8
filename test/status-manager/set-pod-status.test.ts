import { inspect } from 'node:util';
import { timeFromEpochMs } from '../../src/shared/time.ts';
import { describe, expect, it } from 'vitest';
import type { PodInspection, PodStatusInput, UpdateResult } from '../../src/status-manager/index.ts';
import { getTestPod, startTime, TestManager, testPodUID } from './fixture.ts';
import { linesAtInfo } from '../support/log-lines.ts';

function ready(status: string): { conditions: { type: string; status: string }[] } {
  return { conditions: [{ type: 'Ready', status }] };
}

describe('TestNewStatus', () => {
  it('wakes the loop and gives the status a start time', async () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    expect(await t.consumeUpdates()).toBe(1);
    expect(t.status().startTime).toBe(startTime);
  });
});

describe('TestNewStatusPreservesPodStartTime', () => {
  it('takes the start time of the pod’s own status', () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod({ status: { startTime: '2026-01-02T03:03:05Z' } }), t.newStatus());
    expect(t.status().startTime).toBe('2026-01-02T03:03:05Z');
  });
});

describe('TestNewStatusSetsReadyTransitionTime', () => {
  it('gives a new Ready condition the present time', async () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), ready('True'));
    expect(await t.consumeUpdates()).toBe(1);
    expect(t.condition('Ready')?.lastTransitionTime).toBe(startTime);
  });
});

describe('TestChangedStatus', () => {
  it('wakes the loop at every change', async () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    expect(await t.consumeUpdates()).toBe(1);
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    expect(await t.consumeUpdates()).toBe(1);
    expect(t.version()).toBe(2);
  });
});

describe('TestChangedStatusKeepsStartTime', () => {
  it('keeps the first start time, in whole seconds', () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), t.newStatus({ startTime: new Date('2025-12-31T23:59:59.987Z') }));
    t.clock.advance(60_000);
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    expect(t.status().startTime).toBe('2025-12-31T23:59:59Z');
    t.manager.setPodStatus(getTestPod(), t.newStatus({ startTime: '2026-06-06T06:06:06Z' }));
    expect(t.status().startTime).toBe('2025-12-31T23:59:59Z');
  });
});

describe('TestChangedStatusUpdatesLastTransitionTime', () => {
  it('gives a condition whose status changed the present time', () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), ready('True'));
    t.clock.advance(2_000);
    t.manager.setPodStatus(getTestPod(), ready('False'));
    expect(t.condition('Ready')).toMatchObject({ status: 'False', lastTransitionTime: '2026-01-02T03:04:07Z' });
  });
});

describe('TestUnchangedStatus', () => {
  it('does not wake the loop again', async () => {
    const t = new TestManager();
    const status = t.newStatus();
    expect(t.manager.setPodStatus(getTestPod(), status).changed).toBe(true);
    expect(t.manager.setPodStatus(getTestPod(), status).changed).toBe(false);
    expect(await t.consumeUpdates()).toBe(1);
    expect(t.version()).toBe(1);
  });
});

describe('TestUnchangedStatusPreservesLastTransitionTime', () => {
  it('sends nothing and keeps the transition time', async () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), ready('True'));
    expect(await t.consumeUpdates()).toBe(1);
    t.clock.advance(5_000);
    t.manager.setPodStatus(getTestPod(), ready('True'));
    expect(await t.consumeUpdates()).toBe(0);
    expect(t.condition('Ready')?.lastTransitionTime).toBe(startTime);
  });
});

describe('setPodStatus', () => {
  it('returns the cached status, whether it is new or not', () => {
    const t = new TestManager();
    const first = t.manager.setPodStatus(getTestPod(), { phase: 'Running' });
    expect([first.status, first.changed]).toEqual([{ phase: 'Running', startTime }, true]);
    const second = t.manager.setPodStatus(getTestPod(), { phase: 'Running', conditions: [] });
    expect([second.status, second.changed]).toEqual([first.status, false]);
  });

  it.each([
    ['the pod’s generation replaces what the caller says', 3, 7, 3],
    ['a pod without generation has none', undefined, 7, undefined],
  ])('%s', (_, generation, observedGeneration, expected) => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod({ metadata: { generation } }), { observedGeneration });
    expect(t.status().observedGeneration).toBe(expected);
  });

  it('never lowers observedGeneration', () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod({ metadata: { generation: 3 } }), t.newStatus());
    t.manager.setPodStatus(getTestPod({ metadata: { generation: 2 } }), t.newStatus());
    expect(t.status().observedGeneration).toBe(3);
  });

  it('starts from the status of a static pod’s mirror, not from the static pod’s own', () => {
    const t = new TestManager();
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    t.podManager.addPod(
      getTestPod({ metadata: { uid: 'm', annotations }, status: { startTime: '2020-01-01T00:00:00Z' } }),
    );
    const own = getTestPod({
      metadata: { annotations: { 'kubernetes.io/config.source': 'file' } },
      status: { startTime: '2019-01-01T00:00:00Z' },
    });
    t.manager.setPodStatus(own, {});
    expect(t.status().startTime).toBe('2020-01-01T00:00:00Z');
  });

  it('stores a status that says the same when the pod is being deleted', () => {
    const t = new TestManager();
    const pod = getTestPod({ metadata: { deletionTimestamp: startTime } });
    t.manager.setPodStatus(pod, { phase: 'Running' });
    expect(t.manager.setPodStatus(pod, { phase: 'Running' }).changed).toBe(true);
    expect(t.version()).toBe(2);
  });

  it('rejects a terminated container that runs again, says why, counts it, and changes nothing', () => {
    const t = new TestManager();
    const pod = getTestPod({ spec: { containers: [{ name: 'app' }], restartPolicy: 'Never' } });
    const before = t.manager.setPodStatus(pod, {
      containerStatuses: [{ name: 'app', state: { terminated: { exitCode: 1 } } }],
    });
    t.manager.getPodStatus(testPodUID);
    const inspected = t.manager.inspect();
    const result = t.manager.setPodStatus(pod, { containerStatuses: [{ name: 'app', state: { running: {} } }] });
    expect(result).toEqual({
      status: before.status,
      changed: false,
      rejected: {
        reason: 'terminated container app attempted illegal transition to non-terminated state',
        container: 'app',
      },
    });
    const [{ rejected: _rejected, ...pods }, ...others] = t.manager.inspect().pods as [PodInspection];
    expect([{ ...pods, rejected: undefined }, ...others]).toEqual(inspected.pods);
    expect(t.metrics.refusedUpdates).toEqual(['illegal-container-transition']);
    expect(t.logged.filter(({ level }) => level === 'error')).toEqual([
      {
        level: 'error',
        fields: expect.objectContaining({ pod: 'new/foo', podUID: testPodUID, container: 'app' }),
        message: 'Status update on pod aborted',
      },
    ]);
  });

  it('says of a rejection that lasts in the log, inspect(), explain() and a gauge, until a status is accepted', () => {
    const t = new TestManager();
    const pod = getTestPod({ spec: { containers: [{ name: 'app' }], restartPolicy: 'Never' } });
    const ended = { containerStatuses: [{ name: 'app', state: { terminated: { exitCode: 1 } } }] };
    t.manager.setPodStatus(pod, ended);
    const since = timeFromEpochMs(t.clock.now());
    const reason = 'terminated container app attempted illegal transition to non-terminated state';
    for (let i = 0; i < 60; i++) {
      t.manager.setPodStatus(pod, { containerStatuses: [{ name: 'app', state: { running: {} } }] });
      t.clock.advance(5_000);
    }
    const messages = () =>
      t.logged.filter(({ level }) => level === 'error' || level === 'info').map(({ message }) => message);
    expect(messages()).toEqual(['Status update on pod aborted']);
    expect(t.manager.inspect().pods[0]?.rejected).toEqual({ since, reason, container: 'app' });
    expect(t.manager.explain(testPodUID)).toMatchObject({
      rejected: { since, reason, container: 'app' },
      sentence: expect.stringMatching(
        /the manager has rejected what was set since .*\(terminated container app attempted illegal/,
      ),
    });
    expect(t.metrics.statusGauges()).toMatchObject({ rejectedPods: 1 });
    t.manager.setPodStatus(pod, ended);
    expect(messages()).toEqual(['Status update on pod aborted', 'Status updates on pod are accepted again']);
    expect(t.manager.inspect().pods[0]?.rejected).toBeUndefined();
    expect(t.metrics.statusGauges()).toMatchObject({ rejectedPods: 0 });
  });

  it('with keepTerminated, caches everything but the container that runs again', () => {
    const t = new TestManager();
    const pod = getTestPod({
      spec: { containers: [{ name: 'app' }, { name: 'other' }], restartPolicy: 'Never' },
    });
    const other = { name: 'other', state: { running: {} } };
    const status = (app: object, containers: object = other): PodStatusInput => ({
      phase: 'Running',
      containerStatuses: [{ name: 'app', state: app }, containers] as never,
    });
    const before = t.manager.setPodStatus(pod, status({ terminated: { exitCode: 1 } }));
    const ended = { name: 'other', state: { terminated: { exitCode: 0 } } };
    const result = t.manager.setPodStatus(pod, status({ running: {} }, ended), { keepTerminated: true });
    expect(result).toMatchObject({ changed: true, rejected: { container: 'app' } });
    expect(result.status.containerStatuses?.[0]).toEqual(before.status.containerStatuses?.[0]);
    expect(result.status.containerStatuses?.[1]?.state).toMatchObject({ terminated: { exitCode: 0 } });
    expect(t.manager.inspect().pods[0]?.rejected).toMatchObject({ container: 'app' });
    const again = t.manager.setPodStatus(pod, status({ running: {} }, ended), { keepTerminated: true });
    expect(again).toMatchObject({ changed: false, ignored: 'unchanged', rejected: { container: 'app' } });
    expect(t.manager.inspect().pods[0]?.rejected).toMatchObject({ container: 'app' });
  });

  it.each([
    ['another status', { status: 'true' }],
    ['a large observedGeneration', { observedGeneration: 2 ** 53 }],
    ['a time of the year 10000', { lastTransitionTime: '10000-01-01T00:59:59Z' }],
  ])('caches a condition of another writer as it is: %s', (_what, values) => {
    const t = new TestManager();
    const condition = { type: 'example.com/gate', status: 'True', ...values };
    const { conditions } = t.manager.setPodStatus(getTestPod(), { conditions: [condition] }).status;
    expect(conditions).toMatchObject([condition]);
    for (const type of ['Ready', ''])
      expect(() => t.manager.setPodStatus(getTestPod(), { conditions: [{ ...condition, type }] })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
      );
  });

  it('with keepInvalid, logs an invalid value and caches it', () => {
    const t = new TestManager();
    const two = { waiting: { reason: 'CrashLoopBackOff' }, terminated: { exitCode: 137 } };
    const status = { phase: 'Running', containerStatuses: [{ name: 'app', lastState: two }] };
    const { changed, status: cached } = t.manager.setPodStatus(getTestPod(), status, { keepInvalid: true });
    expect([changed, cached.containerStatuses?.[0]?.lastState]).toMatchObject([true, two]);
    expect(linesAtInfo(t.logger)).toMatchObject([
      {
        message: 'The status of the pod has an invalid value, which the manager keeps',
        fields: { pod: 'new/foo', reason: expect.stringContaining('status.containerStatuses[0].lastState') as string },
      },
    ]);
    t.manager.setPodStatus(getTestPod(), { ...status, message: 'again' }, { keepInvalid: true });
    expect(linesAtInfo(t.logger)).toHaveLength(1);
    t.manager.setPodStatus(getTestPod(), { phase: 'Running' }, { keepInvalid: true });
    expect(linesAtInfo(t.logger)[1]).toMatchObject({
      message: 'The status of the pod no longer has an invalid value',
      fields: { pod: 'new/foo', failingSince: startTime },
    });
  });

  it('with keepTerminated, still rejects a status if the cached one does not match the spec', () => {
    const t = new TestManager();
    const pod = getTestPod({ spec: { initContainers: [{ name: 'init' }], restartPolicy: 'Never' } });
    t.manager.setPodStatus(pod, { initContainerStatuses: [{ name: 'other', state: { running: {} } }] });
    const result = t.manager.setPodStatus(pod, { phase: 'Running' }, { keepTerminated: true });
    expect(result).toMatchObject({ changed: false, rejected: { container: 'other' } });
  });

  it('returns an empty status when the first one is rejected', () => {
    const t = new TestManager();
    const pod = getTestPod({
      spec: { containers: [{ name: 'app' }], restartPolicy: 'Never' },
      status: { containerStatuses: [{ name: 'app', state: { terminated: { exitCode: 0 } } }] },
    });
    const { status, changed, rejected } = t.manager.setPodStatus(pod, {
      containerStatuses: [{ name: 'app', state: { waiting: {} } }],
    });
    expect({ status, changed }).toEqual({ status: {}, changed: false });
    expect(rejected?.container).toBe('app');
    expect(t.manager.getPodStatus(testPodUID)).toBeUndefined();
    expect(t.manager.inspect().isWakeUpWaiting).toBe(false);
  });

  it('keeps the time of the first unsent change over later changes, and starts again after a write', async () => {
    const pod = getTestPod();
    const t = new TestManager([pod]);
    const unsentSince = (): string | undefined => t.manager.inspect().pods[0]?.unsentSince;
    const firstAt = timeFromEpochMs(t.clock.now());
    t.manager.setPodStatus(pod, t.newStatus());
    t.clock.advance(1_000);
    t.manager.setPodStatus(pod, t.newStatus());
    t.clock.advance(500);
    expect(unsentSince()).toBe(firstAt);
    await t.manager.syncBatch(false);
    expect(unsentSince()).toBeUndefined();
    expect(t.metrics.syncDurations).toEqual([1.5]);
    t.clock.advance(10_000);
    t.manager.setPodStatus(pod, t.newStatus());
    expect(unsentSince()).toBe(timeFromEpochMs(t.clock.now()));
  });
});

describe('the result of an update', () => {
  const results = (): [string, UpdateResult][] => {
    const t = new TestManager();
    const pod = getTestPod({ spec: { containers: [{ name: 'app' }], restartPolicy: 'Never' } });
    const ended = { containerStatuses: [{ name: 'app', state: { terminated: { exitCode: 1 } } }] };
    return [
      ['accepted', t.manager.setPodStatus(pod, ended)],
      ['ignored', t.manager.setPodStatus(pod, ended)],
      ['rejected', t.manager.setPodStatus(pod, { containerStatuses: [{ name: 'app', state: { running: {} } }] })],
    ];
  };

  it.each(results())('%s: `status` is an own property, shown by JSON, spread, console.log and toEqual', (_, result) => {
    const { status, changed, rejected, ignored } = result;
    expect(status.containerStatuses).toHaveLength(1);
    const plain = {
      status,
      changed,
      ...(rejected !== undefined && { rejected }),
      ...(ignored !== undefined && { ignored }),
    };
    expect(result).toEqual(plain);
    expect({ ...result }).toEqual(plain);
    expect(structuredClone(result)).toEqual(plain);
    expect(JSON.parse(JSON.stringify(result))).toEqual(JSON.parse(JSON.stringify(plain)));
    expect(inspect(result)).toBe(inspect(plain));
    // What a failed comparison prints.
    expect(() => expect(result).toEqual({ status: {} })).toThrow('to deeply equal');
    expect(Object.isFrozen(result.status.containerStatuses?.[0]?.state)).toBe(true);
  });
});

describe('the log of updates', () => {
  it('a debug line for each accepted version', () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), t.newStatus());
    t.manager.terminatePod(getTestPod());
    expect(t.logged.filter(({ level }) => level === 'debug')).toEqual(
      [1, 2].map((statusVersion) => ({
        level: 'debug',
        fields: { pod: 'new/foo', podUID: testPodUID, statusVersion },
        message: 'Status of pod accepted',
      })),
    );
  });
});

describe('a pod with a negative generation', () => {
  it('has a status without observedGeneration: an own `undefined` once made the same status count as changed', () => {
    const t = new TestManager();
    const pod = getTestPod({ metadata: { generation: -1 } });
    t.manager.setPodStatus(pod, { message: 'a' });
    expect(Object.keys(t.status())).not.toContain('observedGeneration');
    expect(t.manager.setPodStatus(pod, { message: 'a' }).changed).toBe(false);
  });
});
