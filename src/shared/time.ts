/** A canonical time: RFC 3339, UTC, without a fraction (`2026-01-02T03:04:05Z`), or null for "no time". */
export type CanonicalTime = string | null;

/** A time as a caller may give it: a `Date`, an RFC 3339 string, or null. */
export type Time = string | Date | null;

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|([+-])(\d\d):(\d\d))$/;
/** The instant that Go's zero `time.Time` stands for: "no time". */
const zeroTime = '0001-01-01T00:00:00Z';
const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
// Character codes.
const zero = 48;
const nine = 57;
const dash = 45;
const colon = 58;
const letterT = 84;
const letterZ = 90;

/**
 * A time in canonical format: UTC, seconds without a fraction, floored; null for "no time" (absent,
 * null, 0001-01-01T00:00:00Z, a year above 9999). Undefined when the value is not a valid time.
 */
export function canonicalTime(value: unknown): CanonicalTime | undefined {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') {
    return isCanonical(value) ? (value === zeroTime ? null : value) : fromText(value);
  }
  return value instanceof Date ? fromDate(value) : undefined;
}

/**
 * `canonicalTime` with a cache of the last result: most times in a status are equal, and sharing one
 * string saves memory.
 */
export class TimeFormatter {
  #text: string | undefined;
  /** Full seconds since the epoch of the instant in `#text`; NaN when it came as a string. */
  #second = Number.NaN;

