import { expect, it } from 'vitest';
import { Ticker } from '../../src/shared/ticker.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';

it('ticks once every period, first one period after the start, until it is stopped', () => {
  const clock = new FakeClock();
  const ticks: number[] = [];
  const ticker = new Ticker(clock, 100, () => void ticks.push(clock.monotonicMs()));
  clock.advance(1_000);
  ticker.start();
  clock.advance(350);
  expect(ticks).toEqual([1_100, 1_200, 1_300]);
  ticker.stop();
  clock.advance(1_000);
  expect(ticks).toHaveLength(3);
  expect(clock.pendingTimers).toBe(0);
});

it('drops the ticks that come while the task is running', async () => {
  const clock = new FakeClock();
  let end: () => void = () => {};
  let runs = 0;
  const ticker = new Ticker(clock, 100, () => {
    runs++;
    return new Promise((resolve) => (end = resolve));
  });
  ticker.start();
  await clock.advanceAsync(450);
  expect(runs).toBe(1);
  end();
  await ticker.whenIdle();
  await clock.advanceAsync(50);
  expect(runs).toBe(2);
  ticker.stop();
});

it('drops the ticks that a busy event loop has missed, and does not drift after late ones', () => {
  const clock = new FakeClock();
  let lateMs = 30;
  const late = {
    monotonicMs: () => clock.monotonicMs(),
    afterFunc: (delayMs: number, callback: () => void) => clock.afterFunc(delayMs + lateMs, callback),
  };
  const ticks: number[] = [];
  const ticker = new Ticker(late, 100, () => void ticks.push(clock.monotonicMs()));
  ticker.start();
  clock.advance(350);
  expect(ticks).toEqual([130, 230, 330]);
  lateMs = 350;
  clock.advance(1_000);
  expect(ticks).toEqual([130, 230, 330, 430, 850, 1_200]);
  ticker.stop();
});

it('waits for one period at most when its clock is set back', () => {
  const clock = new FakeClock();
  let offsetMs = 1_000_000;
  const setBack = {
    monotonicMs: () => clock.monotonicMs() + offsetMs,
    afterFunc: (delayMs: number, callback: () => void) => clock.afterFunc(delayMs, callback),
  };
  let ticks = 0;
  const ticker = new Ticker(setBack, 100, () => void ticks++);
  ticker.start();
  offsetMs = 0;
  clock.advance(250);
  expect(ticks).toBe(2);
  ticker.stop();
});
