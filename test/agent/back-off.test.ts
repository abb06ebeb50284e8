import { beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { BackOff } from '../../src/agent/back-off/flowcontrol-back-off.ts';
import { createCrashLoopBackOff, doBackOff } from '../../src/agent/back-off/crash-loop-back-off.ts';
import type { RuntimeContainerState, RuntimePodStatus } from '../../src/agent/runtime/runtime-pod-status.ts';
import { FakeClock } from 'kubelet-status-manager/testing';

let clock: FakeClock;
beforeEach(() => {
  clock = new FakeClock();
});

describe('flowcontrol.Backoff', () => {
  const id = '_idBackoff';

  it('TestSlowBackoff', () => {
    const backoff = new BackOff({ clock, baseMs: 1000, maxMs: 50_000 });
    const delays = [];
    for (const waitMs of [0, 0, 0, 0, 0, 0, 0, 0]) {
      backoff.next(id, clock.now());
      clock.advance(waitMs);
      delays.push(backoff.get(id) / 1000);
    }
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 50, 50]);
    backoff.reset(id);
    backoff.next(id, clock.now());
    expect(backoff.get(id)).toBe(1000);
  });

  it('TestBackoffReset', () => {
    const backoff = new BackOff({ clock, baseMs: 1000, maxMs: 5000 });
    const firstMs = clock.now();
    for (let i = 0; i < 3; i++) backoff.next(id, firstMs);
    // More than twice the longest delay after the last event it begins again.
    clock.advance(10_001);
    expect(backoff.isInBackOffSince(id, clock.now())).toBe(false);
    backoff.next(id, clock.now());
    expect(backoff.get(id)).toBe(1000);
  });

  it('TestBackoffHighWaterMark', () => {
    const backoff = new BackOff({ clock, baseMs: 1000, maxMs: 5000 });
    for (let i = 0; i < 10; i++) backoff.next(id, clock.now());
    expect(backoff.get(id)).toBe(5000);
  });

  it('TestBackoffGC', () => {
    const backoff = new BackOff({ clock, baseMs: 1000, maxMs: 5000 });
    backoff.next(id, clock.now());
    clock.advance(9000);
    backoff.gc();
    expect(backoff.size).toBe(1);
    clock.advance(1001);
    backoff.gc();
    expect(backoff.size).toBe(0);
  });

  it.each([
    ['baseMs', { baseMs: 0, maxMs: 1 }],
    ['maxMs', { baseMs: 2, maxMs: 1 }],
    ['maxMs', { baseMs: 2, maxMs: Number.NaN }],
    ['expiresAfterMs', { baseMs: 1, maxMs: 1, expiresAfterMs: -1 }],
  ])('refuses a bad %s: %j', (path, options) => {
    expect(() => new BackOff({ clock, ...options })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }));
  });

  it('TestIsInBackOffSinceUpdate', () => {
    const backoff = new BackOff({ clock, baseMs: 1000, maxMs: 10_000 });
    const startMs = clock.now();
    expect(backoff.isInBackOffSinceUpdate(id, startMs)).toBe(false);
    const seen = [];
    for (const seconds of [0, 2, 5, 11, 22, 41]) {
      clock.advance(startMs + seconds * 1000 - clock.now());
      seen.push([backoff.isInBackOffSinceUpdate(id, clock.now()), backoff.get(id) / 1000]);
      backoff.next(id, clock.now());
    }
    expect(seen).toEqual([
      [false, 0],
      [false, 1],
      [false, 2],
      [false, 4],
      [false, 8],
      [false, 10],
    ]);
    expect(backoff.isInBackOffSinceUpdate(id, clock.now() + 9999)).toBe(true);
    expect(backoff.isInBackOffSinceUpdate(id, clock.now() + 10_000)).toBe(false);
  });
});

const container = { name: 'foocontainer', image: 'foo' };
const pod: ValidPod = {
  metadata: { name: 'foo', namespace: 'ns', uid: '12345678' },
  spec: { containers: [container] },
};
function statusWith(state: RuntimeContainerState, finishedAtMs = clock.now()): RuntimePodStatus {
  return {
    sandboxes: [],
    containers: [{ id: 'id1', name: 'foocontainer', state, createdAtMs: 0, finishedAtMs }],
  };
}

describe('TestDoBackOff', () => {
  it('container running', () => {
    expect(doBackOff(pod, container, statusWith('running'), createCrashLoopBackOff(clock))).toBeUndefined();
  });

  it('not in backoff', () => {
    expect(doBackOff(pod, container, statusWith('exited'), createCrashLoopBackOff(clock))).toBeUndefined();
  });

  it('in backoff', () => {
    const backoff = createCrashLoopBackOff(clock);
    doBackOff(pod, container, statusWith('exited'), backoff);
    clock.advance(1000);
    const finishedAtMs = clock.now();
    clock.advance(9999);
    const status = statusWith('exited', finishedAtMs);
    expect(doBackOff(pod, container, status, backoff)).toEqual({
      message: 'back-off 10s restarting failed container=foocontainer pod=foo_ns(12345678)',
      untilMs: finishedAtMs + 10_000,
    });
    clock.advance(1);
    expect(doBackOff(pod, container, status, backoff)).toBeUndefined();
  });
});

/** Restarts a container that ends immediately each time; the delays in the words of its status. */
function crashLoop(backoff: BackOff, restarts: number): (string | undefined)[] {
  return Array.from({ length: restarts }, () => {
    const status = statusWith('exited');
    const waits = doBackOff(pod, container, status, backoff);
    if (waits === undefined) return undefined;
    clock.advance(waits.untilMs - clock.now());
    expect(doBackOff(pod, container, status, backoff)).toBeUndefined();
    return /back-off (\S+)/.exec(waits.message)![1];
  });
}

describe('a crash loop', () => {
  it('is restarted immediately once, then after 10 s, doubling up to 5 min', () => {
    expect(crashLoop(createCrashLoopBackOff(clock), 9)).toEqual([
      undefined,
      '10s',
      '20s',
      '40s',
      '1m20s',
      '2m40s',
      '5m0s',
      '5m0s',
      '5m0s',
    ]);
  });

  it('begins again after a run of more than 10 minutes', () => {
    const backoff = createCrashLoopBackOff(clock);
    crashLoop(backoff, 7);
    clock.advance(600_000);
    expect(crashLoop(backoff, 1)).toEqual(['5m0s']);
    clock.advance(600_001);
    expect(crashLoop(backoff, 2)).toEqual([undefined, '10s']);
  });

  it('does not apply to a container with another image', () => {
    const backoff = createCrashLoopBackOff(clock);
    crashLoop(backoff, 3);
    expect(doBackOff(pod, { ...container, image: 'foo:2' }, statusWith('exited'), backoff)).toBeUndefined();
    expect(doBackOff(pod, container, statusWith('exited'), backoff)).toBeDefined();
  });
});
