import { describe, expect, it } from 'vitest';
import {
  type BackOffCause,
  type PodBackOff,
  type BackOffReason,
  nextBackOff,
  remainingWaitMs,
  withoutWait,
} from '../../../src/status-manager/sync/back-off.ts';

/** The back-off entries of pods by UID. */
class BackOff {
  readonly #entries = new Map<string, PodBackOff | undefined>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  get(uid: string): PodBackOff | undefined {
    return this.#entries.get(uid);
  }

  add(uid: string, cause: BackOffCause, nowMs: number): PodBackOff {
    const entry = nextBackOff(this.get(uid), cause, nowMs, this.#random);
    this.#entries.set(uid, entry);
    return entry;
  }

  waitMs(uid: string, version: number, nowMs: number): number {
    return remainingWaitMs(this.get(uid), version, nowMs);
  }

  endWait(uid: string, nowMs: number): void {
    this.#entries.set(uid, withoutWait(this.get(uid), nowMs));
  }
}

/** Puts the pod off; by how many milliseconds. */
function waitAfter(backOff: BackOff, uid: string, reason: BackOffReason, cause: Partial<BackOffCause> = {}): number {
  const { dueMs, failedAtMs } = backOff.add(uid, { reason, version: 1, message: 'e', isShown: false, ...cause }, 0);
  return dueMs - failedAtMs;
}

describe('the back-off of a pod', () => {
  it.each<[BackOffReason, boolean, number[], number]>([
    ['NotFound', false, [1_000, 2_000, 4_000, 8_000], 600_000],
    ['NotFound', true, [1_000, 2_000, 4_000, 8_000], 30_000],
    ['Forbidden', false, [1_000, 2_000, 4_000, 8_000], 60_000],
    ['Forbidden', true, [1_000, 2_000, 4_000, 8_000], 30_000],
    ['Invalid', true, [5_000, 10_000, 20_000, 40_000], 300_000],
    ['Conflict', true, [0, 0, 0, 500, 1_000, 2_000], 30_000],
    ['TooManyRequests', true, [1_000, 2_000, 4_000, 8_000], 30_000],
    ['ServiceUnavailable', true, [500, 1_000, 2_000, 4_000], 30_000],
    ['hot-loop', true, [15_000, 15_000], 15_000],
  ])('%s, shown by the pod manager: %s: doubles up to its bound, and stays there', (reason, isShown, first, maxMs) => {
    const backOff = new BackOff(() => 0);
    const delays = Array.from({ length: 100 }, () => waitAfter(backOff, 'a', reason, { isShown }));
    expect(delays.slice(0, first.length)).toEqual(first);
    expect(Math.max(...delays)).toBe(maxMs);
    expect(delays.at(-1)).toBe(maxMs);
  });

  it('takes up to a fifth off, never from what the server asked for', () => {
    const backOff = new BackOff(() => 0.999_999);
    expect(waitAfter(backOff, 'a', 'ServiceUnavailable')).toBeCloseTo(400, 0);
    expect(waitAfter(backOff, 'b', 'TooManyRequests', { atLeastMs: 7_000 })).toBe(7_000);
  });

  it('endWait ends the wait, but for what the server asked for', () => {
    const backOff = new BackOff(() => 0);
    waitAfter(backOff, 'a', 'ServiceUnavailable');
    backOff.endWait('a', 0);
    expect(backOff.get('a')).toBeUndefined();

    waitAfter(backOff, 'b', 'TooManyRequests', { atLeastMs: 7_000 });
    waitAfter(backOff, 'b', 'TooManyRequests', { atLeastMs: 300 });
    backOff.endWait('b', 299);
    expect([1, 2].map((version) => backOff.waitMs('b', version, 299))).toEqual([1, 1]);
    expect(backOff.get('b')).toMatchObject({ reason: 'TooManyRequests', tries: 2, delayMs: 0 });
    backOff.endWait('b', 300);
    expect(backOff.get('b')).toBeUndefined();
    backOff.endWait('unknown', 0);
    expect(backOff.get('unknown')).toBeUndefined();
  });

  it('keeps doubling when the reason changes: behind one load balancer a server may be dead and another overloaded', () => {
    const backOff = new BackOff(() => 0);
    const reasons = [
      'Conflict',
      'ServiceUnavailable',
      'Conflict',
      'ServiceUnavailable',
      'TooManyRequests',
      'ServiceUnavailable',
      'NotFound',
    ] as const;
    expect(reasons.map((reason) => waitAfter(backOff, 'a', reason))).toEqual([0, 500, 0, 500, 1_000, 2_000, 4_000]);
    for (let i = 0; i < 20; i++) waitAfter(backOff, 'a', 'ServiceUnavailable');
    // Not its greatest wait immediately: after an outage a pod may be missing for a moment only.
    expect(waitAfter(backOff, 'a', 'NotFound')).toBe(60_000);
  });

  it('restarts on a hot loop, and on a failure after a hot loop', () => {
    const backOff = new BackOff(() => 0);
    for (let i = 0; i < 20; i++) waitAfter(backOff, 'a', 'ServiceUnavailable');
    expect(waitAfter(backOff, 'a', 'hot-loop')).toBe(15_000);
    expect(waitAfter(backOff, 'a', 'ServiceUnavailable')).toBe(500);
  });

  it.each<[BackOffReason, boolean, number]>([
    ['NotFound', false, 16_000],
    ['NotFound', true, 1_000],
    ['Forbidden', false, 16_000],
    ['Forbidden', true, 1_000],
    ['Invalid', true, 0],
    ['Conflict', true, 0],
    ['TooManyRequests', true, 16_000],
    ['ServiceUnavailable', true, 8_000],
    ['hot-loop', true, 0],
  ])('%s, shown by the pod manager: %s: a new version waits %i ms', (reason, isShown, waitMs) => {
    const backOff = new BackOff(() => 0);
    for (let tries = 0; tries < 5; tries++) waitAfter(backOff, 'a', reason, { isShown, version: 3 });
    const { dueMs } = backOff.get('a')!;
    expect(dueMs).toBeGreaterThan(0);
    expect(backOff.waitMs('a', 3, 0)).toBe(dueMs);
    expect(backOff.waitMs('a', 3, dueMs)).toBe(0);
    expect(backOff.waitMs('a', 4, 0)).toBe(waitMs);
    expect(backOff.waitMs('b', 3, 0)).toBe(0);
  });

  it('an entry says which request failed how, how often in a row, and since when', () => {
    const backOff = new BackOff(() => 0);
    const cause = { version: 2, message: '500 InternalError', isShown: true };
    backOff.add('a', { ...cause, reason: 'ServiceUnavailable', verb: 'get', statusCode: 500 }, 1_000);
    backOff.add('a', { ...cause, reason: 'Forbidden', verb: 'patch', statusCode: 403 }, 2_000);
    expect(backOff.get('a')).toEqual({
      ...cause,
      reason: 'Forbidden',
      verb: 'patch',
      statusCode: 403,
      tries: 2,
      sinceMs: 1_000,
      failedAtMs: 2_000,
      delayMs: 1_000,
      dueMs: 3_000,
      newVersionDueMs: 3_000,
      isLoggedAtWarn: false,
    });
  });
});
