import { expect, it } from 'vitest';
import { Alarm } from '../../src/shared/alarm.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';

it('an alarm that is armed with the fraction of a millisecond that is left fires once, a millisecond later', () => {
  const clock = new FakeClock();
  clock.advance(1_000_000.1);
  const fractions: number[] = [];
  const alarm: Alarm = new Alarm({ monotonicMs: () => clock.monotonicMs(), afterFunc }, () => {
    if (fractions.length < 10 && clock.monotonicMs() < 1_000_001) alarm.arm(7e-12);
  });
  function afterFunc(delayMs: number, callback: () => void) {
    fractions.push(delayMs);
    return clock.afterFunc(delayMs, callback);
  }
  alarm.arm(7e-12);
  clock.advance(10);
  expect(fractions).toEqual([1]);
});

it('an alarm fires at the earliest of its times', () => {
  const clock = new FakeClock();
  const firedMs: number[] = [];
  const alarm = new Alarm(clock, () => void firedMs.push(clock.monotonicMs()));
  for (const delayMs of [30, 10, 20]) alarm.arm(delayMs);
  clock.advance(100);
  expect(firedMs).toEqual([10]);
});
