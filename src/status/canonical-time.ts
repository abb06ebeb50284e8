import type { CanonicalTime } from '../types.ts';

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|([+-])(\d\d):(\d\d))$/;
/** The instant that Go's zero `time.Time` stands for: "no time". */
const zeroTime = '0001-01-01T00:00:00Z';
const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const zero = 48;
const nine = 57;

/**
 * The canonical spelling of a time: UTC, whole seconds, fractions floored; null for "no time"
 * (absent, null, 0001-01-01T00:00:00Z, a year above 9999). Undefined when it is no valid time.
 */
export function canonicalTime(value: unknown): CanonicalTime | undefined {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') {
    return isCanonical(value) ? (value === zeroTime ? null : value) : fromText(value);
  }
  return value instanceof Date ? fromEpochMs(value.getTime()) : undefined;
}

/** The canonical spelling of a clock reading. */
export function timeFromEpochMs(epochMs: number): string {
  return fromEpochMs(epochMs) ?? zeroTime;
}

/** Milliseconds since the epoch of a canonical time. */
export function epochMsOf(time: string): number {
  return Date.parse(time);
}

function fromEpochMs(epochMs: number): CanonicalTime | undefined {
  if (Number.isNaN(epochMs)) return undefined;
  const iso = new Date(epochMs).toISOString();
  // Years outside 0…9999 are spelled with a sign and six digits.
  if (iso.length !== 24) return iso.startsWith('+') ? null : undefined;
  const time = `${iso.slice(0, 19)}Z`;
  return time === zeroTime ? null : time;
}

function digits(text: string, at: number): number {
  const tens = text.charCodeAt(at);
  const ones = text.charCodeAt(at + 1);
  if (tens < zero || tens > nine || ones < zero || ones > nine) return -1;
  return (tens - zero) * 10 + ones - zero;
}

/** True for a valid time that is already spelled canonically; the hot path, so no RegExp. */
function isCanonical(text: string): boolean {
  return (
    text.length === 20 &&
    text[4] === '-' &&
    text[7] === '-' &&
    text[10] === 'T' &&
    text[13] === ':' &&
    text[16] === ':' &&
    text[19] === 'Z' &&
    isCalendarTime(
      digits(text, 0) < 0 ? -1 : digits(text, 0) * 100 + digits(text, 2),
      digits(text, 2) < 0 ? -1 : digits(text, 5),
      digits(text, 8),
      digits(text, 11),
      digits(text, 14),
      digits(text, 17),
    )
  );
}

function isCalendarTime(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): boolean {
  return (
    year >= 0 &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    (day <= 28 || day <= lastDay(year, month)) &&
    hour >= 0 &&
    hour <= 23 &&
    minute >= 0 &&
    minute <= 59 &&
    second >= 0 &&
    second <= 59
  );
}

function lastDay(year: number, month: number): number {
  const leapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && leapYear ? 29 : (daysInMonth[month - 1] ?? 0);
}

function fromText(text: string): CanonicalTime | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (!isCalendarTime(year, month, day, hour, minute, second)) return undefined;
  const offsetHours = Number(match[8] ?? 0);
  const offsetMinutes = Number(match[9] ?? 0);
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  // Not Date.UTC alone: it reads the years 0…99 as 1900…1999.
  const instant = new Date(0);
  instant.setUTCFullYear(year, month - 1, day);
  instant.setUTCHours(hour, minute, second);
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000;
  return fromEpochMs(instant.getTime() + (match[7] === '-' ? offsetMs : -offsetMs));
}
