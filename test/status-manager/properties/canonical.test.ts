import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { canonicalTime } from '../../../src/shared/time.ts';
import { brokenPodStatusArbitrary, deepFreeze } from '../../support/arbitraries.ts';
import { reformatted, statusArbitrary } from './reformatted.ts';

describe('canonicalPodStatus', () => {
  it('of a canonical status is itself, unknown fields and all', () => {
    fc.assert(
      fc.property(statusArbitrary, (status) => {
        for (const strict of [true, false]) expect(canonicalPodStatus(deepFreeze(status), { strict })).toEqual(status);
      }),
    );
  });

  it('gives one format for all formats', () => {
    fc.assert(
      fc.property(
        statusArbitrary.chain((status) => fc.tuple(fc.constant(status), reformatted(status))),
        ([status, other]) => {
          for (const strict of [true, false]) expect(canonicalPodStatus(deepFreeze(other), { strict })).toEqual(status);
        },
      ),
    );
  });

  it('leniently takes anything, and is idempotent', () => {
    fc.assert(
      fc.property(fc.oneof(brokenPodStatusArbitrary, fc.anything()), (input) => {
        const once = canonicalPodStatus(input, { strict: false });
        expect(canonicalPodStatus(once, { strict: false })).toEqual(once);
      }),
    );
  });

  it('strictly gives a canonical status, or refuses with the path', () => {
    fc.assert(
      fc.property(brokenPodStatusArbitrary, (input) => {
        try {
          const once = canonicalPodStatus(input, { strict: true });
          expect(canonicalPodStatus(once, { strict: true })).toEqual(once);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', path: expect.stringMatching(/^status/) });
        }
      }),
    );
  });
});

describe('canonicalTime', () => {
  const date = fc.date({
    min: new Date('0001-01-02T00:00:00Z'),
    max: new Date('9999-12-31T00:00:00Z'),
    noInvalidDate: true,
  });

  it('agrees with Date over fourteen hours of offsets and all fractions', () => {
    const offset = fc.integer({ min: -14 * 60, max: 14 * 60 });
    fc.assert(
      fc.property(date, offset, (instant, minutes) => {
        const canonical = `${instant.toISOString().slice(0, 19)}Z`;
        expect(canonicalTime(instant)).toBe(canonical);
        expect(canonicalTime(instant.toISOString())).toBe(canonical);
        const local = new Date(instant.getTime() + minutes * 60_000).toISOString();
        if (local.length !== 24) return;
        const zone = `${minutes < 0 ? '-' : '+'}${hhmm(Math.abs(minutes))}`;
        expect(canonicalTime(local.replace('Z', zone))).toBe(canonical);
      }),
    );
  });

  it('takes only real days', () => {
    const parts = fc.tuple(
      fc.integer({ min: 1, max: 9998 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
    );
    fc.assert(
      fc.property(parts, ([year, month, day]) => {
        const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T12:00:00`;
        const isReal = isCalendarDay(year, month, day);
        expect(canonicalTime(`${text}Z`)).toBe(isReal ? `${text}Z` : undefined);
        expect(canonicalTime(`${text}.5Z`)).toBe(isReal ? `${text}Z` : undefined);
      }),
    );
  });
});

function isCalendarDay(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function hhmm(minutes: number): string {
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
