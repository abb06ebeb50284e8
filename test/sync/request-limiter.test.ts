import { getEventListeners } from 'node:events';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RequestLimiter } from '../../src/sync/request-limiter.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';

const never = new AbortController().signal;

describe('RequestLimiter', () => {
  it('lets everything through at once without a limit', async () => {
    const clock = new FakeClock();
    const limiter = new RequestLimiter({ clock });
    for (let i = 0; i < 1_000; i++) await limiter.acquire(never);
    expect(limiter.delayMs).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('lets `burst` through at once, then `qps` a second, first come first served', async () => {
    const clock = new FakeClock();
    const limiter = new RequestLimiter({ clock, qps: 4, burst: 3 });
    const through: string[] = [];
    for (let i = 0; i < 8; i++)
      void limiter.acquire(never).then(() => void through.push(`${i} at ${clock.monotonicMs()}`));
    await clock.advanceAsync(2_000);
    expect(through).toEqual([
      '0 at 0',
      '1 at 0',
      '2 at 0',
      '3 at 250',
      '4 at 500',
      '5 at 750',
      '6 at 1000',
      '7 at 1250',
    ]);
  });

  it('never fills beyond `burst`, whose default is qps rounded up', async () => {
    const clock = new FakeClock();
    const limiter = new RequestLimiter({ clock, qps: 1.5 });
    await clock.advanceAsync(60_000);
    await limiter.acquire(never);
    await limiter.acquire(never);
    expect(limiter.delayMs).toBe(667);
  });

  it('keeps to its rate and comes to an end, for any rate', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.double({ min: 0.01, max: 1_000, noNaN: true }),
        fc.integer({ min: 1, max: 5 }),
        async (qps, burst) => {
          const clock = new FakeClock();
          const limiter = new RequestLimiter({ clock, qps, burst });
          const count = burst + 3;
          const done = Promise.all(Array.from({ length: count }, () => limiter.acquire(never)));
          await clock.advanceAsync((3_000 / qps) * 1.01 + 10);
          await done;
          expect(clock.pendingTimers).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('pauses for all, also without a limit; a longer pause stays', async () => {
    const clock = new FakeClock();
    const limiter = new RequestLimiter({ clock });
    limiter.pause(5_000);
    limiter.pause(1_000);
    expect([limiter.isPaused, limiter.delayMs]).toEqual([true, 5_000]);
    let passed = 0;
    for (let i = 0; i < 3; i++) void limiter.acquire(never).then(() => passed++);
    await clock.advanceAsync(4_999);
    expect(passed).toBe(0);
    // Prolonged while they wait.
    limiter.pause(2_000);
    await clock.advanceAsync(1_999);
    expect(passed).toBe(0);
    await clock.advanceAsync(1);
    expect([passed, limiter.isPaused]).toEqual([3, false]);
  });

  it('gives up a wait when its signal aborts, wherever in line, and takes no token for it', async () => {
    const clock = new FakeClock();
    const limiter = new RequestLimiter({ clock, qps: 1, burst: 1 });
    const [a, b, c] = [new AbortController(), new AbortController(), new AbortController()];
    await limiter.acquire(never);
    const through: string[] = [];
    void limiter.acquire(a.signal).then(() => void through.push('a'));
    const second = limiter.acquire(b.signal);
    void limiter.acquire(c.signal).then(() => void through.push('c'));
    b.abort(new Error('no more'));
    await expect(second).rejects.toMatchObject({ kind: 'aborted', cause: { message: 'no more' } });
    await clock.advanceAsync(1_000);
    expect(through).toEqual(['a']);
    await clock.advanceAsync(1_000);
    expect(through).toEqual(['a', 'c']);
    for (const { signal } of [a, b, c]) expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('rejects at once for a signal that is aborted while it is limited', async () => {
    const clock = new FakeClock();
    const limiter = new RequestLimiter({ clock, qps: 1 });
    await expect(limiter.acquire(AbortSignal.abort(new Error('no more')))).rejects.toMatchObject({
      kind: 'aborted',
      cause: { message: 'no more' },
    });
    expect(limiter.delayMs).toBe(0);
  });

  it.each([{ qps: 0 }, { qps: -1 }, { qps: Number.NaN }, { qps: 1, burst: 0 }, { qps: '5' as unknown as number }])(
    'refuses %j',
    (options) => {
      expect(() => new RequestLimiter(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    },
  );
});