  format(value: unknown): CanonicalTime | undefined {
    if (value === undefined || value === null) return null;
    if (value === this.#text) return this.#text;
    const second = value instanceof Date ? Math.floor(value.getTime() / 1000) : Number.NaN;
    if (second === this.#second) return this.#text;
    return this.#remember(canonicalTime(value), second);
  }

  /** `timeFromEpochMs` with the same cache. */
  formatEpochMs(epochMs: number): string {
    const second = Math.floor(epochMs / 1000);
    if (second === this.#second) return this.#text!;
    const time = timeFromEpochMs(epochMs);
    this.#remember(time, second);
    return time;
  }

  #remember(time: CanonicalTime | undefined, second: number): CanonicalTime | undefined {
    if (typeof time === 'string') {
      this.#text = time;
      this.#second = second;
    }
    return time;
  }
}

/** A clock reading in canonical format. */
export function timeFromEpochMs(epochMs: number): string {
  return fromEpochMs(epochMs) ?? zeroTime;
}

/** A clock reading with milliseconds, without trailing zeros. Source: Go `time.RFC3339Nano`. */
export function preciseTimeFromEpochMs(epochMs: number): string {
  const fraction = String((Math.trunc(epochMs) % 1000) / 1000).slice(1);
  return timeFromEpochMs(epochMs).replace('Z', `${fraction}Z`);
}

/** Formats a clock reading as a `MicroTime`: RFC 3339 with microseconds. */
export function microTime(epochMs: number): string {
  const fraction = String(Math.trunc(epochMs) % 1000).padStart(3, '0');
  return timeFromEpochMs(epochMs).replace('Z', `.${fraction}000Z`);
}

/** Converts readings of a monotonic clock to canonical times, based on one reading of both clocks. */
export class MonotonicTimes {
  /** The monotonic part of that reading. */
  readonly nowMs: number;
  readonly #offsetMs: number;

  constructor(clock: { now(): number; monotonicMs(): number }) {
    this.nowMs = clock.monotonicMs();
    this.#offsetMs = clock.now() - this.nowMs;
  }

  format(monotonicMs: number): string {
    return timeFromEpochMs(this.#offsetMs + monotonicMs);
  }

  /** The first full second that is not before it. */
  formatDue(monotonicMs: number): string {
    return timeFromEpochMs(Math.ceil((this.#offsetMs + monotonicMs) / 1_000) * 1_000);
  }
}

/**
 * Converts wall times of other processes, such as the exit of a container, to the monotonic clock. Each time is converted
 * when it is first seen, so that a later change of the wall clock has no effect. A time in the future counts as now.
 */
export class ObservedTimes {
  readonly #clock: { now(): number; monotonicMs(): number };
  readonly #observed = new Map<string, { readonly epochMs: number; readonly monotonicMs: number }>();

  constructor(clock: { now(): number; monotonicMs(): number }) {
    this.#clock = clock;
  }

  /** The last time of `key`, on the monotonic clock. */
  monotonicMs(key: string, epochMs: number): number {
    const known = this.#observed.get(key);
    if (known?.epochMs === epochMs) return known.monotonicMs;
    const monotonicMs = this.#clock.monotonicMs() - Math.max(0, this.#clock.now() - epochMs);
    this.#observed.set(key, { epochMs, monotonicMs });
    return monotonicMs;
  }

  /** Forgets all keys except these. */
  retain(keys: { has(key: string): boolean }): void {
    for (const key of this.#observed.keys()) if (!keys.has(key)) this.#observed.delete(key);
  }
}

/**
 * The expiry of a certificate or a token: over when `delayMs` have passed on either clock. Time in which the machine was
 * suspended counts, and setting back the wall clock does not delay it.
 */
export class Expiry {
  readonly #clock: { now(): number; monotonicMs(): number };
  readonly #epochMs: number;
  readonly #monotonicMs: number;

  constructor(clock: { now(): number; monotonicMs(): number }, delayMs: number) {
    this.#clock = clock;
    this.#epochMs = clock.now() + delayMs;
    this.#monotonicMs = clock.monotonicMs() + delayMs;
  }

  get isOver(): boolean {
    return this.#clock.now() >= this.#epochMs || this.#clock.monotonicMs() >= this.#monotonicMs;
  }
}

/** Milliseconds since the epoch of a canonical or a precise time. */
export function epochMsOf(time: string): number {
  return Date.parse(time);
}

function fromEpochMs(epochMs: number): CanonicalTime | undefined {
  return fromDate(new Date(epochMs));
}

/** Not toISOString, which is several times slower and adds milliseconds. */
function fromDate(date: Date): CanonicalTime | undefined {
  const year = date.getUTCFullYear();
  if (year > 9999) return null;
  if (!(year >= 0)) return undefined;
  const month = date.getUTCMonth() + 1;
  const day = date.getUTCDate();
  const hour = date.getUTCHours();
  const minute = date.getUTCMinutes();
  const second = date.getUTCSeconds();
  if (year === 1 && month === 1 && day === 1 && hour === 0 && minute === 0 && second === 0) return null;
  const century = Math.trunc(year / 100);
  // One flat string: V8 would flatten a concatenated one at its first comparison.
  return String.fromCharCode(
    tens(century),
    ones(century),
    tens(year % 100),
    ones(year),
    dash,
    tens(month),
    ones(month),
    dash,
    tens(day),
    ones(day),
    letterT,
    tens(hour),
    ones(hour),
    colon,
    tens(minute),
    ones(minute),
    colon,
    tens(second),
    ones(second),
    letterZ,
  );
}

/** The character code of the tens of a number below 100. */
function tens(number: number): number {
  return zero + Math.trunc(number / 10);
}

function ones(number: number): number {
  return zero + (number % 10);
}

function digits(text: string, at: number): number {
  const tens = text.charCodeAt(at);
  const ones = text.charCodeAt(at + 1);
  if (tens < zero || tens > nine || ones < zero || ones > nine) return -1;
  return (tens - zero) * 10 + ones - zero;
}

/** True for a valid time that is in canonical format already; the hot path, so no RegExp. */
function isCanonical(text: string): boolean {
  return (
    text.length === 20 &&
    text.charCodeAt(4) === dash &&
    text.charCodeAt(7) === dash &&
    text.charCodeAt(10) === letterT &&
    text.charCodeAt(13) === colon &&
    text.charCodeAt(16) === colon &&
    text.charCodeAt(19) === letterZ &&
    isCalendarTime(
      year(digits(text, 0), digits(text, 2)),
      digits(text, 5),
      digits(text, 8),
      digits(text, 11),
      digits(text, 14),
      digits(text, 17),
    )
  );
}

function year(century: number, yearOfCentury: number): number {
  return century < 0 || yearOfCentury < 0 ? -1 : century * 100 + yearOfCentury;
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
