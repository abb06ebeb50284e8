import { describe, expect, it } from 'vitest';
import { canonicalTime, epochMsOf, preciseTimeFromEpochMs, timeFromEpochMs } from '../../src/shared/time.ts';

describe('canonicalTime', () => {
  it.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.999999999Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05,999Z', '2026-01-02T03:04:05Z'],
    ['1969-12-31T23:59:59.9Z', '1969-12-31T23:59:59Z'],
    ['2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05-00:00', '2026-01-02T03:04:05Z'],
    ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00Z'],
    ['2025-12-31T23:30:00-05:45', '2026-01-01T05:15:00Z'],
    ['2026-01-02T03:04:05.5+23:59', '2026-01-01T03:05:05Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['2000-02-29T12:00:00+01:00', '2000-02-29T11:00:00Z'],
    ['0099-12-31T23:59:59+00:00', '0099-12-31T23:59:59Z'],
    ['0000-02-29T00:00:00Z', '0000-02-29T00:00:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
  ])('%s is %s', (text, expected) => {
    expect(canonicalTime(text)).toBe(expected);
    expect(canonicalTime(expected)).toBe(expected);
  });

  it.each([
    ['absent', undefined],
    ['null', null],
    ['the zero time', '0001-01-01T00:00:00Z'],
    ['the zero time with a fraction', '0001-01-01T00:00:00.5Z'],
    ['the zero time elsewhere', '0001-01-01T01:00:00+01:00'],
    ['the zero time as a Date', new Date('0001-01-01T00:00:00Z')],
    ['a year above 9999 by the offset', '9999-12-31T23:59:59-01:00'],
    ['a Date in a year above 9999', new Date('+010000-01-01T00:00:00Z')],
  ])('%s is no time', (_, value) => {
    expect(canonicalTime(value)).toBeNull();
  });

  it.each([
    [new Date('2026-01-02T03:04:05.999Z'), '2026-01-02T03:04:05Z'],
    [new Date('1969-12-31T23:59:59.001Z'), '1969-12-31T23:59:59Z'],
    [new Date(0), '1970-01-01T00:00:00Z'],
  ])('a Date is floored: %s', (date, expected) => {
    expect(canonicalTime(date)).toBe(expected);
  });

  it.each<[string, unknown]>([
    ['an empty text', ''],
    ['a date alone', '2026-01-02'],
    ['no seconds', '2026-01-02T03:04Z'],
    ['no zone', '2026-01-02T03:04:05'],
    ['a lower-case t', '2026-01-02t03:04:05Z'],
    ['a lower-case z', '2026-01-02T03:04:05z'],
    ['a space in place of the T', '2026-01-02 03:04:05Z'],
    ['a zone without colon', '2026-01-02T03:04:05+0100'],
    ['a zone of hours alone', '2026-01-02T03:04:05+01'],
    ['a zone of 24 hours', '2026-01-02T03:04:05+24:00'],
    ['a zone of 60 minutes', '2026-01-02T03:04:05+00:60'],
    ['a point without fraction', '2026-01-02T03:04:05.Z'],
    ['no leap year', '2021-02-29T00:00:00Z'],
    ['no leap century', '1900-02-29T00:00:00Z'],
    ['no leap year, with a fraction', '2021-02-29T00:00:00.5Z'],
    ['February 30', '2024-02-30T00:00:00Z'],
    ['April 31', '2026-04-31T00:00:00Z'],
    ['day 0', '2026-01-00T00:00:00Z'],
    ['day 32', '2026-01-32T00:00:00Z'],
    ['month 0', '2026-00-01T00:00:00Z'],
    ['month 13', '2026-13-01T00:00:00Z'],
    ['24:00', '2026-01-02T24:00:00Z'],
    ['minute 60', '2026-01-02T03:60:05Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['a year of five digits', '10000-01-01T00:00:00Z'],
    ['a signed year', '+010000-01-01T00:00:00Z'],
    ['a year before 0 by the offset', '0000-01-01T00:00:00+01:00'],
    ['letters in the year', '20x6-01-02T03:04:05Z'],
    ['letters in the century', 'x026-01-02T03:04:05Z'],
    ['white space around', ' 2026-01-02T03:04:05Z'],
    ['a line break behind', '2026-01-02T03:04:05Z\n'],
    ['other digits', '２０２６-01-02T03:04:05Z'],
    ['an invalid Date', new Date(Number.NaN)],
    ['a Date before year 0', new Date('-000001-01-01T00:00:00Z')],
    ['milliseconds', 1_767_322_800_000],
    ['an object', {}],
    ['true', true],
  ])('%s is not a time', (_, value) => {
    expect(canonicalTime(value)).toBeUndefined();
  });
});

describe('clock readings', () => {
  it.each([
    [0, '1970-01-01T00:00:00Z'],
    [1_767_323_045_999.5, '2026-01-02T03:04:05Z'],
    [-1, '1969-12-31T23:59:59Z'],
  ])('%s ms is %s', (epochMs, time) => {
    expect(timeFromEpochMs(epochMs)).toBe(time);
    expect(epochMsOf(time)).toBe(Math.floor(epochMs / 1000) * 1000);
  });

  it.each([
    [0, '1970-01-01T00:00:00Z'],
    [1_767_323_045_009, '2026-01-02T03:04:05.009Z'],
    [1_767_323_045_990.5, '2026-01-02T03:04:05.99Z'],
  ])('%s ms is %s with milliseconds', (epochMs, time) => {
    expect(preciseTimeFromEpochMs(epochMs)).toBe(time);
    expect(epochMsOf(time)).toBe(Math.trunc(epochMs));
  });
});
