import { expect, it, vi } from 'vitest';
import { sleep, systemClock } from '../../src/shared/clock.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';

it('sleep ends with its time, with its signal, and immediately for one that is aborted already', async () => {
  const clock = new FakeClock();
  const slept = sleep(clock, 1_000, new AbortController().signal);
  clock.advance(1_000);
  await slept;

  const controller = new AbortController();
  const cut = sleep(clock, 1_000, controller.signal);
  controller.abort();
  await cut;
  await sleep(clock, 1_000, controller.signal);
  expect(clock.pendingTimers).toBe(0);
});

it('the system clock supports delays over 24 days, for which setTimeout would fire after 1 ms', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    const days = 24 * 3_600_000;
    const fired = vi.fn<() => void>();
    const stopped = vi.fn<() => void>();
    systemClock.afterFunc(60 * days, fired);
    const timer = systemClock.afterFunc(60 * days, stopped);
    vi.advanceTimersByTime(59 * days);
    expect(fired).not.toHaveBeenCalled();
    timer.stop();
    vi.advanceTimersByTime(2 * days);
    expect(fired).toHaveBeenCalledOnce();
    expect(stopped).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
