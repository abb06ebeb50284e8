import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';

describe('FakeClock', () => {
  it('stands still at its start', () => {
    expect(new FakeClock().now()).toBe(Date.parse('2000-01-01T00:00:00Z'));
    for (const start of [
      '2026-01-02T03:04:05Z',
      new Date('2026-01-02T03:04:05Z'),
      Date.parse('2026-01-02T03:04:05Z'),
    ]) {
      const clock = new FakeClock(start);
      expect([clock.now(), clock.monotonicMs()]).toEqual([Date.parse('2026-01-02T03:04:05Z'), 0]);
    }
    expect(() => new FakeClock('never')).toThrow(RangeError);
  });

  it('advance moves both clocks', () => {
    const clock = new FakeClock(0);
    clock.advance(1_500);
    expect([clock.now(), clock.monotonicMs()]).toEqual([1_500, 1_500]);
    clock.advance(0);
    expect(clock.monotonicMs()).toBe(1_500);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('does not advance by %s', (ms) => {
    const clock = new FakeClock(0);
    expect(() => clock.advance(ms)).toThrow(RangeError);
    expect(clock.monotonicMs()).toBe(0);
  });

  it('fires timers in order of time, then of creation, each at its own time', () => {
    const clock = new FakeClock(0);
    const fired: [string, number, number][] = [];
    const at = (delayMs: number, name: string) =>
      clock.afterFunc(delayMs, () => fired.push([name, clock.now(), clock.monotonicMs()]));
    at(30, 'c');
    at(10, 'a');
    at(30, 'd');
    at(20, 'b');
    at(31, 'later');
    at(-5, 'overdue');
    clock.advance(30);
    expect(fired).toEqual([
      ['overdue', 0, 0],
      ['a', 10, 10],
      ['b', 20, 20],
      ['c', 30, 30],
      ['d', 30, 30],
    ]);
    expect(clock.pendingTimers).toBe(1);
  });

  it('fires a timer that another timer sets, if it is due within the advance', () => {
    const clock = new FakeClock(0);
    const fired: number[] = [];
    clock.afterFunc(10, () => {
      clock.afterFunc(5, () => fired.push(clock.monotonicMs()));
      clock.afterFunc(50, () => fired.push(clock.monotonicMs()));
    });
    clock.advance(20);
    expect(fired).toEqual([15]);
    clock.advance(40);
    expect(fired).toEqual([15, 60]);
  });

  it('does not fire a stopped timer, even if a timer of the same time stopped it', () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    const second = { stop: (): void => {} };
    clock.afterFunc(10, () => {
      fired.push('first');
      second.stop();
    });
    const timer = clock.afterFunc(10, () => fired.push('second'));
    second.stop = () => timer.stop();
    clock.advance(10);
    timer.stop();
    expect(fired).toEqual(['first']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('the monotonic clock never goes back, not even when a timer advances it further', () => {
    const clock = new FakeClock(0);
    clock.afterFunc(10, () => clock.advance(100));
    clock.advance(20);
    expect([clock.now(), clock.monotonicMs()]).toEqual([110, 110]);
  });

  it('setWallTime sets only the wall clock', () => {
    const clock = new FakeClock(0);
    const fired: number[] = [];
    clock.afterFunc(10, () => fired.push(clock.now()));
    clock.setWallTime('2026-01-02T03:04:05Z');
    expect([clock.now(), clock.monotonicMs(), clock.pendingTimers]).toEqual([Date.parse('2026-01-02T03:04:05Z'), 0, 1]);
    clock.advance(10);
    expect(fired).toEqual([Date.parse('2026-01-02T03:04:05.010Z')]);
    expect(() => clock.setWallTime('never')).toThrow(RangeError);
    expect(clock.now()).toBe(Date.parse('2026-01-02T03:04:05.010Z'));
  });

  it('advanceAsync gives promises a turn before, between and after the timers', async () => {
    const clock = new FakeClock(0);
    const fired: number[] = [];
    const sleep = (ms: number) => new Promise<void>((resolve) => void clock.afterFunc(ms, resolve));
    const done = (async () => {
      await Promise.resolve();
      for (let i = 0; i < 3; i++) {
        await sleep(10);
        fired.push(clock.monotonicMs());
      }
    })();
    await clock.advanceAsync(30);
    expect(fired).toEqual([10, 20, 30]);
    await done;
    expect(clock.monotonicMs()).toBe(30);
  });

  it('yieldToEventLoop runs scheduled callbacks without advancing the time', async () => {
    const clock = new FakeClock(0);
    const order: string[] = [];
    setImmediate(() => order.push('immediate'));
    void Promise.resolve().then(() => order.push('promise'));
    await clock.yieldToEventLoop();
    expect(order).toEqual(['promise', 'immediate']);
    expect(clock.monotonicMs()).toBe(0);
  });

  it('a timer that is set again with a fraction of a millisecond does not stop the time', () => {
    const clock = new FakeClock(0);
    clock.advance(1_000_000);
    let fired = 0;
    const again = (): void => {
      if (++fired < 1_000) clock.afterFunc(7e-12, again);
    };
    clock.afterFunc(7e-12, again);
    clock.advance(10);
    expect(fired).toBe(10);
  });

  it('fires 80,000 timers in order, half of which were stopped, in less than quadratic time', () => {
    const clock = new FakeClock(0);
    const fired: number[] = [];
    const timers = Array.from({ length: 80_000 }, (_, i) => clock.afterFunc((i * 7_919) % 10_007, () => fired.push(i)));
    for (let i = 0; i < timers.length; i += 2) timers[i]!.stop();
    expect(clock.pendingTimers).toBe(40_000);
    const { user } = process.cpuUsage();
    clock.advance(20_000);
    expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(4_000);
    expect(clock.pendingTimers).toBe(0);
    const due = (i: number): number => (i * 7_919) % 10_007;
    const sorted = Array.from({ length: 40_000 }, (_, i) => 2 * i + 1).toSorted((a, b) => due(a) - due(b) || a - b);
    expect(fired).toEqual(sorted);
  });

  it('date() is the wall time as a Date', () => {
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    clock.advance(500);
    expect(clock.date()).toEqual(new Date('2026-01-02T03:04:05.500Z'));
  });
});
