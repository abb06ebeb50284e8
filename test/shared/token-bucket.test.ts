import { getEventListeners } from 'node:events';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenBucket } from '../../src/shared/token-bucket.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';

const never = new AbortController().signal;

describe('TokenBucket', () => {
  it('grants `burst` tokens immediately, then `qps` per second, in FIFO order', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(4, 3, clock);
    const taken: string[] = [];
    for (let i = 0; i < 8; i++) void bucket.take(never).then(() => void taken.push(`${i} at ${clock.monotonicMs()}`));
    await clock.advanceAsync(2_000);
    expect(taken).toEqual(['0 at 0', '1 at 0', '2 at 0', '3 at 250', '4 at 500', '5 at 750', '6 at 1000', '7 at 1250']);
  });

  it('never fills beyond `burst`', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(1.5, 2, clock);
    await clock.advanceAsync(60_000);
    await bucket.take(never);
    await bucket.take(never);
    expect(bucket.delayMs).toBe(667);
    bucket.giveBack();
    expect(bucket.delayMs).toBe(0);
  });

  it('refills a token each five minutes at the rate of client-go for repeated events, to the millisecond', () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(1000 / 300_000, 1, clock);
    expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
    clock.advance(299_999);
    expect(bucket.tryTake()).toBe(false);
    clock.advance(1);
    expect(bucket.tryTake()).toBe(true);
  });

  it('keeps its rate and grants every token, for any rate', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.double({ min: 0.01, max: 1_000, noNaN: true }),
        fc.integer({ min: 1, max: 5 }),
        async (qps, burst) => {
          const clock = new FakeClock();
          const bucket = new TokenBucket(qps, burst, clock);
          const count = burst + 3;
          const done = Promise.all(Array.from({ length: count }, () => bucket.take(never)));
          await clock.advanceAsync((3_000 / qps) * 1.01 + 10);
          await done;
          expect(clock.pendingTimers).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('aborts a wait when its signal aborts, wherever in the queue, and takes no token for it', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(1, 1, clock);
    const [a, b, c] = [new AbortController(), new AbortController(), new AbortController()];
    await bucket.take(never);
    const taken: string[] = [];
    void bucket.take(a.signal).then(() => void taken.push('a'));
    const second = bucket.take(b.signal);
    void bucket.take(c.signal).then(() => void taken.push('c'));
    b.abort(new Error('no more'));
    await expect(second).rejects.toThrow('no more');
    await clock.advanceAsync(1_000);
    expect(taken).toEqual(['a']);
    await clock.advanceAsync(1_000);
    expect(taken).toEqual(['a', 'c']);
    for (const { signal } of [a, b, c]) expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('rejects immediately for a signal that is aborted already', async () => {
    const bucket = new TokenBucket(1, 1, new FakeClock());
    await expect(bucket.take(AbortSignal.abort(new Error('no more')))).rejects.toThrow('no more');
    expect(bucket.delayMs).toBe(0);
  });
});
