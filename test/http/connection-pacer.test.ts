import { expect, it } from 'vitest';
import { ConnectionPacer } from '../../src/client/http/connection-pacer.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';

it('a burst of connections is opened immediately, and the others at an even rate', () => {
  const clock = new FakeClock();
  const pacer = new ConnectionPacer({ perSecond: 10, burst: 3, clock });
  const delays = (count: number): number[] => Array.from({ length: count }, () => pacer.nextDelayMs());
  expect(delays(5)).toEqual([0, 0, 0, 100, 200]);
  clock.advance(300);
  expect(delays(2)).toEqual([0, 100]);
  clock.advance(60_000);
  expect(delays(4)).toEqual([0, 0, 0, 100]);
});
