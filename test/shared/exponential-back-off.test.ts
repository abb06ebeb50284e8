import { expect, it } from 'vitest';
import { ExponentialBackOff, jitter } from '../../src/shared/exponential-back-off.ts';

it('a back-off starts with its initial delay, doubles it up to the maximum, and starts again after a reset', () => {
  const backOff = new ExponentialBackOff({ firstMs: 200, maxMs: 7_000 });
  const delays = Array.from({ length: 8 }, () => backOff.next());
  expect(delays).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 7_000, 7_000]);
  backOff.reset();
  expect([backOff.next(), backOff.next()]).toEqual([200, 400]);
});

it.each([
  { factor: 1, random: 0, expected: 1_000 },
  { factor: 1, random: 0.5, expected: 1_500 },
  { factor: 0.04, random: 0.5, expected: 1_020 },
  { factor: -0.2, random: 0.5, expected: 900 },
])('jitter of 1 s by $factor with $random is $expected ms', ({ factor, random, expected }) => {
  expect(jitter(1_000, factor, () => random)).toBe(expected);
});
