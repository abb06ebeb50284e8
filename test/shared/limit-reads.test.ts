import { FakeClock } from 'kubelet-status-manager/testing';
import { expect, it } from 'vitest';
import { limitReads } from '../../src/shared/limit-reads.ts';

it('reads again after ten times as long as the last read took', () => {
  const clock = new FakeClock();
  let [reads, tookMs] = [0, 0];
  const read = limitReads(clock, () => {
    clock.advance(tookMs);
    return ++reads;
  });
  expect([read(), read()]).toEqual([1, 2]);
  tookMs = 50;
  expect([read(), read()]).toEqual([3, 3]);
  clock.advance(499);
  expect(read()).toBe(3);
  clock.advance(1);
  expect(read()).toBe(4);
});
