import { describe, expect, it } from 'vitest';
import { BackOff, type HoldReason } from '../../src/sync/back-off.ts';

describe('BackOff', () => {
  it.each<[HoldReason, number[], number]>([
    ['not-visible', [1_000, 2_000, 4_000, 8_000], 600_000],
    ['refused', [5_000, 10_000, 20_000, 40_000], 300_000],
    ['stale', [0, 0, 0, 500, 1_000, 2_000], 30_000],
    ['throttled', [1_000, 2_000, 4_000, 8_000], 60_000],
    ['transient', [500, 1_000, 2_000, 4_000], 30_000],
    ['hot-loop', [20_000, 40_000, 80_000, 160_000], 600_000],
  ])('%s: doubles up to its bound, and stays there', (reason, first, maxMs) => {
    const backOff = new BackOff(() => 0);
    const delays = Array.from({ length: 100 }, () => backOff.hold('a', reason, 1, 0, 'e'));
    expect(delays.slice(0, first.length)).toEqual(first);
    expect(Math.max(...delays)).toBe(maxMs);
    expect(delays.at(-1)).toBe(maxMs);
  });

  it('takes up to a fifth off, never from what the server asked for', () => {
    const backOff = new BackOff(() => 0.999_999);
    expect(backOff.hold('a', 'transient', 1, 0, 'e')).toBeCloseTo(400, 0);
    expect(backOff.hold('b', 'throttled', 1, 0, 'e', 7_000)).toBe(7_000);
  });

  it('starts over after release', () => {
    const backOff = new BackOff(() => 0);
    backOff.hold('a', 'transient', 1, 0, 'e');
    expect(backOff.hold('a', 'transient', 1, 0, 'e')).toBe(1_000);
    backOff.release('a');
    expect(backOff.get('a')).toBeUndefined();
    expect(backOff.hold('a', 'transient', 1, 0, 'e')).toBe(500);
  });

  it('goes on doubling when the reason changes: behind one load balancer a server may be dead and another overloaded', () => {
    const backOff = new BackOff(() => 0);
    const reasons = ['stale', 'transient', 'stale', 'transient', 'throttled', 'transient', 'not-visible'] as const;
    expect(reasons.map((reason) => backOff.hold('a', reason, 1, 0, 'e'))).toEqual([
      0, 500, 0, 500, 1_000, 2_000, 4_000,
    ]);
    for (let i = 0; i < 20; i++) backOff.hold('a', 'transient', 1, 0, 'e');
    // Not its greatest wait at once: after an outage a pod may be missing for a moment only.
    expect(backOff.hold('a', 'not-visible', 1, 0, 'e')).toBe(60_000);
  });

  it('starts over when what was written does not stick, and when it fails after that', () => {
    const backOff = new BackOff(() => 0);
    for (let i = 0; i < 20; i++) backOff.hold('a', 'transient', 1, 0, 'e');
    expect(backOff.hold('a', 'hot-loop', 1, 0, 'e')).toBe(20_000);
    expect(backOff.hold('a', 'transient', 1, 0, 'e')).toBe(500);
  });

  it.each<[HoldReason, boolean]>([
    ['not-visible', true],
    ['refused', false],
    ['stale', false],
    ['throttled', true],
    ['transient', true],
    ['hot-loop', false],
  ])('%s: a new version waits, too: %s', (reason, waits) => {
    const backOff = new BackOff(() => 0);
    for (let tries = 0; tries < 5; tries++) backOff.hold('a', reason, 3, 1_000, 'e');
    expect(backOff.isHeld('a', 3, 1_001)).toBe(true);
    expect(backOff.isHeld('a', 4, 1_001)).toBe(waits);
    expect(backOff.isHeld('b', 3, 1_001)).toBe(false);
    const { dueMs } = backOff.get('a')!;
    expect(backOff.isHeld('a', 3, dueMs - 1)).toBe(true);
    expect(backOff.isHeld('a', 3, dueMs)).toBe(false);
  });
});
