import { beforeEach, describe, expect, it } from 'vitest';
import type { Container, ValidPod } from 'kubelet-status-manager';
import { BackOff } from '../../../src/agent/back-off/flowcontrol-back-off.ts';
import { CrashLoopBackOff } from '../../../src/agent/back-off/crash-loop-back-off.ts';
import type { RuntimeContainerState, RuntimePodStatus } from '../../../src/node/runtime/runtime-pod-status.ts';
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
      backoff.next(id, clock.monotonicMs());
      clock.advance(waitMs);
      delays.push(backoff.get(id) / 1000);
    }
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 50, 50]);
  });

  it('TestBackoffReset', () => {
    const backoff = new BackOff({ clock, baseMs: 1000, maxMs: 5000 });
    const firstMs = clock.monotonicMs();
    for (let i = 0; i < 3; i++) backoff.next(id, firstMs);
    // More than twice the longest delay after the last event it begins again.
    clock.advance(10_001);
    expect(backoff.isInBackOffSince(id, clock.monotonicMs())).toBe(false);
    backoff.next(id, clock.monotonicMs());
    expect(backoff.get(id)).toBe(1000);
  });

  it('TestBackoffHighWaterMark', () => {
    const backoff = new BackOff({ clock, baseMs: 1000, maxMs: 5000 });
    for (let i = 0; i < 10; i++) backoff.next(id, clock.monotonicMs());
    expect(backoff.get(id)).toBe(5000);
  });

  it('TestBackoffGC', () => {
    const backoff = new BackOff({ clock, baseMs: 1000, maxMs: 5000 });
    backoff.next(id, clock.monotonicMs());
    clock.advance(9000);
    backoff.gc();
    expect(backoff.has(id)).toBe(true);
    clock.advance(1001);
    backoff.gc();
    expect(backoff.has(id)).toBe(false);
  });

  it('TestIsInBackOffSinceUpdate', () => {
    const backoff = new BackOff({ clock, baseMs: 1000, maxMs: 10_000 });
    const startMs = clock.monotonicMs();
    expect(backoff.isInBackOffSinceUpdate(id, startMs)).toBe(false);
    const seen = [];
    for (const seconds of [0, 2, 5, 11, 22, 41]) {
      clock.advance(startMs + seconds * 1000 - clock.monotonicMs());
      seen.push([backoff.isInBackOffSinceUpdate(id, clock.monotonicMs()), backoff.get(id) / 1000]);
      backoff.next(id, clock.monotonicMs());
    }
    expect(seen).toEqual([
      [false, 0],
      [false, 1],
      [false, 2],
      [false, 4],
      [false, 8],
      [false, 10],
    ]);
    expect(backoff.isInBackOffSinceUpdate(id, clock.monotonicMs() + 9999)).toBe(true);
    expect(backoff.isInBackOffSinceUpdate(id, clock.monotonicMs() + 10_000)).toBe(false);
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
    expect(new CrashLoopBackOff(clock).doBackOff(pod, container, statusWith('running'))).toBeUndefined();
  });

  it('not in backoff', () => {
    expect(new CrashLoopBackOff(clock).doBackOff(pod, container, statusWith('exited'))).toBeUndefined();
  });

  it('in backoff', () => {
    const backoff = new CrashLoopBackOff(clock);
    backoff.doBackOff(pod, container, statusWith('exited'));
    clock.advance(1000);
    const finishedAtMs = clock.now();
    const finishedMs = clock.monotonicMs();
    clock.advance(9999);
    const status = statusWith('exited', finishedAtMs);
    expect(backoff.doBackOff(pod, container, status)).toEqual({
      message: 'back-off 10s restarting failed container=foocontainer pod=foo_ns(12345678)',
      untilMs: finishedMs + 10_000,
    });
    clock.advance(1);
    expect(backoff.doBackOff(pod, container, status)).toBeUndefined();
  });
});

/** Restarts a container that ends immediately each time; the delays in the words of its status. */
function crashLoop(backoff: CrashLoopBackOff, restarts: number, of: Container = container): (string | undefined)[] {
  return Array.from({ length: restarts }, () => {
    const status = statusWith('exited');
    const waits = backoff.doBackOff(pod, of, status);
    if (waits === undefined) return undefined;
    clock.advance(waits.untilMs - clock.monotonicMs());
    expect(backoff.doBackOff(pod, of, status)).toBeUndefined();
    return /back-off (\S+)/.exec(waits.message)![1];
  });
}

describe('a crash loop', () => {
  it('is restarted immediately once, then after 10 s, doubling up to 5 min', () => {
    expect(crashLoop(new CrashLoopBackOff(clock), 9)).toEqual([
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
    const backoff = new CrashLoopBackOff(clock);
    crashLoop(backoff, 7);
    clock.advance(600_000);
    expect(crashLoop(backoff, 1)).toEqual(['5m0s']);
    clock.advance(600_001);
    expect(crashLoop(backoff, 2)).toEqual([undefined, '10s']);
  });

  it.each<[string, Partial<Container>]>([
    ['another image', { image: 'foo:2' }],
    ['another limit', { resources: { requests: { cpu: '1' }, limits: { memory: '2Gi' } } }],
    ['another request', { resources: { requests: { cpu: '2' }, limits: { memory: '1Gi' } } }],
  ])('does not apply to a container with %s', (_, change) => {
    const backoff = new CrashLoopBackOff(clock);
    const sized = { ...container, resources: { requests: { cpu: '1' }, limits: { memory: '1Gi' } } };
    crashLoop(backoff, 3, sized);
    expect(backoff.doBackOff(pod, { ...sized, ...change }, statusWith('exited'))).toBeUndefined();
    expect(backoff.doBackOff(pod, sized, statusWith('exited'))).toBeDefined();
  });

  it('applies to a container whose resources are only written in another way', () => {
    const backoff = new CrashLoopBackOff(clock);
    crashLoop(backoff, 3, { ...container, resources: { requests: { cpu: '1', memory: '1Gi' } } });
    const same = { ...container, resources: { requests: { memory: '1024Mi', cpu: '1000m' } } };
    expect(backoff.doBackOff(pod, same, statusWith('exited'))).toBeDefined();
  });

  it('forgets a container whose back-off has expired', () => {
    const backoff = new CrashLoopBackOff(clock);
    crashLoop(backoff, 3);
    clock.advance(600_001);
    backoff.gc();
    expect(crashLoop(backoff, 2)).toEqual([undefined, '10s']);
  });

  it('counts from the exit, also if it is first seen later', () => {
    const backoff = new CrashLoopBackOff(clock);
    crashLoop(backoff, 1);
    const exited = statusWith('exited');
    clock.advance(4000);
    expect(backoff.doBackOff(pod, container, exited)?.untilMs).toBe(clock.monotonicMs() + 6000);
  });
});
